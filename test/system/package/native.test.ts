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

interface LockedPackage {
  readonly version: string;
  readonly integrity?: string;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

async function readLockedPackages(): Promise<Readonly<Record<string, LockedPackage>>> {
  return JSON.parse(await readFile(join(PACKAGE_ROOT, 'package-lock.json'), 'utf8')).packages;
}

/** The integrity of a package in the registry, or the code of npm's error. */
async function askRegistry(
  name: string,
  version: string,
): Promise<{ readonly integrity?: string; readonly code?: string }> {
  const words = ['view', `${name}@${version}`, 'dist.integrity', '--json', '--fetch-retries=0'];
  try {
    const { stdout } = await promisify(execFile)('npm', words, { cwd: PACKAGE_ROOT });
    return stdout.trim() === '' ? { code: 'E404' } : { integrity: JSON.parse(stdout) };
  } catch (error) {
    const { stdout } = error as { readonly stdout: string };
    return { code: JSON.parse(stdout).error.code };
  }
}

test('the lock file has the integrity of the native package of every platform', async () => {
  const locked = await readLockedPackages();
  const { optionalDependencies } = locked['node_modules/@duckdb/node-bindings']!;
  expect(Object.keys(optionalDependencies!).sort()).toEqual([...PACKAGES].sort());
  const without = PACKAGES.filter((name) => !locked[`node_modules/${name}`]?.integrity?.startsWith('sha512-'));
  expect(without).toEqual([]);
});

test.concurrent.for(PACKAGES)('%s is in the registry with the locked version and integrity', async (name, context) => {
  const { version, integrity } = (await readLockedPackages())[`node_modules/${name}`]!;
  const answer = await askRegistry(name, version);
  context.skip(OFFLINE.has(answer.code ?? ''), `the registry is not reachable: ${answer.code}`);
  expect(answer).toEqual({ integrity });
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
    const relative = join('node_modules', '@duckdb', name);
    if (`@duckdb/${name}` !== missing)
      await cp(join(PACKAGE_ROOT, relative), join(root, relative), { recursive: true });
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
