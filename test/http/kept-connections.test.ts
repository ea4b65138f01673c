import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { expect, it } from 'vitest';
import { secrets } from '../../src/services/index.ts';
import { createTarget, createTestClient } from '../helpers/http-service.ts';
import { serve } from './call-outcome.ts';

const CONNECTIONS = 8;

/** A server that answers the first request of each connection, and `again` every later one. */
async function withKeptConnections(
  again: (request: IncomingMessage, response: ServerResponse) => void,
  headersMs?: number,
) {
  const waiting: ServerResponse[] = [];
  const seen = new Map<Socket, number>();
  const server = await serve((request, response) => {
    const before = seen.get(request.socket) ?? 0;
    seen.set(request.socket, before + 1);
    if (before > 0) return again(request, response);
    // All first requests are answered together, so that each has a connection of its own.
    if (waiting.length < CONNECTIONS && waiting.push(response) < CONNECTIONS) return;
    if (waiting.includes(response)) for (const one of waiting) one.end('{"data":{"keys":[]}}');
    else response.end('{"data":{"keys":[]}}');
  });
  const timeouts = headersMs === undefined ? {} : { headersMs };
  const test = createTestClient(createTarget('secrets', server.origin), { timeouts });
  const read = () => test.client.call(secrets.keys.list, {}, { metrics: test.metrics });
  await Promise.all(Array.from({ length: CONNECTIONS }, read));
  return { ...test, server, seen, read };
}

it.each<[string, Parameters<typeof withKeptConnections>[0]]>([
  ['closes', (request) => request.socket.destroy()],
  [
    'breaks off',
    (request, response) => {
      response.writeHead(200, { 'content-length': '1000' });
      response.write('{', () => request.socket.destroy());
    },
  ],
])('reads of a server that %s every second request of a connection are sent again over a new one', async (_, again) => {
  const { client, read, metrics } = await withKeptConnections(again);
  const reads = 100;
  await Promise.all(Array.from({ length: reads }, read));
  expect(metrics.retries).toBeLessThanOrEqual(reads);
  await client.close();
});

it('a read that has no answer over a kept connection is sent again over a new one', async () => {
  const { client, read, metrics, server } = await withKeptConnections(() => {}, 2000);
  const [retries, requests] = [metrics.retries, server.requests.length]; // on a busy machine, more than one for each connection
  await read();
  expect([metrics.retries - retries, server.requests.length - requests]).toEqual([1, 2]);
  await client.close();
});

it('a change is sent over a connection of its own, which is not kept', async () => {
  const { client, metrics, seen, server } = await withKeptConnections((request) => request.socket.destroy());
  const { status } = await client.call(secrets.keys.rotate, { name: 'k' }, { metrics });
  expect([status, metrics.retries, server.requests.length]).toEqual([200, 0, CONNECTIONS + 1]);
  expect([...seen.values()]).toEqual(Array.from({ length: CONNECTIONS + 1 }, () => 1));
  expect(server.requests.at(-1)?.headers.connection).toBe('close');
  await client.close();
});
