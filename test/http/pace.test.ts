import { describe, expect, it } from 'vitest';
import { createPace, type Pace, type PaceOptions } from '../../src/http/pace.ts';
import type { RateTold } from '../../src/http/retry-after.ts';

interface ServerOptions {
  readonly limit: number;
  readonly headers: boolean;
  /** `fixed` windows that begin with a request, `clock` windows on the second, or any second (`sliding`). */
  readonly windows: 'fixed' | 'clock' | 'sliding';
  /** Requests of others within each window. */
  readonly others?: number;
}

/** A service's limiter in simulated time. */
function createServer({ limit, headers, windows, others = 0 }: ServerOptions) {
  let startMs = Number.NEGATIVE_INFINITY;
  let used = 0;
  const recent: number[] = [];
  return (nowMs: number): { turnedAway: boolean; told: RateTold | undefined } => {
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
    const told = { limit, remaining: Math.max(0, limit - used), resetMs: Math.round(startMs + 1000 - nowMs) };
    return { turnedAway: used > limit, told: headers ? told : undefined };
  };
}

interface Result {
  readonly seconds: number;
  readonly sent: number;
  readonly turnedAway: number;
}

/** `count` requests through a pace, eight at once, each answered after `latencyMs`; what is turned away goes again. */
function simulate(pace: Pace, server: ServerOptions, count = 500, latencyMs = 20): Result {
  const answer = createServer(server);
  let nowMs = 100_000.5;
  const begin = nowMs;
  let waiting = count;
  let done = 0;
  let sent = 0;
  let turnedAway = 0;
  const flying: { atMs: number; place: number; result: ReturnType<typeof answer> }[] = [];
  while (done < count) {
    const first = flying[0];
    const taken = waiting > 0 && flying.length < 8 ? pace.take(nowMs) : undefined;
    if (taken?.waitMs === 0) {
      waiting--;
      sent++;
      flying.push({ atMs: nowMs + latencyMs, place: taken.place, result: answer(nowMs + latencyMs / 2) });
    } else {
      nowMs = Math.min(
        first?.atMs ?? Number.POSITIVE_INFINITY,
        taken ? nowMs + Math.max(1, taken.waitMs) : Number.POSITIVE_INFINITY,
      );
    }
    while (flying[0] && flying[0].atMs <= nowMs) {
      const { place, result } = flying.shift()!;
      pace.answered(place, nowMs, result.told, result.turnedAway);
      if (result.turnedAway) {
        turnedAway++;
        waiting++;
        pace.hold(nowMs + 375); // the mean of the first back-off
      } else done++;
    }
  }
  return { seconds: (nowMs - begin) / 1000, sent, turnedAway };
}

const platform: PaceOptions = { share: 0.9, requestsPerSecond: undefined, startPerSecond: 27 };
const unknown: PaceOptions = { share: 0.9, requestsPerSecond: undefined, startPerSecond: Number.POSITIVE_INFINITY };
const MINIMUM_SECONDS = 500 / 30;

describe('500 requests against a limit of 30 a second', () => {
  it.each(['fixed', 'clock'] as const)(
    'with headers and %s windows: at most 1.1 times the minimum, next to none turned away',
    (windows) => {
      const { seconds, turnedAway } = simulate(createPace(platform), { limit: 30, headers: true, windows });
      expect(seconds).toBeLessThanOrEqual(MINIMUM_SECONDS * 1.1);
      expect(turnedAway).toBeLessThanOrEqual(5);
    },
  );

  it('with headers, a configured bound of the same rate, and a service that is not the platform', () => {
    const pace = createPace({ ...unknown, requestsPerSecond: 30 });
    const { seconds, turnedAway } = simulate(pace, { limit: 30, headers: true, windows: 'fixed' });
    expect(seconds).toBeLessThanOrEqual(MINIMUM_SECONDS * 1.1);
    expect(turnedAway).toBeLessThanOrEqual(5);
  });

  it.each(['fixed', 'clock', 'sliding'] as const)(
    'without headers and %s windows: at most 1.2 times the minimum, next to none turned away',
    (windows) => {
      const { seconds, turnedAway } = simulate(createPace(platform), { limit: 30, headers: false, windows });
      expect(seconds).toBeLessThanOrEqual(MINIMUM_SECONDS * 1.2);
      expect(turnedAway).toBeLessThanOrEqual(5);
    },
  );

  it('without headers and nothing documented: the rate is measured from what is turned away', () => {
    const { seconds, turnedAway } = simulate(createPace(unknown), { limit: 30, headers: false, windows: 'fixed' });
    expect(seconds).toBeLessThanOrEqual(MINIMUM_SECONDS * 1.2);
    // What is under way when the limit is first met, and a probe now and then.
    expect(turnedAway).toBeLessThanOrEqual(10);
  });

  it('one that was turned away early, by others’ fault, does not slow the whole night', () => {
    const pace = createPace(platform);
    for (let n = 0; n < 4; n++) pace.answered(pace.take(99_000 + n * 50).place, 99_000 + n * 50, undefined, n === 3);
    expect(simulate(pace, { limit: 30, headers: false, windows: 'fixed' }).seconds).toBeLessThanOrEqual(
      MINIMUM_SECONDS * 1.5,
    );
  });

  it.each([1, 20, 200])('with headers and answers that take %d ms', (latencyMs) => {
    const { seconds, turnedAway } = simulate(
      createPace(platform),
      { limit: 30, headers: true, windows: 'fixed' },
      500,
      latencyMs,
    );
    expect(seconds).toBeLessThanOrEqual(MINIMUM_SECONDS * 1.12);
    expect(turnedAway).toBeLessThanOrEqual(5);
  });

  it('leaves to others what they use of the limit', () => {
    const { turnedAway } = simulate(
      createPace(platform),
      { limit: 30, headers: true, windows: 'clock', others: 12 },
      100,
    );
    expect(turnedAway).toBeLessThanOrEqual(2);
  });

  it('sliding windows with headers', () => {
    const { seconds, turnedAway } = simulate(createPace(platform), { limit: 30, headers: true, windows: 'sliding' });
    expect(seconds).toBeLessThanOrEqual(MINIMUM_SECONDS * 1.2);
    expect(turnedAway).toBeLessThanOrEqual(5);
  });
});
