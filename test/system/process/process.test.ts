import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { beforeAll, expect, test } from 'vitest';
import { PACKAGE_ROOT, version } from '../../../src/core/paths.ts';
import { buildCommand, type CommandExit, startCommand } from '../../helpers/built-command.ts';
import { tempFolder } from '../../helpers/temp.ts';

let command: string;
beforeAll(async () => {
  command = await buildCommand();
});

const run = (words: readonly string[], cwd: string): Promise<CommandExit> => startCommand(command, words, cwd).ended;

test('the built command starts, and `npx --no tidemark` finds it', async () => {
  expect(existsSync(join(PACKAGE_ROOT, 'node_modules', '.bin', 'tidemark'))).toBe(true);
  expect(await run(['--version'], await tempFolder())).toMatchObject({ exit: 0, stdout: `${version}\n`, stderr: '' });
});

test('the sandbox prints a configuration that works, serves until it is stopped, and exits with 0', async () => {
  const cwd = await tempFolder();
  const sandbox = startCommand(command, ['sandbox', '--workspaces', '10', '--rate', '1000'], cwd);
  const config = await new Promise<string>((resolve) => {
    let printed = '';
    sandbox.process.stdout?.on('data', (chunk) => {
      printed += chunk;
      if (printed.includes('consul')) resolve(printed);
    });
  });
  await writeFile(join(cwd, 'tidemark.yaml'), config);
  const pulled = await run(['pull', '--target', 'consul', '--target', 'scaler'], cwd);
  sandbox.process.kill('SIGTERM');
  expect(pulled.exit, pulled.stderr).toBe(0);
  expect(await sandbox.ended).toMatchObject({ exit: 0 });
});

test('a working folder that is removed is named, and is no bug', async () => {
  const gone = await mkdtemp(join(await tempFolder(), 'gone-'));
  const script = 'cd "$1" && rmdir "$1" && exec "$2" "$3" --version';
  const { status, stderr } = spawnSync('sh', ['-c', script, 'sh', gone, process.execPath, command], {
    encoding: 'utf8',
  });
  expect([status, stderr]).toEqual([2, 'error: the working folder cannot be used: no such file or directory\n']);
});

test('a closed pipe is not a failure', async () => {
  const tables = startCommand(command, ['tables'], await tempFolder());
  tables.process.stdout?.once('data', () => tables.process.stdout?.destroy());
  expect(await tables.ended).toMatchObject({ exit: 0, stderr: '' });
});

test.each([
  ['that does not end', Buffer.alloc(64 * 1024 * 1024 + 1), 'is larger than 65536 KiB'],
  ['that is not UTF-8', Buffer.from([0x22, 0xff, 0x22]), 'cannot be read: it is not UTF-8'],
])('standard input %s is refused', async (_, input, problem) => {
  const cwd = await tempFolder();
  await writeFile(join(cwd, 'tidemark.yaml'), 'targets: [{ name: a, kind: mesh, url: "http://127.0.0.1:9" }]\n');
  const sql = startCommand(command, ['sql', '--file', '-'], cwd);
  sql.process.stdin?.on('error', () => {}).end(input);
  expect(await sql.ended).toMatchObject({ exit: 2, stderr: expect.stringContaining(`standard input ${problem}`) });
});

/** A folder whose environment sends two signals to a command that waits for stdin. */
async function signalTwice(first: NodeJS.Signals, second: NodeJS.Signals) {
  const cwd = await tempFolder();
  await writeFile(join(cwd, 'tidemark.yaml'), 'targets: [{ name: a, kind: mesh, url: "http://127.0.0.1:9" }]\n');
  await writeFile(
    join(cwd, 'signals.mjs'),
    `process.stdin.once('newListener', () => setTimeout(() => {
      process.kill(process.pid, '${first}');
      setTimeout(() => process.kill(process.pid, '${second}'), 100);
    }, 100));`,
  );
  return { cwd, env: { NODE_OPTIONS: `--import=${pathToFileURL(join(cwd, 'signals.mjs'))}` } };
}

test('a second signal ends a command that waits, and says so', async () => {
  const { cwd, env } = await signalTwice('SIGTERM', 'SIGTERM');
  const sql = startCommand(command, ['sql', '--file', '-'], cwd, env);
  expect(await sql.ended).toMatchObject({ exit: 1, stderr: 'error: stopped by SIGTERM\n' });
});

