import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { withHeartbeat } from '../../src/run/heartbeat.ts';
import { mailContext } from '../helpers/mail-warehouse.ts';

async function heartbeatServer(status: number | 'silent' = 200) {
  const asked: string[] = [];
  const logins: (string | undefined)[] = [];
  const server = createServer((request, response) => {
    asked.push(`${request.method} ${request.url}`);
    logins.push(request.headers.authorization);
    if (status !== 'silent') response.writeHead(status).end('OK');
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const { redactor, log, lines } = mailContext('2026-11-20T02:15:00Z');
  return {
    asked,
    logins,
    lines,
    options: {
      url: `http://127.0.0.1:${port}/ping/s3cret-id?rid=1`,
      log,
      env: {},
      redactor,
      ...(status === 'silent' && { timeoutMs: 50 }),
    },
  };
}

const yes = () => true;

test('a run that succeeds pings /start and then the URL itself', async () => {
  const { asked, options } = await heartbeatServer();
  expect(await withHeartbeat(options, yes, async () => [...asked])).toEqual(['GET /ping/s3cret-id/start?rid=1']);
  expect(asked).toEqual(['GET /ping/s3cret-id/start?rid=1', 'GET /ping/s3cret-id?rid=1']);
});

test('a run that ends incomplete pings /fail', async () => {
  const { asked, options } = await heartbeatServer();
  expect(
    await withHeartbeat(
      options,
      (result: string) => result === 'done',
      async () => 'incomplete',
    ),
  ).toBe('incomplete');
  expect(asked.at(-1)).toBe('GET /ping/s3cret-id/fail?rid=1');
});

test('a run that throws pings /fail and still throws', async () => {
  const { asked, options } = await heartbeatServer();
  const failing = withHeartbeat(options, yes, async () => {
    throw new Error('no space left');
  });
  await expect(failing).rejects.toThrow('no space left');
  expect(asked.at(-1)).toBe('GET /ping/s3cret-id/fail?rid=1');
});

test.each([
  [404, 'status 404'],
  ['silent', 'not finished within'],
] as const)('a heartbeat that is %s never fails the job, and its path is not logged', async (status, words) => {
  const { lines, options } = await heartbeatServer(status);
  expect(await withHeartbeat(options, yes, async () => 'done')).toBe('done');
  expect(lines).toHaveLength(2);
  expect(lines[0]).toContain(words);
  expect(lines.join()).not.toContain('s3cret-id');
});

test('the URL itself keeps the slash at its end', async () => {
  const { asked, options } = await heartbeatServer();
  const url = options.url.replace('?', '/?');
  await withHeartbeat({ ...options, url }, yes, async () => 'done');
  expect(asked).toEqual(['GET /ping/s3cret-id/start?rid=1', 'GET /ping/s3cret-id/?rid=1']);
});

test.each([
  ['pass%3Aw%C3%B6rd', 'pass:wörd'],
  ['100%sure', '100%sure'],
])('a user and a password of the URL are sent as a header: %s', async (written, password) => {
  const { logins, lines, options } = await heartbeatServer();
  const url = options.url.replace('//', `//user:${written}@`);
  await withHeartbeat({ ...options, url }, yes, async () => 'done');
  const sent = `Basic ${Buffer.from(`user:${password}`).toString('base64')}`;
  expect([logins, lines]).toEqual([[sent, sent], []]);
});

test('an unreachable heartbeat never fails the job', async () => {
  const { redactor, log, lines } = mailContext('2026-11-20T02:15:00Z');
  const options = { url: 'http://127.0.0.1:1/ping/s3cret-id', log, env: {}, redactor };
  expect(await withHeartbeat(options, yes, async () => 'done')).toBe('done');
  expect(lines[0]).toMatch(/^warning: heartbeat at 127\.0\.0\.1:1: /u);
  expect(lines.join()).not.toContain('s3cret-id');
});

test('without a heartbeat only the work runs', async () => {
  const { asked, options } = await heartbeatServer();
  expect(await withHeartbeat({ ...options, url: undefined }, yes, async () => 'done')).toBe('done');
  expect(asked).toEqual([]);
});

test('the proxy of the services is used', async () => {
  const tunnels: string[] = [];
  const proxy = createServer().listen(0, '127.0.0.1');
  proxy.on('connect', ({ url }, socket) => {
    tunnels.push(String(url));
    socket.end('HTTP/1.1 403 Forbidden\r\n\r\n');
  });
  await new Promise((resolve) => proxy.once('listening', resolve));
  onTestFinished(() => void proxy.close());
  const { options, asked } = await heartbeatServer();
  const env = { HTTP_PROXY: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}` };
  await withHeartbeat({ ...options, env }, yes, async () => 'done');
  expect([asked, new Set(tunnels)]).toEqual([[], new Set([new URL(options.url).host])]);
});
