import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { copyFile, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { buildCommand } from '../helpers/built-command.ts';
import { queryPath } from '../helpers/served.ts';
import { type TestProject, testProject } from '../helpers/test-project.ts';
import { cacheFolder, fillOnce, INSTALL_MS } from './install.ts';

/** The built command with each newer Node, from packages without install scripts. `npm test` runs with the oldest one. */
const VERSIONS = Object.keys(
  (JSON.parse(readFileSync(join(import.meta.dirname, 'nodes/package.json'), 'utf8')) as { dependencies: object })
    .dependencies,
);
const isHere = process.platform === 'linux' && process.arch === 'x64';
if (!isHere) console.log('the built command is not tried with newer Node: the packages are of Linux on x64');

const execute = promisify(execFile);
let folder: string;
let command: string;

async function install(): Promise<void> {
  await mkdir(folder, { recursive: true });
  await copyFile(join(import.meta.dirname, 'nodes/package.json'), join(folder, 'package.json'));
  const words = ['install', '--ignore-scripts', '--no-audit', '--no-fund'];
  await execute('npm', words, { cwd: folder, timeout: INSTALL_MS });
}

beforeAll(async () => {
  if (!isHere) return;
  command = await buildCommand();
  folder = cacheFolder('nodes/package.json');
  await fillOnce(folder, install);
}, INSTALL_MS);

const nodeOf = (version: string) => join(folder, 'node_modules', version, 'bin', 'node');

/** Runs a command. @returns its stdout; a warning of Node on stderr fails the test */
async function run(version: string, place: TestProject, ...words: readonly string[]): Promise<string> {
  const { stdout, stderr } = await execute(nodeOf(version), [command, ...words], { cwd: place.folder });
  expect(stderr).not.toMatch(/\(node:\d+\)/u);
  return stdout;
}

async function readPages(version: string, place: TestProject): Promise<readonly string[]> {
  const server = spawn(nodeOf(version), [command, 'serve', '--port', '0'], { cwd: place.folder });
  onTestFinished(() => void server.kill('SIGKILL'));
  const ended = once(server, 'exit');
  const [line] = await once(server.stdout, 'data');
  const url = String(line).trim();
  const paths = ['/', '/tables/workspaces', queryPath('select 42 as answer')];
  const pages = await Promise.all(paths.map(async (path) => (await fetch(new URL(path, url))).text()));
  server.kill('SIGTERM');
  expect(await ended).toEqual([0, null]);
  return pages;
}

describe.skipIf(!isHere).each(VERSIONS)('%s', (version) => {
  test('is the Node that its package names', async () => {
    expect((await execute(nodeOf(version), ['--version'])).stdout).toMatch(new RegExp(`^v${version.slice(5)}\\.`, 'u'));
  });

  test('pulls, reports, asks and serves', async () => {
    const place = await testProject({ workspaces: 20, warehouse: 'none' });
    const pull = JSON.parse(await run(version, place, 'pull', '--json')) as { pulls: { status: string }[] };
    expect(pull.pulls.filter(({ status }) => status !== 'complete')).toEqual([]);
    const report = JSON.parse(await run(version, place, 'report', 'drift', '--json')) as object;
    expect(JSON.stringify(report)).toContain('"drifting":[');
    const rows = await run(version, place, 'sql', '--json', 'select count(*)::int as n from workspaces');
    expect(JSON.parse(rows)).toEqual([{ n: 20 }]);
    const [home, table, answer] = await readPages(version, place);
    expect(home).toContain('<title>');
    expect(table).toContain('workspace_name');
    expect(answer).toBe('answer\n42\n');
  });
});
