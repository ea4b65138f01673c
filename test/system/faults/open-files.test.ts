import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { buildCommand } from '../../helpers/built-command.ts';
import { prepareProject, testProject } from '../../helpers/test-project.ts';

const SIZE = { workspaces: 10 };

/** Runs a command that may have 64 files open, or within another limit. */
async function runLimited(command: string, words: readonly string[], cwd: string, limit = 'ulimit -n 64') {
  const script = `${limit} && exec "$@"`;
  const child = spawn('sh', ['-c', script, 'sh', process.execPath, command, ...words], { cwd });
  const [stderr, [exit]] = await Promise.all([text(child.stderr), once(child, 'close')]);
  return { exit: exit as number | null, stderr };
}

test.each(['pull', 'run/nightly', 'status', 'report/drift', 'sql/select 1', 'playbook/ledger'])(
  'with too few open files, %s ends with one line and damages nothing',
  async (words) => {
    const command = await buildCommand();
    const from = await prepareProject('pulled-scaler', SIZE, async (first) => {
      await first.pull(['--target', 'scaler']);
    });
    const place = await testProject({ ...SIZE, from });
    const { exit, stderr } = await runLimited(command, words.split('/'), place.folder);
    expect([0, 1, 3], stderr).toContain(exit);
    expect(stderr).not.toMatch(/^ {4}at |internal error/mu);
    expect(stderr.match(/^error: .*$/gmu)?.length ?? 0, stderr).toBeLessThanOrEqual(1);
    expect(await readdir(join(place.folder, 'data', 'work'))).not.toContain('warehouse.duckdb.damaged');
    await place.pull(['--target', 'scaler']);
  },
);

const SMALL_FILES = "trap '' XFSZ && ulimit -f 1";
const LARGER =
  /^error: (?:the query failed: IO Error: .*File too large|a file would be larger than the limit of files .*)\n/mu;

test.each([
  ['a file of ours', SMALL_FILES, ['report', 'drift'], LARGER],
  ['a file of DuckDB', SMALL_FILES, ['export', '--out', 'exported'], LARGER],
  ['a file of a lake', SMALL_FILES, ['lake', 'publish', '--lake', 'lake'], LARGER],
  ['the warehouse', "trap '' XFSZ && ulimit -f 2000", ['pull', '--target', 'scaler'], LARGER],
  ['a result', SMALL_FILES, ['sql', 'select random() from range(20000)', '-o', 'x.parquet'], LARGER],
  ['standard output', `${SMALL_FILES} && exec > printed`, ['api', '--list'], LARGER],
  [
    'standard output of a query',
    `${SMALL_FILES} && exec > printed`,
    ['sql', 'select random() from range(20000)'],
    LARGER,
  ],
  [
    'the address space',
    'ulimit -v 6000000',
    ['pull', '--target', 'scaler'],
    /^error: the system gives no more memory: .*\n$/mu,
  ],
])(
  'with a limit that is too small for %s, a command ends with one line that says so',
  async (_, limit, words, says) => {
    const command = await buildCommand();
    const from = await prepareProject('pulled-scaler', SIZE, async (first) => {
      await first.pull(['--target', 'scaler']);
    });
    const place = await testProject({ ...SIZE, from });
    const { exit, stderr } = await runLimited(command, words, place.folder, limit);
    expect([exit, stderr]).toEqual([1, expect.stringMatching(says)]);
    expect(stderr).not.toMatch(/^ {4}at |internal error/mu);
  },
);

test('with too little address space for the parser of responses, a pull says so, and not that the service is unreachable', async () => {
  const command = await buildCommand();
  const place = await testProject(SIZE);
  const { exit, stderr } = await runLimited(
    command,
    ['pull', '--target', 'scaler'],
    place.folder,
    'ulimit -v 18000000',
  );
  expect([exit, stderr]).toEqual([3, expect.stringMatching(/^warning: scaler: .*the system gives no more memory/mu)]);
  expect(stderr).not.toContain('check `url`');
});

test.each([
  ['lock', ['pull']],
  ['lock.owner', ['pull']],
  ['ledger.ndjson', ['playbook', 'ledger']],
] as const)('a folder in place of data/%s is one line and exit code 4', async (name, words) => {
  const place = await testProject(SIZE);
  await mkdir(join(place.folder, 'data', name), { recursive: true });
  const { exit, stderr } = await place.tidemark(words);
  expect([exit, stderr]).toEqual([4, expect.stringMatching(/^error: .*\n( {2}.*\n)?$/u)]);
});
