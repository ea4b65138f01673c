import { describe, expect, it } from 'vitest';
import { operations, secrets } from '../../src/services/index.ts';
import type { Operation } from '../../src/services/operation.ts';
import { createTarget, createTestClient, startServer } from '../helpers/http-service.ts';
import { ALL, outcome } from './call-outcome.ts';

describe('what is repeated', () => {
  const writes = [...operations.values()].filter(({ mutates }) => mutates);

  it.each(writes.map((operation) => [operation.name, operation] as const))(
    '%s after 429 only where it may be, after another error or a broken connection never',
    async (_, operation) => {
      const expected = operation.retryPolicy === 'if-unprocessed' ? 2 : 1;
      const throttled = await outcome(
        operation.kind,
        operation,
        (_request, response) => response.writeHead(429).end(),
        2,
      );
      expect([operation.name, throttled.requests]).toEqual([operation.name, expected]);
      for (const status of [407, 408, 421, 425, 500, 502, 503]) {
        const failing = await outcome(operation.kind, operation, (_request, response) =>
          response.writeHead(status).end(),
        );
        expect(failing.requests).toBe(1);
      }
      const broken = await outcome(operation.kind, operation, (request) => request.socket.destroy());
      expect(broken.requests).toBe(1);
      expect(broken.error).toMatchObject({ failure: 'unreachable', code: 'UNREACHABLE', exit: 3 });
    },
  );

  it('every read after a broken connection', async () => {
    for (const operation of [...operations.values()].filter(({ retryPolicy }) => retryPolicy === 'safe')) {
      const { requests, error } = await outcome(operation.kind, operation, (request) => request.socket.destroy());
      expect([operation.name, requests]).toEqual([operation.name, ALL]);
      expect(error).toMatchObject({ failure: 'unreachable' });
    }
  });

  it('a refused connection: reads and idempotent writes, but not a rotation', async () => {
    const gone = await startServer(() => {});
    await gone.close();
    for (const [operation, retries] of [
      [secrets.keys.list, 3],
      [secrets.keys.delete, 3],
      [secrets.keys.rotate, 0],
    ] as const) {
      const { client, metrics } = createTestClient(createTarget('secrets', gone.origin));
      const args = operation === secrets.keys.list ? {} : { name: 'k' };
      await expect(client.call<Operation>(operation, args, { metrics })).rejects.toMatchObject({
        failure: 'unreachable',
        serviceMessage: 'connection refused (ECONNREFUSED)',
        status: undefined,
      });
      expect(metrics.retries).toBe(retries);
    }
  });

  it('a write to a host without an address, which it did not reach', async () => {
    const { client, metrics } = createTestClient(createTarget('secrets', 'http://nowhere.invalid'));
    await expect(client.call(secrets.keys.delete, { name: 'k' }, { metrics })).rejects.toMatchObject({
      failure: 'unreachable',
      details: { notProcessed: true },
    });
    expect(metrics.retries).toBe(3);
  });

  it('a second attempt that succeeds is a success', async () => {
    const { error, requests, metrics, lines } = await outcome(
      'secrets',
      secrets.keys.read,
      (_request, response, count) => {
        if (count === 1) response.writeHead(503).end();
        else response.end('{"data":{"versions":{}}}');
      },
    );
    expect([error, requests, metrics.retries]).toEqual([undefined, 2, 1]);
    expect(lines).toEqual([expect.stringMatching(/^secrets: secrets\.keys\.read waits 0\.0 s: 503 sealed/u)]);
    expect(metrics.throttleWaitMs).toBeGreaterThan(0);
  });
});
