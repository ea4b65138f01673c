import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { createLimiter } from '../../src/http/rate-limiter.ts';
import { platform, secrets } from '../../src/services/index.ts';
import { createTarget, createTestClient, type startServer } from '../helpers/http-service.ts';
import { serve } from './call-outcome.ts';

describe('pauses that a service asks for', () => {
  const limited =
    (headers: Record<string, string>, status = 429) =>
    (_request: unknown, response: Parameters<Parameters<typeof startServer>[0]>[1], count: number) => {
      if (count === 1) response.writeHead(status, headers).end();
      else response.end('{"data":[]}');
    };

  it.each([
    ['Retry-After', { 'retry-after': '0.08' }, 429, 80],
    ['X-RateLimit-Reset', { 'x-ratelimit-reset': '0.08' }, 429, 80],
    ['Retry-After with 503', { 'retry-after': '0.08' }, 503, 80],
    ['Retry-After: 0, which does not spin', { 'retry-after': '0' }, 503, 20],
  ])('%s is waited for', async (_, headers, status, leastMs) => {
    const server = await serve(limited(headers, status));
    const { client, metrics } = createTestClient(createTarget('platform', server.origin), {
      timeouts: { backoffMs: 40, maxBackoffMs: 40 },
    });
    await client.call(platform.views.list, {}, { metrics });
    const [first, second] = server.requests;
    expect(second!.atMs - first!.atMs).toBeGreaterThanOrEqual(leastMs - 1);
    expect(metrics.throttleWaitMs).toBeGreaterThanOrEqual(leastMs - 1);
  });

  it('beyond maxWait fail at once and name the wait', async () => {
    const server = await serve((_request, response) => response.writeHead(429, { 'retry-after': '3600' }).end());
    const { client } = createTestClient(createTarget('platform', server.origin), { maxWaitMs: 5000 });
    const failing = client.call(platform.views.list);
    await expect(failing).rejects.toMatchObject({
      failure: 'too-long-wait',
      status: 429,
      serviceMessage: 'asked to wait 3600 s',
      hint: expect.stringContaining('maxWait'),
    });
    // All requests that share the limiter are paused: they fail too, without being sent.
    await expect(client.call(platform.agents.show, { id: 'a' })).rejects.toMatchObject({
      failure: 'too-long-wait',
      serviceMessage: expect.stringMatching(/asked to wait (?:3600|3599) s/u),
    });
    expect(server.requests).toHaveLength(1);
  });

  it('of a write that is never repeated pause the other requests as well', async () => {
    const server = await serve((_request, response) => response.writeHead(429, { 'retry-after': '3600' }).end());
    const { client } = createTestClient(createTarget('secrets', server.origin), { maxWaitMs: 5000 });
    const rotation = client.call(secrets.keys.rotate, { name: 'k' });
    await expect(rotation).rejects.toMatchObject({ failure: 'rate-limited' });
    await expect(client.call(secrets.keys.list)).rejects.toMatchObject({ failure: 'too-long-wait' });
    expect(server.requests).toHaveLength(1);
  });

  it('with 503 leave it open whether a write was done, however long they are', async () => {
    const server = await serve((_request, response) => response.writeHead(503, { 'retry-after': '3600' }).end());
    const { client } = createTestClient(createTarget('platform', server.origin), { maxWaitMs: 5000 });
    await expect(client.call(platform.agents.delete, { id: 'a' })).rejects.toMatchObject({
      failure: 'server',
      status: 503,
    });
  });

  it('end as soon as a response advertises remaining requests, however long the window', async () => {
    const advertise = (remaining: number, reset: string) => ({
      'x-ratelimit-limit': '4',
      'x-ratelimit-remaining': String(remaining),
      'x-ratelimit-reset': reset,
    });
    const server = await serve((_request, response, count) => {
      if (count === 2) response.writeHead(429, advertise(0, '0.01')).end();
      else
        setTimeout(() => response.writeHead(200, advertise(3, count === 1 ? '3600' : '0.01')).end('{"data":[]}'), 30);
    });
    const { client, metrics } = createTestClient(createTarget('platform', server.origin), { maxWaitMs: 5000 });
    const ask = () => client.call(platform.views.list, {}, { metrics });
    await ask();
    await ask(); // from here on one request goes ahead of the first response of a window
    await sleep(30);
    await Promise.all([ask(), ask(), ask()]);
    expect(server.requests).toHaveLength(6);
    expect(metrics).toMatchObject({ throttled: 1 });
    expect(metrics.throttleWaitMs).toBeLessThan(3_600_000);
  });

  it.each([429, 503])('with %i pause every request of the credential, also of another target', async (status) => {
    const server = await serve((request, response) => {
      if (request.url?.includes('/views')) response.writeHead(status, { 'retry-after': '0.1' }).end();
      else response.end('{"data":[]}');
    });
    const limiter = createLimiter({ share: 1 });
    const one = createTestClient(createTarget('platform', server.origin), { limiter, timeouts: { attempts: 1 } });
    const other = createTestClient(createTarget('platform', server.origin), { limiter });
    await expect(one.client.call(platform.views.list)).rejects.toMatchObject({ status });
    await other.client.call(platform['agent-pools'].list, {}, { metrics: other.metrics });
    const [first, second] = server.requests;
    expect(second!.atMs - first!.atMs).toBeGreaterThanOrEqual(99);
  });
});
