import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, expect, onTestFinished, test } from 'vitest';
import { PACKAGE_ROOT } from '../../../src/core/paths.ts';
import { buildCommand, type CommandExit, startCommand } from '../../helpers/built-command.ts';
import { cli } from '../../helpers/cli.ts';
import { tempFolder } from '../../helpers/temp.ts';

const DAY_MS = 86_400_000;
/** Fewer nights than without the option: test/long plays those, the incident among them. */
const NIGHTS = 2;

let command: string;
let cwd: string;
let played: CommandExit;

const run = (words: readonly string[], folder: string): Promise<CommandExit> =>
  startCommand(command, words, folder).ended;
const demo = () => join(cwd, 'demo');

beforeAll(async () => {
  command = await buildCommand();
  cwd = await tempFolder(() => {});
  played = await run(['demo', '--runs', String(NIGHTS), '--workspaces', '20'], cwd);
});

/** Runs a line of a shell, with `tidemark` as the built command. */
function shell(line: string, folder: string) {
  const functions = `tidemark() { "${process.execPath}" "${command}" "$@"; }`;
  return spawnSync('/bin/sh', ['-ec', `${functions}\n${line}`], { cwd: folder, encoding: 'utf8' });
}

const json = (line: string) => {
  const { status, stdout, stderr } = shell(line, demo());
  expect(status, `${line}\n${stderr}`).toBe(0);
  return JSON.parse(stdout);
};

test('the demo has a line for each night and leaves a warehouse and reports', async () => {
  expect(played.exit, played.stderr).toBe(0);
  const nights = played.stderr.split('\n').filter((line) => line.startsWith('night '));
  expect(nights).toHaveLength(NIGHTS);
  expect(nights[0]).toMatch(/^night {2}1 {2}\w{3} \d\d \w{3} {2}the first night: .* \d+ findings in 20 sources$/u);
  expect(nights[1]).toMatch(/findings: \+\d+ −\d+$/u);
  expect(played.stderr + played.stdout).not.toContain('\u001B');
  for (const file of ['demo/out/index.html', 'demo/data/warehouse.duckdb']) {
    expect(played.stdout).toContain(file);
    expect(existsSync(join(cwd, file)), file).toBe(true);
  }
  const index = await readFile(join(demo(), 'out', 'index.html'), 'utf8');
  for (const report of ['drift', 'version-sprawl', 'check-failure', 'agent-health']) expect(index).toContain(report);
});

test('its last night is less than a day ago, and every source is fresh', () => {
  const { runs, sources } = json('tidemark status --json');
  const newest = Date.parse(runs[0].started_at);
  expect(Date.now() - newest).toBeLessThan(DAY_MS + 15 * 60_000);
  expect(runs.length).toBe(NIGHTS);
  expect(sources.filter(({ stale }: { stale: boolean }) => stale)).toEqual([]);
});

test('it ends with three things to do next, which succeed as printed', () => {
  const [, next = ''] = played.stdout.split('\nNext\n');
  const lines = next.split('\n').filter((line) => line.trim() !== '');
  expect(lines).toHaveLength(3);
  expect(lines.some((line) => line.includes('playbook plan'))).toBe(true);
  for (const line of lines) {
    const words = line.slice(line.indexOf('node '));
    const { status, stderr, stdout } = shell(words, cwd);
    expect(status, `${words}\n${stderr}`).toBe(0);
    expect(stdout.trim().split('\n').length, words).toBeGreaterThan(1);
    expect(stderr).not.toMatch(/warning|error|refused/u);
  }
});

/** The code blocks of a language in a document. */
async function readBlocks(file: string, language: string): Promise<string[]> {
  const text = await readFile(join(PACKAGE_ROOT, file), 'utf8');
  return [...text.matchAll(new RegExp(`\`\`\`${language}\n([\\s\\S]*?)\`\`\``, 'gu'))].map(([, block]) => block ?? '');
}

test('the commands of the first night that name no real service work on the demo', async () => {
  const lines = (await readBlocks('docs/first-night.md', 'sh')).join('').split('\n');
  const own = lines
    .map((line) => line.split(/ > | && |\s+#/u)[0] ?? '')
    .filter((line) => /^tidemark (?!init)/u.test(line));
  expect(own.length).toBeGreaterThan(5);
  for (const line of own) {
    const { exit, stderr } = await cli(line.trim().split(/\s+/u).slice(1), { cwd: demo() });
    expect(exit, `${line}\n${stderr}`).toBe(0);
  }
  for (const query of await readBlocks('docs/first-night.md', 'sql')) {
    await writeFile(join(demo(), 'query.sql'), query);
    expect((await cli(['sql', '-f', 'query.sql'], { cwd: demo() })).exit, query).toBe(0);
  }
  const text = await readFile(join(PACKAGE_ROOT, 'docs', 'first-night.md'), 'utf8');
  const counts = [...text.matchAll(/`(select [^`]*)`/gu)].map(([, query]) => query ?? '');
  expect(counts.length).toBeGreaterThan(5);
  for (const query of counts) expect((await cli(['sql', query], { cwd: demo() })).exit, query).toBe(0);
});

test('a folder named demo that no demo made is left alone', async () => {
  const folder = await tempFolder(onTestFinished);
  await mkdir(join(folder, 'demo'));
  await writeFile(join(folder, 'demo', 'mine.txt'), 'precious');
  const refused = await run(['demo'], folder);
  expect(refused).toMatchObject({ exit: 6, stderr: expect.stringContaining('was not made by a demo') });
  expect(await readFile(join(folder, 'demo', 'mine.txt'), 'utf8')).toBe('precious');
});
