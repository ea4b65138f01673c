import { describe, expect, it } from 'vitest';
import {
  createAdaptiveRateLimiter,
  type RateLimiterOptions,
  type Ticket,
} from '../../src/http/adaptive-rate-limiter.ts';
import type { RateLimitInfo } from '../../src/http/rate-limit-headers.ts';

interface ServerOptions {
  readonly limit: number;
  readonly headers: boolean;
  /** `fixed` windows that begin with a request, `clock` windows on the second, or any second (`sliding`). */
  readonly windows: 'fixed' | 'clock' | 'sliding';
  /** Requests of others within each window. */
  readonly others?: number;
}

/** The rate limit of a service in simulated time. */
function createServer({ limit, headers, windows, others = 0 }: ServerOptions) {
  let startMs = Number.NEGATIVE_INFINITY;
  let used = 0;
  const recent: number[] = [];
  return (nowMs: number): { throttled: boolean; info: RateLimitInfo | undefined } => {
    if (windows === 'sliding') {
      while (recent.length > 0 && recent[0]! <= nowMs - 1000) recent.shift();
      recent.push(nowMs);
      used = recent.length + others;
      startMs = recent[0]!;
    } else {
      const begins = windows === 'clock' ? Math.floor(nowMs / 1000) * 1000 : nowMs;
      if (nowMs - startMs >= 1000) {
        startMs = begins;
        used = others;
      }
      used++;
    }
    const info = {
      limit,
      remaining: Math.max(0, limit - used),
      resetMs: Math.round(startMs + 1000 - nowMs),
    };
    return { throttled: used > limit, info: headers ? info : undefined };
  };
}

interface Result {
  readonly seconds: number;
  readonly sent: number;
  readonly throttled: number;
}

/** How long a request takes to the service, and its response back. */
type Latency = (ticket: number) => { readonly thereMs: number; readonly backMs: number };

const evenly = (latencyMs: number): Latency => {
  return () => ({ thereMs: latencyMs / 2, backMs: latencyMs / 2 });
};

/** Sends `count` requests through a limiter, eight at a time; throttled ones are sent again. */
function simulate(
  limiter: ReturnType<typeof createAdaptiveRateLimiter>,
  server: ServerOptions,
  count = 500,
  latency = evenly(20),
): Result {
  const answer = createServer(server);
  let nowMs = 100_000.5;
  const begin = nowMs;
  let waiting = count;
  let done = 0;
  let sent = 0;
  let throttled = 0;
  const flying: { atMs: number; ticket: Ticket; result: ReturnType<typeof answer> }[] = [];
  while (done < count) {
    const first = flying[0];
    const taken = waiting > 0 && flying.length < 8 ? limiter.tryAcquire(nowMs) : undefined;
    if (typeof taken === 'object') {
      waiting--;
      sent++;
      const { thereMs, backMs } = latency(taken.number);
      flying.push({ atMs: nowMs + thereMs + backMs, ticket: taken, result: answer(nowMs + thereMs) });
    } else {
      nowMs = Math.min(
        first?.atMs ?? Number.POSITIVE_INFINITY,
        taken === undefined ? Number.POSITIVE_INFINITY : nowMs + Math.max(1, taken),
      );
    }
    while (flying[0] && flying[0].atMs <= nowMs) {
      const { ticket, result } = flying.shift()!;
      limiter.onResponse(ticket, nowMs, result.info, result.throttled);
      if (result.throttled) {
        throttled++;
        waiting++;
        limiter.pauseUntil(nowMs + 375); // the mean of the first back-off
      } else done++;
    }
  }
  return { seconds: (nowMs - begin) / 1000, sent, throttled };
}

const platform: RateLimiterOptions = { share: 0.9, requestsPerSecond: undefined, startPerSecond: 27 };
const unknown: RateLimiterOptions = {
  share: 0.9,
  requestsPerSecond: undefined,
  startPerSecond: undefined,
};
const MINIMUM_SECONDS = 500 / 30;

