import { once } from 'node:events';
import { connect } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setImmediate } from 'node:timers/promises';
import { expect, onTestFinished, test, vi } from 'vitest';
import { startServer } from '../../src/ask/serve/server.ts';
import { loadConfig } from '../../src/config/config.ts';
import { systemClock } from '../../src/core/clock.ts';
import { Redactor } from '../../src/core/redact/redactor.ts';
import { testProject } from '../helpers/test-project.ts';

/** A server in this process, with what it logs as an error. */
async function serve() {
  const place = await testProject({ workspaces: 5 });
  await place.pull(['--source', 'ca_roots']);
  const config = loadConfig(join(place.folder, 'tidemark.yaml'), {}, new Redactor());
  const errors: string[] = [];
  const log = { info: () => {}, warn: () => {}, error: (line: string) => void errors.push(line) };
  const listening = {
    config,
    address: '127.0.0.1',
    port: 0,
    workers: 1,
    hosts: [],
    token: undefined,
    playbooks: async () => [],
  };
  return { server: await startServer(listening, { env: process.env, log, clock: systemClock }), errors };
}

test('a query that does not end within the time for it is broken off when the server ends', async () => {
  const { server, errors } = await serve();
  const ask = (path: string) => fetch(new URL(path, server.url));
  const slow = ask(`/query.csv?${new URLSearchParams({ sql: 'select sleep_ms(600000) as n' })}`);
  await expect.poll(async () => ((await (await ask('/state.json')).json()) as { running: number }).running).toBe(1);
  await server.close();
  const { status, body } = await slow.then(async (answer) => ({ status: answer.status, body: await answer.text() }));
  expect([status, body]).toEqual([503, 'the server ends\n']);
  await expect(ask('/')).rejects.toThrow('fetch failed');
  expect(errors).toEqual([]);
});

test('a request that has come while the server was busy is answered, and not taken for none', async () => {
  const { server } = await serve();
  onTestFinished(() => server.close());
  const { hostname, port, host } = new URL(server.url);
  vi.useFakeTimers({ toFake: ['setTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const sockets = Array.from({ length: 40 }, () => connect(Number(port), hostname));
  const answers = sockets.map((socket) => text(socket));
  await Promise.all(sockets.map((socket) => once(socket, 'connect')));
  for (let turn = 0; turn < 100; turn++) await setImmediate(); // a turn of the loop accepts one of them
  for (const socket of sockets) socket.write(`GET /state.json HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
  vi.advanceTimersByTime(1_000); // as timers run that came due meanwhile: before anything is read
  vi.useRealTimers();
  const statuses = (await Promise.all(answers)).map((answer) => answer.split('\r\n', 1)[0]);
  expect(new Set(statuses)).toEqual(new Set(['HTTP/1.1 200 OK']));
});
