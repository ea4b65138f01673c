import { execFile } from 'node:child_process';
import { cp, mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parse, stringify } from 'yaml';
import type { RunningSandbox } from '../../../sandbox/index.ts';
import { PACKAGE_ROOT } from '../../../src/core/paths.ts';
import { cleanAtEnd, tempFolder } from '../../helpers/temp.ts';
import { startTestSandbox } from '../../helpers/test-sandbox.ts';

const atEnd = cleanAtEnd();
const run = promisify(execFile);
const PROJECT = join(PACKAGE_ROOT, 'test', 'system', 'consumer', 'project');
const DAYS = 3;

let folder: string;
let packed: readonly string[];
let sandbox: RunningSandbox;

/** A project of a user: Tidemark is installed from the packed tarball, and its types are checked without `skipLibCheck`. */
beforeAll(async () => {
  folder = await tempFolder(atEnd);
  await cp(PROJECT, folder, { recursive: true });
  const pack = ['pack', '--ignore-scripts', '--json', '--pack-destination', folder];
  const [{ filename, files }] = JSON.parse((await run('npm', pack, { cwd: PACKAGE_ROOT })).stdout);
  packed = files.map(({ path }: { path: string }) => path);
  await run('npm', ['install', '--no-audit', '--no-fund', '--prefer-offline', `./${filename}`], { cwd: folder });
  const modules = join(PACKAGE_ROOT, 'node_modules');
  await mkdir(join(folder, 'node_modules', '@types'), { recursive: true });
  await symlink(join(modules, '@types', 'node'), join(folder, 'node_modules', '@types', 'node'));
  await run(join(modules, '.bin', 'tsc'), ['--project', '.'], { cwd: folder }).catch(
    ({ stdout }: { stdout: string }) => {
      throw new Error(stdout);
    },
  );
  sandbox = await startTestSandbox({ rate: 1000, workspaces: 30 });
  for (let day = 0; day < DAYS; day++) sandbox.tick();
  await configure({});
});
afterAll(() => sandbox?.close());

async function configure(keys: Readonly<Record<string, unknown>>): Promise<void> {
  await writeFile(join(folder, 'tidemark.yaml'), stringify({ ...parse(sandbox.config()), ...keys }));
}

/** Runs the installed command. */
const tidemark = (...words: readonly string[]) =>
  run(join(folder, 'node_modules', '.bin', 'tidemark'), words, { cwd: folder });

test('a script runs a job with a source and a playbook of its own, asks SQL, and calls operations', async () => {
  const { stdout } = await run('node', ['build/main.js', 'tidemark.yaml', sandbox.now.toISOString()], { cwd: folder });
  const result = JSON.parse(stdout);
  expect(result).toMatchObject({ status: 'complete', failed: [], missing: 404, usage: 'CONFIG' });
  expect(result.playbooks).toMatchObject([{ name: 'delete-silent-agents', exit: 0 }]);
  const policies = [...sandbox.services.scheduler.state.policies.keys()].filter((name) => name !== 'anonymous').sort();
  expect(result.names).toEqual(policies.map((name) => ({ name })));
  expect(result.agents.length).toBeGreaterThan(5);
  expect(result.health).toEqual({ alive: true });
});

test('the command loads a plugin', async () => {
  await configure({ plugins: ['./build/plugin.js'] });
  const now = ['--now', sandbox.now.toISOString()];
  const pull = await tidemark('pull', '--json', '--source', 'policy_names', ...now);
  expect(JSON.parse(pull.stdout).pulls).toMatchObject([{ source: 'policy_names', status: 'complete' }]);
  const list = await tidemark('playbook', 'list', '--json');
  const names = (JSON.parse(list.stdout) as { playbook: string }[]).map(({ playbook }) => playbook);
  expect(names).toContain('delete-silent-agents');
});

test('a plugin in TypeScript needs a Node that runs TypeScript', async () => {
  await configure({ plugins: ['./src/policy-names.ts'] });
  const list = tidemark('playbook', 'list');
  const reason =
    'typescript' in process.features && process.features.typescript
      ? /has no default export with `sources` or `playbooks`/u
      : /is TypeScript, which this version of Node cannot run\n {2}use Node 22\.18 or newer/u;
  await expect(list).rejects.toMatchObject({ code: 2, stderr: expect.stringMatching(reason) });
});

test('the package has what it needs to run, and neither tests nor source maps', () => {
  const folders = new Set(packed.map((path) => path.split('/', 1)[0]));
  const top = ['bin', 'deploy', 'dist', 'docs', 'jobs', 'queries', 'reports', 'sandbox', 'templates'];
  const files = ['CHANGELOG.md', 'LICENSE', 'README.md', 'package.json'];
  expect([...folders].sort()).toEqual([...files, ...top].sort());
  expect(packed.filter((path) => /\.map$|\.test\.|^test\/|^docs\/images\/|^sandbox\/.*\.ts$/u.test(path))).toEqual([]);
  expect(packed).toContain('dist/tidemark.1');
});

test('a command that a project runs is shown as the project runs it, without a look into a registry', async () => {
  await mkdir(join(folder, 'new'));
  const words = ['--no', 'tidemark', 'init', '--config', 'new/tidemark.yaml'];
  const { stdout } = await run('npx', words, { cwd: folder });
  expect(stdout).toContain('run `npx --no tidemark --config new/tidemark.yaml doctor`');
});
