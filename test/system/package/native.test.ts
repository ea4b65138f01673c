import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { cp, mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { PACKAGE_ROOT } from '../../../src/core/paths.ts';
import { acquireLock } from '../../../src/warehouse/lock.ts';
import { buildCommand, startCommand } from '../../helpers/built-command.ts';
import { tempFolder } from '../../helpers/temp.ts';

/** The platforms that Tidemark supports, as the packages with DuckDB's native code are named. */
const PLATFORMS = ['darwin', 'linux', 'win32'].flatMap((os) => [`${os}-arm64`, `${os}-x64`]);
const PACKAGES = [...PLATFORMS, 'linux-arm64-musl', 'linux-x64-musl'].map((name) => `@duckdb/node-bindings-${name}`);

/** What npm reports where it cannot ask, rather than where the registry answers. */
const OFFLINE = new Set([
  'ENOTFOUND',
  'EAI_AGAIN',
  'ECONNREFUSED',
  'ECONNRESET',
  'ETIMEDOUT',
  'ENOTCACHED',
  'ERR_SOCKET_TIMEOUT',
]);

/** Also a registry that answers, and cannot serve. */
const isUnreachable = (code: string): boolean => OFFLINE.has(code) || /^E(?:429|5\d\d)$/u.test(code);

interface LockedPackage {
  readonly version: string;
  readonly integrity?: string;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

async function readLockedPackages(): Promise<Readonly<Record<string, LockedPackage>>> {
  return JSON.parse(await readFile(join(PACKAGE_ROOT, 'package-lock.json'), 'utf8')).packages;
}

type Answer = { readonly integrity: ReadonlyMap<string, string | undefined> } | { readonly code: string };

/** The integrity of packages in the registry, or the code of npm's error. One process asks for all of them. */
async function askRegistry(versions: Readonly<Record<string, string>>): Promise<Answer> {
  const cwd = await tempFolder();
  await writeFile(
    join(cwd, 'package.json'),
    JSON.stringify({ name: 'natives', version: '1.0.0', dependencies: versions }),
  );
  // `--force`: the packages are of several platforms.
  const words = ['install', '--package-lock-only', '--force', '--json', '--no-audit', '--no-fund', '--fetch-retries=0'];
  try {
    await promisify(execFile)('npm', words, { cwd });
  } catch (error) {
    const { stdout } = error as { readonly stdout: string };
    return { code: JSON.parse(stdout).error.code };
  }
  const { packages } = JSON.parse(await await readFile(join(cwd, 'package-lock.json'), 'utf8'));
  return { integrity: new Map(PACKAGES.map((name) => [name, packages[`node_modules/${name}`]?.integrity])) };
}

test('the lock file has the integrity of the native package of every platform', async () => {
  const locked = await readLockedPackages();
  const { optionalDependencies } = locked['node_modules/@duckdb/node-bindings']!;
  expect(Object.keys(optionalDependencies!).sort()).toEqual([...PACKAGES].sort());
  const without = PACKAGES.filter((name) => !locked[`node_modules/${name}`]?.integrity?.startsWith('sha512-'));
  expect(without).toEqual([]);
});

test('the native packages are in the registry with the locked versions and integrity', async (context) => {
  const packages = await readLockedPackages();
  const locked = PACKAGES.map((name) => [name, packages[`node_modules/${name}`]!] as const);
  const answer = await askRegistry(Object.fromEntries(locked.map(([name, { version }]) => [name, version])));
  if ('code' in answer) {
    context.skip(isUnreachable(answer.code), `the registry is not reachable: ${answer.code}`);
    expect.fail(`npm: ${answer.code}`);
  }
  expect(answer.integrity).toEqual(new Map(locked.map(([name, { integrity }]) => [name, integrity])));
});

test('the package of the lock has a build for every platform', () => {
  const builds = join(PACKAGE_ROOT, 'node_modules', 'fs-native-extensions', 'prebuilds');
  const without = PLATFORMS.filter((name) => !existsSync(join(builds, name, 'fs-native-extensions.node')));
  expect(without).toEqual([]);
});

const CONFIG = 'targets: [{ name: scaler, kind: autoscaler, url: "http://127.0.0.1:9" }]\n';

/** What the package of the lock takes for Alpine, where it looks for a build that it does not have. */
const AS_ON_ALPINE = `
  const fs = require('node:fs');
  const { existsSync } = fs;
  fs.existsSync = (path) => path === '/etc/alpine-release' || existsSync(path);
`;

test('on Alpine, the lock is that of the build for Linux', async () => {
  const cwd = await tempFolder();
  const preload = join(cwd, 'alpine.cjs');
  await writeFile(preload, AS_ON_ALPINE);
  await writeFile(join(cwd, 'tidemark.yaml'), CONFIG);
  const command = await buildCommand();
  const pull = () => startCommand(command, ['pull'], cwd, { NODE_OPTIONS: `--require ${preload}` }).ended;
  const lock = await acquireLock(join(cwd, 'data', 'lock'), 'nightly');
  expect(await pull()).toMatchObject({ exit: 6, stderr: expect.stringContaining('locked by nightly') });
  await lock.release();
  expect(await pull()).toMatchObject({ exit: 3, stderr: expect.not.stringContaining('lock') });
});

/** The built package with every dependency but `missing`. */
async function packageWithout(missing: string): Promise<string> {
  const built = join(await buildCommand(), '..', '..');
  const root = await tempFolder();
  for (const name of await readdir(built)) {
    if (name !== 'node_modules') await cp(join(built, name), join(root, name), { recursive: true, dereference: true });
  }
  await mkdir(join(root, 'node_modules', '@duckdb'), { recursive: true });
  const modules = join(PACKAGE_ROOT, 'node_modules');
  for (const name of await readdir(modules)) {
    if (name !== '@duckdb' && name !== missing) await symlink(join(modules, name), join(root, 'node_modules', name));
  }
  for (const name of await readdir(join(modules, '@duckdb'))) {
    const [from, to] = [PACKAGE_ROOT, root].map((folder) => join(folder, 'node_modules', '@duckdb', name)) as [
      string,
      string,
    ];
    if (`@duckdb/${name}` === missing) continue;
    // A link would lead to the packages beside the original, of which none is missing.
    if (missing.startsWith('@duckdb/')) await cp(from, to, { recursive: true });
    else await symlink(from, to);
  }
  return join(root, 'bin', 'tidemark.js');
}

const HINT = 'install Tidemark again on this machine with npm, with optional dependencies';

test('a missing package with native code is named, without a stack trace', async () => {
  const cwd = await tempFolder();
  await writeFile(join(cwd, 'tidemark.yaml'), CONFIG);
  const [platform] = (await readdir(join(PACKAGE_ROOT, 'node_modules', '@duckdb'))).filter((name) =>
    name.includes('-bindings-'),
  );
  for (const missing of [`@duckdb/${platform}`, 'fs-native-extensions']) {
    const command = await packageWithout(missing);
    const { exit, stdout, stderr } = await startCommand(command, ['pull'], cwd).ended;
    expect({ exit, stdout, stderr }).toEqual({
      exit: 2,
      stdout: '',
      stderr: `error: the package ${missing} is not installed\n  ${HINT}\n`,
    });
    expect(await startCommand(command, ['--version'], cwd).ended).toMatchObject({ exit: 0, stderr: '' });
  }
});
