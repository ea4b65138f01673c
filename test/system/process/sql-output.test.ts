import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir } from 'node:fs/promises';
import { hostname } from 'node:os';
import { beforeAll, expect, test } from 'vitest';
import { buildCommand, startCommand } from '../../helpers/built-command.ts';
import { cleanAtEnd, tempFolder } from '../../helpers/temp.ts';
import { type TestProject, testProject } from '../../helpers/test-project.ts';
import { until } from '../../helpers/until.ts';

const atEnd = cleanAtEnd();
let place: TestProject;
let command: string;

beforeAll(async () => {
  command = await buildCommand();
  place = await testProject({ workspaces: 5, cleanup: atEnd });
  await place.pull(['--source', 'ca_roots']);
});

const LARGE = `select i, md5(i::varchar) as text from range(20000000) t(i)`;
const SPILLING = `select count(*) from (select i, md5(i::varchar) || repeat('x', 100) as t from range(1000000) r(i) order by t) where t > '' `;

test.each(['csv', 'json', 'ndjson', 'table', 'line', 'markdown'])(
  '%s: a reader that closes the pipe ends it in silence',
  async (format) => {
    const child = spawn(process.execPath, [command, 'sql', LARGE, '--format', format], { cwd: place.folder });
    let stderr = '';
    child.stderr.on('data', (text) => {
      stderr += text;
    });
    await once(child.stdout, 'data');
    child.stdout.destroy();
    const [exit] = await once(child, 'exit');
    expect({ exit, stderr }).toEqual({ exit: 0, stderr: '' });
  },
);

test.each([
  [['findings', '--fail-on', 'critical']],
  [['findings', '--fail-on', 'critical', '--json']],
  [['status', '--exit-code']],
])('%s: what it found is its exit code also where nobody reads the list', async (words) => {
  const child = spawn(process.execPath, [command, ...words], { cwd: place.folder });
  child.stdout.destroy();
  expect(await once(child, 'exit')).toEqual([1, null]);
});

test('Ctrl-C ends it with 130 while nobody reads the pipe', async () => {
  const child = spawn(process.execPath, [command, 'sql', LARGE, '--format', 'csv'], { cwd: place.folder });
  await once(child.stdout, 'readable');
  child.kill('SIGINT');
  const [exit] = await once(child, 'exit');
  expect(exit).toBe(130);
});

test('a killed query leaves temporary files; the next query removes them, and two at once keep theirs', async () => {
  const temporary = await tempFolder();
  const folders = async () =>
    (await readdir(temporary)).filter((name) => name.startsWith(`tidemark-query-${hostname()}`));
  const env = { TMPDIR: temporary };
  await place.configure((config) => {
    config.sql = { memoryLimit: '80MB' };
  });
  const killed = startCommand(command, ['sql', SPILLING], place.folder, env);
  await until(async () => expect(await folders()).toHaveLength(1));
  killed.process.kill('SIGKILL');
  await killed.ended;
  const [left = ''] = await folders();
  // The query's own process notices it; the next query must not find its number in use.
  const own = Number(/-(\d+)-\w+$/u.exec(left)?.[1]);
  await until(() => expect(() => process.kill(own, 0)).toThrow());
  expect(await folders()).toEqual([left]);
  const both = [
    startCommand(command, ['sql', SPILLING], place.folder, env),
    startCommand(command, ['sql', SPILLING], place.folder, env),
  ];
  for (const { ended } of both) expect(await ended).toMatchObject({ exit: 0, stderr: '' });
  expect(await folders()).toEqual([]);
});
