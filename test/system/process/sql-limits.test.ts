import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { platform } from 'node:os';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import type { FromChild, ToChild } from '../../../src/ask/query/protocol.ts';
import { loadConfig } from '../../../src/config/config.ts';
import { Redactor } from '../../../src/core/redact/redactor.ts';
import { buildCommand, readToEnd } from '../../helpers/built-command.ts';
import { cleanAtEnd, tempFolder } from '../../helpers/temp.ts';
import { noTerminal, runInTerminal } from '../../helpers/terminal.ts';
import { type TestProject, testProject } from '../../helpers/test-project.ts';
import { isRunning, until, untilComputed } from '../../helpers/until.ts';

/** Each of these may take the memory of a machine where a limit fails: the system bounds the test as well. */
const OUTER_KILOBYTES = 8_000_000;
const isLinux = platform() === 'linux';
if (!isLinux)
  console.log('queries that eat memory are not tested: only Linux bounds the address space of the test itself');

/** DuckDB looks at no interrupt while it computes one value. */
const DEAF = `select levenshtein(repeat('a', 2000000), repeat('b', 2000000)) as n`;

const atEnd = cleanAtEnd();
let place: TestProject;
let command: string;

beforeAll(async () => {
  command = await buildCommand();
  place = await testProject({ workspaces: 5, cleanup: atEnd });
  await place.pull(['--source', 'ca_roots']);
});

/** Starts the command, and itself, within an address space that the machine has. */
function start(words: readonly string[], env: NodeJS.ProcessEnv = {}) {
  const bound = ['-c', 'ulimit -v "$0"; exec "$@"', String(OUTER_KILOBYTES), process.execPath, command, ...words];
  const child = spawn('/bin/sh', bound, { cwd: place.folder, env: { PATH: process.env.PATH, ...env } });
  return { child, ended: readToEnd(child) };
}

function childrenOf(pid = 0): readonly number[] {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').filter(Boolean).map(Number);
}

/** The process of the query, when it computes. */
async function untilComputing(pid?: number): Promise<number> {
  const query = await until(() => {
    const [child] = childrenOf(pid);
    if (child === undefined) throw new Error('the query has no process yet');
    return child;
  });
  await untilComputed(query, 3);
  return query;
}

const untilGone = (pid: number) => until(() => expect(isRunning(pid)).toBe(false));

describe.runIf(isLinux)('a query', () => {
  test.each(['select generate_series(1, 2000000000) as n', `select repeat('x', 4000000000) as x`])(
    'has no more memory than its limit: %s',
    async (query) => {
      const { exit, stdout, stderr } = await start(['sql', query]).ended;
      expect({ exit, stdout }).toEqual({ exit: 4, stdout: '' });
      expect(stderr).toContain('the query needs more than 1GB of memory');
    },
  );

  test('that ignores its limit of time is killed a second later, and leaves no temporary file', async () => {
    const temporary = await tempFolder();
    const { exit, stderr } = await start(['sql', DEAF, '--timeout', '1'], { TMPDIR: temporary }).ended;
    expect(exit).toBe(4);
    expect(stderr).toContain('the query was stopped after 1 second');
    expect((await readdir(temporary)).filter((name) => name.startsWith('tidemark-query'))).toEqual([]);
  });

  test('that ignores Ctrl-C is killed, and the command ends with 130', async () => {
    const { child, ended } = start(['sql', DEAF]);
    const query = await untilComputing(child.pid);
    child.kill('SIGINT');
    expect(await ended).toMatchObject({ exit: 130, stderr: expect.stringContaining('stopped by SIGINT') });
    await untilGone(query);
  });

  test('ends with the second Ctrl-C', async () => {
    const { child, ended } = start(['sql', DEAF]);
    const query = await untilComputing(child.pid);
    child.kill('SIGINT');
    child.kill('SIGTERM');
    expect((await ended).exit).not.toBe(0);
    await untilGone(query);
  });

  test('ends with the command that asked, however that ends', async () => {
    const { child } = start(['sql', DEAF]);
    const query = await untilComputing(child.pid);
    child.kill('SIGKILL');
    await untilGone(query);
  });

  test('has an address space with a limit, and neither tokens nor the home folder in its environment', async () => {
    const { child, ended } = start(['sql', DEAF], { SECRET_TOKEN: 'canary', HOME: '/home/canary' });
    const query = await untilComputing(child.pid);
    const [, bytes = ''] = /Max address space +(\d+)/u.exec(readFileSync(`/proc/${query}/limits`, 'utf8')) ?? [];
    expect(Number(bytes)).toBeGreaterThan(2e9);
    expect(Number(bytes)).toBeLessThan(OUTER_KILOBYTES * 1024);
    expect(readFileSync(`/proc/${query}/environ`, 'utf8')).not.toContain('canary');
    child.kill('SIGINT');
    await ended;
  });

  test('of 200,000 rows and 26 columns is served', async () => {
    const columns = Array.from({ length: 25 }, (_, index) => `md5((i + ${index})::varchar) as c${index}`);
    const query = `select i, ${columns.join(', ')} from range(200000) t(i) order by c1`;
    const { exit, stdout, stderr } = await start(['sql', query, '--format', 'csv']).ended;
    expect({ exit, stderr }).toEqual({ exit: 0, stderr: '' });
    expect(stdout.split('\n')).toHaveLength(200_002);
  });

  test('where the system bounds no address space, the process watches its own size', async () => {
    const file = join(command, '..', '..', 'dist', 'query-child.js');
    const arguments_ = [
      '-c',
      'ulimit -v "$0"; exec "$@"',
      String(OUTER_KILOBYTES),
      process.execPath,
      file,
      String(4e8),
    ];
    const child = spawn('/bin/sh', arguments_, {
      serialization: 'advanced',
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    });
    const { data, directory, sql } = loadConfig(join(place.folder, 'tidemark.yaml'), {}, new Redactor());
    const said: FromChild[] = [];
    child.on('message', (message: FromChild) => said.push(message));
    const query = `select count(*) from (select repeat('x', 900000000) as x) where length(x) > 1`;
    const run: ToChild = {
      kind: 'run',
      request: { config: { data, directory, sql }, query, params: {}, format: 'csv' },
    };
    child.send(run);
    await once(child, 'disconnect');
    expect(said.at(-1)).toMatchObject({ kind: 'error', message: 'the query needs more than 1GB of memory' });
  });
});

describe.skipIf(!isLinux || noTerminal !== undefined)('the shell', () => {
  test('kills a query at Ctrl-C, and goes on with its settings in a new process', async () => {
    const { exit, shown } = await runInTerminal(
      command,
      ['sql'],
      [
        ['tidemark> ', '.mode line\r'],
        ['tidemark> ', `${DEAF};\r`],
        ['as n;\r', '\u0003'],
        ['tidemark> ', 'select 40 + 2 as answer;\r'],
        ['tidemark> ', '\u0004'],
      ],
      { cwd: place.folder, env: { XDG_STATE_HOME: place.folder } },
    );
    expect(exit).toBe(0);
    expect(shown).toContain('the query was stopped');
    expect(shown).toContain('answer = 42');
  });
});
