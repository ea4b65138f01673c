import { describe, expect, it } from 'vitest';
import { randomServices } from '../helpers/random-services.ts';
import { expectWithinBounds } from '../helpers/rate-bounds.ts';
import { simulateRequests } from '../helpers/rate-simulation.ts';

/** Two of each kind of limit and headers; see `randomServices`. Another 170 are in test/long. */
const SERVICES = randomServices(34);

describe('34 services whose limits, headers, clocks, latencies and other clients are random', () => {
  const names = [...new Set(SERVICES.map(({ name }) => name))].sort();

  it.each(names)('%s', (name) => {
    for (const service of SERVICES.filter((one) => one.name === name)) expectWithinBounds(service);
  });
});

describe('a bucket that holds 5, refills 15 a second and says `limit 15, reset 1.0`', () => {
  const service = {
    limit: { kind: 'bucket', capacity: 5, perSecond: 15 },
    headers: 'constant',
    othersPerSecond: 0,
    skewMs: 0,
    seed: 1,
  } as const;

  it.each([5, 20, 60, 120])('is used within 1.2 times the floor at a latency of %d ms', (latencyMs) => {
    for (const share of [0.9, 1]) {
      const { seconds, throttled } = simulateRequests({ ...service, latencyMs }, { share }, 600);
      expect(seconds).toBeLessThanOrEqual((595 / 15) * 1.2);
      expect(throttled).toBeLessThan(6);
    }
  });
});

describe('a bucket whose refill is far above the pace of the client, so that it stays full', () => {
  const service = {
    limit: { kind: 'bucket', capacity: 100_000, perSecond: 100_000 },
    headers: 'constant',
    othersPerSecond: 0,
    skewMs: 0,
    seed: 1,
  } as const;

  it.each([4, 40])('is asked within 1.5 times the floor at a latency of %d ms', (latencyMs) => {
    const result = simulateRequests({ ...service, latencyMs }, { share: 0.9 }, 640);
    expect(result.seconds).toBeLessThanOrEqual(((640 * latencyMs) / 8 / 1000) * 1.5 + 0.1);
  });
});