test('a signal that comes twice at once, as that of `timeout`, is one', async () => {
  const cwd = await tempFolder();
  const twice =
    "const stop = () => process.kill(process.pid, 'SIGTERM'); process.on('SIGUSR2', () => [stop(), stop()]);";
  await writeFile(join(cwd, 'twice.mjs'), twice);
  const env = { NODE_OPTIONS: `--import=${pathToFileURL(join(cwd, 'twice.mjs'))}` };
  const sandbox = startCommand(command, ['sandbox', '--workspaces', '10'], cwd, env);
  sandbox.process.stdout?.once('data', () => sandbox.process.kill('SIGUSR2'));
  expect(await sandbox.ended).toMatchObject({ exit: 0 });
});

const CONTAINED = ['--map-root-user', '--pid', '--fork', '--kill-child'];

const canContain = spawnSync('unshare', [...CONTAINED, 'true']).status === 0;
if (!canContain)
  console.log('the test of the first process of a container is skipped: `unshare` may not make one here');

test.skipIf(!canContain)(
  'the first process of a container, which a signal does not end by default, ends after SIGHUP',
  async () => {
    const { cwd, env } = await signalTwice('SIGHUP', 'SIGTERM');
    const words = [...CONTAINED, process.execPath, command, 'sql', '--file', '-'];
    const child = spawn('unshare', words, {
      cwd,
      env: { ...process.env, ...env },
      timeout: 300_000, // for a process that no signal ends
      killSignal: 'SIGKILL',
    });
    expect(await once(child, 'exit')).toEqual([1, null]);
  },
);

test('a log that nobody reads any more does not end a pull', async () => {
  const cwd = await tempFolder();
  await writeFile(join(cwd, 'tidemark.yaml'), 'targets: [{ name: a, kind: mesh, url: "http://127.0.0.1:9" }]\n');
  const pull = startCommand(command, ['pull', '--source', 'ca_roots'], cwd);
  pull.process.stderr?.once('data', () => pull.process.stderr?.destroy());
  expect(await pull.ended).toMatchObject({ exit: 3, stdout: expect.stringContaining('0 of 1 sources complete') });
});

test('DuckDB is loaded with the settings of its allocator, and those of the environment come first', async () => {
  const cwd = await tempFolder();
  // `process.dlopen` loads the library of DuckDB.
  await writeFile(
    join(cwd, 'trace.mjs'),
    'const load = process.dlopen; process.dlopen = (...words) => { console.error(process.env.DUCKDB_JE_MALLOC_CONF); return load(...words); };',
  );
  const query = async (env: NodeJS.ProcessEnv) => {
    const options = { NODE_OPTIONS: `--import=${pathToFileURL(join(cwd, 'trace.mjs'))}`, ...env };
    return (await startCommand(command, ['pull', '--source', 'ca_roots'], cwd, options).ended).stderr; // nothing listens there
  };
  await writeFile(join(cwd, 'tidemark.yaml'), 'targets: [{ name: a, kind: mesh, url: "http://127.0.0.1:9" }]\n');
  expect(await query({})).toMatch(/^narenas:1,dirty_decay_ms:100,muzzy_decay_ms:0$/mu);
  expect(await query({ DUCKDB_JE_MALLOC_CONF: 'dirty_decay_ms:1' })).toMatch(/^dirty_decay_ms:1$/mu);
});

test.each([
  ['a rejection', 'Promise.reject(new Error(text))'],
  ['an exception of a timer', '(() => { throw new Error(text) })()'],
])('%s that nothing catches ends a command with 70, its stack and no secret', async (_, fault) => {
  const cwd = await tempFolder();
  const token = 'tok-en-that-is-masked';
  // It comes when the daemon waits, which it says on stderr.
  const faulty = `const text = 'lost with ${token}';
    const write = process.stderr.write;
    process.stderr.write = function (said, ...more) {
      if (String(said).includes('next run')) setTimeout(() => ${fault}, 100);
      return write.call(this, said, ...more);
    };`;
  await writeFile(join(cwd, 'fault.mjs'), faulty);
  await writeFile(
    join(cwd, 'tidemark.yaml'),
    `targets: [{ name: a, kind: mesh, url: "http://127.0.0.1:9", token: ${token} }]`,
  );
  await mkdir(join(cwd, 'jobs'));
  await writeFile(join(cwd, 'jobs', 'later.yaml'), 'schedule: "0 0 1 1 *"\npull: all\n');
  const { ended } = startCommand(command, ['schedule'], cwd, {
    NODE_OPTIONS: `--import=${pathToFileURL(join(cwd, 'fault.mjs'))}`,
  });
  const { exit, stderr } = await ended;
  expect(exit, stderr).toBe(70);
  expect(stderr).toMatch(/internal error: Error: lost with/u);
  expect(stderr).not.toContain(token);
});
