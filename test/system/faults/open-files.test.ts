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

test('with a limit of files that is too small, a report ends with one line that says so', async () => {
  const command = await buildCommand();
  const from = await prepareProject('pulled-scaler', SIZE, async (first) => {
    await first.pull(['--target', 'scaler']);
  });
  const place = await testProject({ ...SIZE, from });
  const limit = "trap '' XFSZ && ulimit -f 1";
  const { exit, stderr } = await runLimited(command, ['report', 'drift'], place.folder, limit);
  expect([exit, stderr]).toEqual([
    1,
    expect.stringMatching(/^error: a file would be larger than the limit of files .*\n$/mu),
  ]);
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