describe('500 requests against a limit of 30 a second', () => {
  it.each(['fixed', 'clock'] as const)(
    'with headers and %s windows: at most 1.1 times the minimum, next to none throttled',
    (windows) => {
      const { seconds, throttled } = simulate(createAdaptiveRateLimiter(platform), {
        limit: 30,
        headers: true,
        windows,
      });
      expect(seconds).toBeLessThanOrEqual(MINIMUM_SECONDS * 1.1);
      expect(throttled).toBeLessThanOrEqual(5);
    },
  );

  it('with headers, a configured bound of the same rate, and a service that is not the platform', () => {
    const limiter = createAdaptiveRateLimiter({ ...unknown, requestsPerSecond: 30 });
    const { seconds, throttled } = simulate(limiter, { limit: 30, headers: true, windows: 'fixed' });
    expect(seconds).toBeLessThanOrEqual((500 / 27) * 1.05);
    expect(throttled).toBeLessThanOrEqual(5);
  });

  it.each(['fixed', 'clock', 'sliding'] as const)(
    'without headers and %s windows: at most 1.2 times the minimum, next to none throttled',
    (windows) => {
      const { seconds, throttled } = simulate(createAdaptiveRateLimiter(platform), {
        limit: 30,
        headers: false,
        windows,
      });
      expect(seconds).toBeLessThanOrEqual(MINIMUM_SECONDS * 1.2);
      expect(throttled).toBeLessThanOrEqual(5);
    },
  );

  it('without headers and nothing documented: the rate is measured from throttled responses', () => {
    const { seconds, throttled } = simulate(createAdaptiveRateLimiter(unknown), {
      limit: 30,
      headers: false,
      windows: 'fixed',
    });
    expect(seconds).toBeLessThanOrEqual(MINIMUM_SECONDS * 1.2);
    // Requests in progress when the limit is first reached, and an occasional probe.
    expect(throttled).toBeLessThanOrEqual(10);
  });

  it('throttling at the start that other clients caused does not slow the whole run', () => {
    const limiter = createAdaptiveRateLimiter(platform);
    for (let n = 1; n <= 4; n++)
      limiter.onResponse({ number: n, sentMs: 99_000 + n * 50 }, 99_000 + n * 50, undefined, n === 4);
    expect(simulate(limiter, { limit: 30, headers: false, windows: 'fixed' }).seconds).toBeLessThanOrEqual(
      MINIMUM_SECONDS * 1.5,
    );
  });

  it('a documented rate is where a service without headers is asked first: one that accepts more is asked more', () => {
    const server = { limit: Number.POSITIVE_INFINITY, headers: false, windows: 'fixed' } as const;
    const run = (count: number) => simulate(createAdaptiveRateLimiter(platform), server, count);
    const { seconds, throttled } = run(6000);
    expect(throttled).toBe(0);
    // Five seconds until the rate no longer matters. Then 8 requests of 20 ms at a time are the limit.
    expect(seconds).toBeLessThan(5 + 6000 / 400);
    expect(run(20_000).seconds - seconds).toBeLessThan((14_000 / 400) * 1.02);
  });

  it.each([60, 100, 400])('a service without headers that accepts %d a second throttles less than 1 %%', (limit) => {
    const server = { limit, headers: false, windows: 'fixed' } as const;
    const { seconds, throttled } = simulate(createAdaptiveRateLimiter(platform), server, limit * 20);
    expect(throttled).toBeLessThan((limit * 20) / 100);
    expect(seconds).toBeLessThanOrEqual((20 + 4) * 1.2);
  });

  it('a configured rate is reached at once, and never exceeded', () => {
    const limiter = createAdaptiveRateLimiter({ share: 0.9, requestsPerSecond: 100, startPerSecond: 100 });
    const server = { limit: Number.POSITIVE_INFINITY, headers: false, windows: 'fixed' } as const;
    const { seconds } = simulate(limiter, server, 2000);
    expect(2000 / seconds).toBeGreaterThan(98);
    expect(2000 / seconds).toBeLessThan(101);
  });

  it.each([1, 20, 200])('with headers and a latency of %d ms', (latencyMs) => {
    const { seconds, throttled } = simulate(
      createAdaptiveRateLimiter(platform),
      { limit: 30, headers: true, windows: 'fixed' },
      500,
      evenly(latencyMs),
    );
    expect(seconds).toBeLessThanOrEqual((500 / 27) * 1.05);
    expect(throttled).toBeLessThanOrEqual(5);
  });

  it.each<readonly [string, Latency]>([
    ['the first requests open connections', (ticket) => ({ thereMs: ticket <= 8 ? 140 : 1, backMs: 1 })],
    [
      'a first request of a window is faster than all before',
      (ticket) => ({ thereMs: ticket === 31 ? 1 : 10, backMs: 10 }),
    ],
  ])('with headers, when %s: the windows are still seen as such', (_, latency) => {
    const limiter = createAdaptiveRateLimiter({ ...platform, share: 1, startPerSecond: 30 });
    const { seconds, throttled } = simulate(limiter, { limit: 30, headers: true, windows: 'fixed' }, 500, latency);
    expect(seconds).toBeLessThanOrEqual(MINIMUM_SECONDS * 1.05);
    expect(throttled).toBeLessThanOrEqual(1);
  });

  it('leaves other clients their part of the limit', () => {
    const { throttled } = simulate(
      createAdaptiveRateLimiter(platform),
      { limit: 30, headers: true, windows: 'clock', others: 12 },
      100,
    );
    expect(throttled).toBeLessThanOrEqual(2);
  });

  it('sliding windows with headers', () => {
    const { seconds, throttled } = simulate(createAdaptiveRateLimiter(platform), {
      limit: 30,
      headers: true,
      windows: 'sliding',
    });
    expect(seconds).toBeLessThanOrEqual(MINIMUM_SECONDS * 1.3);
    expect(throttled).toBeLessThanOrEqual(5);
  });
});
