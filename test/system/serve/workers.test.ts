import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { appendFile, readdir, readFile, writeFile } from 'node:fs/promises';
import { type IncomingMessage, request } from 'node:http';
import { connect } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, describe, expect, inject, test } from 'vitest';
import { copyServedProject, queryPath, type Served, startServe } from '../../helpers/served.ts';
import { cleanAtEnd, share } from '../../helpers/temp.ts';
import { isRunning, until } from '../../helpers/until.ts';
import { answerClients } from './answer-clients.ts';

const atEnd = cleanAtEnd();

/** Streams for as long as a reader takes it. */
const ENDLESS = `select i, md5(i::varchar) as text from range(1000000000) t(i)`;
/** Computes for longer than any test, and sends nothing before it ends. */
const SILENT = `select count(*) as n from range(100000000000) t(i) where sqrt(i) < 0`;
/** The same, without computing. */
const SLEEPING = 'select sleep_ms(600000) as n';

/** A server with one worker, which each of its tests leaves without a query. */
let single: Served;
beforeAll(async () => {
  single = await startServe(await copyServedProject(atEnd), ['--workers', '1'], { cleanup: atEnd });
});

/** Three workers, of which a reader has two, and one for pages. */
const double = share(async (cleanup) => startServe(await copyServedProject(cleanup), ['--workers', '3'], { cleanup }));

const state = async (server: Served) =>
  JSON.parse((await server.get('/state.json')).body) as { running: number; waiting: number };

const untilRunning = (server: Served, running: number, waiting = 0) =>
  until(async () => expect(await state(server)).toMatchObject({ running, waiting }));

/** Begins to read an answer, and reads no more. */
async function begin(server: Served, path: string): Promise<IncomingMessage> {
  const { hostname, port } = new URL(server.url);
  const sent = request({ hostname, port, path, agent: false }).end();
  sent.on('error', () => {});
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  response.pause();
  response.on('error', () => {});
  return response;
}

/** Whether the rest of an answer ends as announced. */
async function readsWhole(response: IncomingMessage): Promise<boolean> {
  const closed = new Promise((resolve) => response.on('close', resolve));
  response.resume();
  await closed;
  return response.complete;
}

test('a worker that is killed ends only its own query: an error, or an answer that is cut off visibly', async () => {
  const server = await double();
  const silent = server.get(queryPath(SLEEPING));
  await untilRunning(server, 1);
  const [first = 0] = server.workers();
  const streaming = await begin(server, queryPath(ENDLESS));
  const [second = 0] = server.workers().filter((pid) => pid !== first);
  process.kill(first, 'SIGKILL');
  expect(await silent).toMatchObject({
    status: 400,
    body: expect.stringContaining('the process that ran the query ended'),
  });
  expect((await server.get(queryPath('select 1 as one'))).body).toBe('one\n1\n');
  process.kill(second, 'SIGKILL');
  expect(await readsWhole(streaming)).toBe(false);
  expect((await server.get(queryPath('select 2 as two'))).body).toBe('two\n2\n');
});

describe('an error after the first rows', () => {
  test.each(['csv', 'json', 'ndjson', 'parquet', 'xlsx'])('is no whole result as %s', async (format) => {
    const failing = `select i, if(i = 50000, error('broken'), 'x') as text from range(60000) t(i)`;
    const answer = await single.get(queryPath(failing, format)).catch((error: Error) => error);
    if (answer instanceof Error) expect(answer.message).toMatch(/aborted|hang up/u);
    else expect(answer).toMatchObject({ status: 400, body: expect.stringContaining('broken') });
  });

  test('is no whole result over HTTP/1.0, as some proxies speak, where the end of a connection is that of an answer', async () => {
    const { hostname, port } = new URL(single.url);
    const failing = `select i, if(i = 900000, error('broken'), 'x') as text from range(1000000) t(i)`;
    const socket = connect(Number(port), hostname).resume();
    socket.write(`GET ${queryPath(failing)} HTTP/1.0\r\nHost: ${hostname}\r\n\r\n`);
    await expect(once(socket, 'close')).rejects.toMatchObject({ code: 'ECONNRESET' });
  });
});

