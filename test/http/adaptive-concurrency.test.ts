import type { ServerResponse } from 'node:http';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createAdaptiveConcurrency } from '../../src/http/adaptive-concurrency.ts';
import { createLimiter } from '../../src/http/rate-limiter.ts';
import { scheduler } from '../../src/services/index.ts';
import { createTarget, createTestClient, startServer } from '../helpers/http-service.ts';

interface Server {
  readonly latencyMs: number;
  /** At a time and with so many requests in progress. */
  readonly isFailing: (nowMs: number, inFlight: number) => boolean;
}

interface Course {
  readonly seconds: number;
  /** Responses that were no error. */
  readonly answered: number;
  readonly failed: number;
  /** The number of requests in progress, at each second. */
  readonly limits: readonly number[];
}

/** Keeps a service busy for some virtual seconds. */
function simulate(
  concurrency: ReturnType<typeof createAdaptiveConcurrency>,
  { latencyMs, isFailing }: Server,
  seconds: number,
): Course {
  const flying: { atMs: number; number: number; fails: boolean }[] = [];
  const limits: number[] = [];
  let nowMs = 0;
  let answered = 0;
  let failed = 0;
  while (nowMs < seconds * 1000) {
    while (flying.length < concurrency.limit()) {
      const inFlight = flying.length + 1;
      const atMs = nowMs + latencyMs;
      const place = flying.findLastIndex((flight) => flight.atMs <= atMs) + 1;
      flying.splice(place, 0, { atMs, number: concurrency.onSent(), fails: isFailing(nowMs, inFlight) });
    }
    const { atMs, number, fails } = flying.shift()!;
    nowMs = atMs;
    limits[Math.floor(nowMs / 1000)] ??= concurrency.limit();
    if (fails) {
      failed++;
      concurrency.onOverload(number);
    } else {
      answered++;
      concurrency.onSuccess();
    }
  }
  return { seconds, answered, failed, limits };
}

describe('the number of requests in progress', () => {
  it('is what a service bears that fails above it, and little fails', () => {
    const server: Server = { latencyMs: 20, isFailing: (_, inFlight) => inFlight > 10 };
    const { answered, failed, limits } = simulate(createAdaptiveConcurrency(64), server, 60);
    const course = limits.slice(2);
    expect(Math.max(...course)).toBeLessThanOrEqual(16);
    expect(answered).toBeGreaterThan(((60_000 / 20) * 10) / 2);
    expect(failed / answered).toBeLessThan(0.05);
  });

  it('is one request at a time of a service that is down, and all again soon after', () => {
    const isDown = (nowMs: number) => nowMs > 10_000 && nowMs < 20_000;
    const { limits } = simulate(createAdaptiveConcurrency(8), { latencyMs: 20, isFailing: isDown }, 30);
    expect(limits[15]).toBe(1);
    expect(limits[22]).toBe(8);
  });
});

it('a client sends half as many requests at a time after a server answered all of them with 503', async () => {
  const waiting: ServerResponse[] = [];
  const inProgress: number[] = [];
  const server = await startServer((_request, response, count) => {
    waiting.push(response);
    if (count > 8) inProgress.push(waiting.length);
    if (count < 8) return;
    if (count === 8) return void waiting.splice(0).map((one) => one.writeHead(503).end('overloaded'));
    setTimeout(() => waiting.splice(0, 1).map((one) => one.end('[]')), 5);
  });
  onTestFinished(() => server.close());
  const limiter = createLimiter({ share: 1, requestsPerSecond: 5000, startPerSecond: 5000 });
  const { client } = createTestClient(createTarget('scheduler', server.origin), { limiter });
  const calls = Array.from({ length: 40 }, () => client.call(scheduler.policies.list));
  expect((await Promise.all(calls)).map(({ status }) => status)).toEqual(Array(40).fill(200));
  expect(Math.max(...inProgress.slice(0, 8))).toBeLessThanOrEqual(5);
});