test('a reader that goes away ends its query, and gives up its place in the queue', async () => {
  const { hostname, port } = new URL(single.url);
  const ask = () =>
    request({ hostname, port, path: queryPath(SILENT), agent: false })
      .on('error', () => {})
      .end();
  const running = ask();
  await untilRunning(single, 1);
  const waiting = [ask(), ask()];
  await untilRunning(single, 1, 2);
  for (const one of waiting) one.destroy();
  await untilRunning(single, 1, 0);
  running.destroy();
  await untilRunning(single, 0);
  expect((await single.get(queryPath('select 1 as one'))).status).toBe(200);
});

const residentMb = async (pid: number) =>
  Number(/VmRSS:\s+(\d+) kB/u.exec(await readFile(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024;

test('a slow reader takes no memory: the query waits for it', async () => {
  const { pid = 0 } = single.process;
  const before = await residentMb(pid);
  const response = await begin(single, queryPath(ENDLESS));
  await sleep(1_500); // at full speed the result would have grown by hundreds of megabytes
  const [worker = 0] = single.workers();
  expect((await residentMb(pid)) - before).toBeLessThan(100);
  expect(await residentMb(worker)).toBeLessThan(600);
  response.destroy();
  await untilRunning(single, 0);
});

/** Connections that the server has not closed. */
async function countConnections({ url }: Served): Promise<number> {
  const port = Number(new URL(url).port).toString(16).toUpperCase().padStart(4, '0');
  return (await readFile('/proc/net/tcp', 'utf8')).match(new RegExp(`: \\w+:${port} \\w+:\\w+ 01 `, 'gu'))?.length ?? 0;
}

test('readers that take nothing are cut off, whatever they asked for, and a query that computes is not', async () => {
  const folder = await copyServedProject();
  // more than the sockets of both sides hold
  await writeFile(join(folder, 'out', 'large.html'), `<body>${'x'.repeat(64_000_000)}`);
  await appendFile(join(folder, 'tidemark.yaml'), '\nsql: { timeout: 600 }\n'); // which ends no query here
  const server = await startServe(folder, ['--workers', '3']);
  const computing = server.get(queryPath('select sleep_ms(40000)::varchar as done'));
  const stalled = [await begin(server, '/reports/large.html'), await begin(server, queryPath(ENDLESS))];
  expect((await computing).status).toBe(200);
  await until(async () => expect(await countConnections(server)).toBe(0));
  expect(await Promise.all(stalled.map(readsWhole))).toEqual([false, false]);
});

test('queries are answered in the order in which they came, a few at a time', async () => {
  const blocking = await begin(single, queryPath(ENDLESS));
  const ended: number[] = [];
  const asked: Promise<unknown>[] = [];
  for (let index = 0; index < 12; index++) {
    asked.push(
      single.get(queryPath(`select ${index} as n`)).then(({ body }) => ended.push(Number(body.split('\n')[1]))),
    );
    await untilRunning(single, 1, index + 1);
  }
  blocking.destroy();
  await Promise.all(asked);
  expect(ended).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
});

test('long queries of a reader stop neither pages nor the queries of others', async () => {
  const server = await double();
  const { hostname, port } = new URL(server.url);
  const long = Array.from({ length: 4 }, () =>
    request({ hostname, port, path: queryPath(SLEEPING), localAddress: '127.0.0.2', agent: false })
      .on('error', () => {})
      .end(),
  );
  await untilRunning(server, 2, 2);
  for (const path of ['/', '/tables', '/tables/workspaces', '/saved', queryPath('select 1 as one')])
    expect((await server.get(path)).status, path).toBe(200);
  const other = await begin(server, queryPath(ENDLESS));
  await untilRunning(server, 3, 2);
  expect((await server.get('/tables')).status).toBe(200);
  for (const one of long) one.destroy();
  other.destroy();
  await untilRunning(server, 0);
});

test('2,000 requests that do not end lock nobody out, and are closed after a while', async () => {
  const { hostname, port } = new URL(single.url);
  const sockets = Array.from({ length: 2_000 }, () => {
    const socket = connect({ host: hostname, port: Number(port) });
    socket.on('error', () => {});
    socket.resume();
    socket.write('GET / HTTP/1.1\r\nhost: localhost\r\nx-slow: ');
    return socket;
  });
  const closed = sockets.map((socket) => new Promise((resolve) => socket.once('close', resolve)));
  await until(() => expect(sockets.filter((socket) => !socket.closed).length).toBeLessThanOrEqual(32));
  expect((await single.get('/tables')).status).toBe(200);
  expect((await single.get(queryPath('select 1 as one'), {}, '127.0.0.3')).status).toBe(200);
  await Promise.all(closed);
});

test('100 readers behind one address, such as a proxy has, are all answered', async () => {
  const { hostname, port } = new URL(single.url);
  const ask = async () => {
    const sent = request({ hostname, port, path: '/assets/style.css', agent: false }).end();
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    return (await readsWhole(response)) && response.statusCode;
  };
  expect(new Set(await Promise.all(Array.from({ length: 100 }, ask)))).toEqual(new Set([200]));
});

test('a query ends at its time limit with an error', async () => {
  const folder = await copyServedProject();
  await appendFile(join(folder, 'tidemark.yaml'), '\nsql: { timeout: 1 }\n');
  const server = await startServe(folder);
  const { status, body } = await server.get(queryPath(SLEEPING));
  expect([status, body]).toEqual([400, expect.stringContaining('was stopped after 1 second')]);
});

test('a file that fails is removed at once, and one that grows beyond the temporary space fails', async () => {
  const folder = await copyServedProject();
  await appendFile(join(folder, 'tidemark.yaml'), '\nsql: { temporaryLimit: 20MB }\n');
  const server = await startServe(folder, ['--workers', '1']);
  const hashes = 'select md5(i::varchar) as a, md5((i + 1)::varchar) as b from range(100000000) t(i)';
  for (const [format, sql, said] of [
    ['parquet', hashes, 'needs more than 20MB of temporary disk space'],
    ['xlsx', hashes, /needs more than 20MB of temporary disk space|larger than a sheet/u],
    ['xlsx', 'select i as n from range(1100000) t(i)', 'larger than a sheet of Excel'],
    ['parquet', "select if(i = 200000, error('no'), md5(i::varchar)) as x from range(10000000) t(i)", 'no'],
  ] as const) {
    const { status, body } = await server.get(`/query.${format}?sql=${encodeURIComponent(sql)}`);
    expect([status, body], format).toEqual([400, expect.stringMatching(said)]);
    const workers = server.workers();
    const left = (await readdir(inject('prepared'))).filter((name) =>
      workers.some((worker) => name.includes(`-${worker}-`)),
    );
    expect(left, `${format}: ${sql}`).toEqual([]);
  }
});

test('a damaged warehouse is no fault of the query: 503, and its file is in the log', async () => {
  const folder = await copyServedProject();
  const server = await startServe(folder, ['--workers', '1']);
  const file = join(folder, 'data', 'warehouse.duckdb');
  await writeFile(file, 'no database');
  for (const path of [queryPath('select 1'), '/', '/tables', '/saved/agents-by-pool', '/sql?sql=select+1']) {
    const { status, headers, body } = await server.get(path, { 'sec-fetch-site': 'same-origin' });
    expect([status, headers['retry-after'], body], path).toEqual([
      503,
      '5',
      expect.stringContaining('cannot be opened'),
    ]);
    expect(body, path).not.toContain(folder);
  }
  server.process.kill('SIGTERM');
  const { stderr } = await server.ended;
  for (const path of ['/tables', '/sql?sql=select+1']) {
    expect(stderr).toContain(`error: ${path}: ${file} cannot be opened`);
  }
});

test('what this machine lacks is in the log, and readers learn no path', async () => {
  const server = await startServe(await copyServedProject(), ['--workers', '1'], {
    env: { TMPDIR: '/no-such-folder' },
  });
  for (const path of [queryPath('select 1'), '/sql?sql=select+1', '/tables']) {
    const { status, body } = await server.get(path, { 'sec-fetch-site': 'same-origin' });
    expect([status, body], path).toEqual([503, expect.stringContaining('the server cannot answer now')]);
    expect(body, path).not.toContain('no-such-folder');
  }
  server.process.kill('SIGTERM');
  expect((await server.ended).stderr).toMatch(/error: .*no-such-folder.* cannot be used: no such file or directory/u);
});

const canLimit = spawnSync('prlimit').error === undefined;
if (!canLimit) console.warn('skipped: a server without a free file descriptor: prlimit is not on this machine');

test.skipIf(!canLimit).for([
  ['a process that runs queries', (open: number) => open + 2],
  ['the files of a page', () => 0],
] as const)(
  'without free file descriptors for %s, the log says so, and with some again every page is there',
  async ([, count]) => {
    const server = await startServe(await copyServedProject());
    const limit = (files: number) => {
      const { status } = spawnSync('prlimit', ['--pid', String(server.process.pid), `--nofile=${files}:`]);
      expect(status).toBe(0);
    };
    const { hostname, port } = new URL(server.url);
    const socket = connect(Number(port), hostname); // before the limit, which would refuse it
    const ask = (path: string, connection: string) =>
      socket.write(`GET ${path} HTTP/1.1\r\nHost: ${hostname}:${port}\r\nConnection: ${connection}\r\n\r\n`);
    ask('/assets/style.css', 'keep-alive');
    await once(socket, 'data');
    limit(count(readdirSync(`/proc/${server.process.pid}/fd`).length));
    const answer = text(socket);
    ask('/', 'close');
    expect(await answer).toMatch(/HTTP\/1\.1 503 [\s\S]*the server cannot answer now/u);
    limit(1024);
    expect(await server.get('/')).toMatchObject({ status: 200 });
    server.process.kill('SIGTERM');
    const { stderr } = await server.ended;
    expect(stderr).toMatch(/^error: \/: .*too many files are open/mu);
  },
);

test('20 clients at once are all answered, or asked to wait', async () => answerClients(20, await double()));

test('more than 1,000 waiting queries are refused with a time to come back', async () => {
  const { hostname, port } = new URL(single.url);
  const blocking = await begin(single, queryPath(ENDLESS));
  const sent = Array.from({ length: 1_000 }, (_, index) =>
    request({ hostname, port, path: queryPath(SLEEPING), localAddress: `127.0.1.${1 + (index % 40)}`, agent: false })
      .on('error', () => {})
      .end(),
  );
  await until(async () => expect((await state(single)).waiting).toBe(1_000));
  const { status, headers, body } = await single.get(queryPath('select 1'));
  expect([status, headers['retry-after']]).toEqual([503, '5']);
  expect(body).toContain('too many queries wait');
  for (const one of sent) one.destroy();
  blocking.destroy();
  await untilRunning(single, 0);
});

test('SIGTERM lets a query that runs end, refuses those that wait, and leaves no process and no file', async () => {
  const server = await startServe(await copyServedProject(), ['--workers', '1']);
  // More than sockets hold, so that it runs until it is read; little to compute, because the server ends within seconds.
  const running = await begin(server, queryPath(`select i, repeat('x', 1500) as text from range(6000) t(i)`));
  const waiting = server.get(queryPath('select 1'));
  await untilRunning(server, 1, 1);
  const [worker = 0] = server.workers();
  server.process.kill('SIGTERM');
  expect((await waiting).status).toBe(503);
  expect(await readsWhole(running)).toBe(true);
  const { exit, stderr } = await server.ended;
  expect({ exit, stderr }).toEqual({ exit: 0, stderr: '' });
  await until(() => expect(isRunning(worker)).toBe(false));
  expect((await readdir(inject('prepared'))).filter((name) => name.includes(`-${worker}-`))).toEqual([]);
});
