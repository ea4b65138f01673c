import { describe, expect, it } from 'vitest';
import { type RandomService, randomServices } from '../helpers/random-services.ts';
import { floorSeconds, simulateRequests } from '../helpers/rate-simulation.ts';

/** Twelve of each kind of limit and headers; see `randomServices`. */
const SERVICES = randomServices(204);
/** Other clients come at random, so that a fair part of the limit is not always left for us. */
const OTHERS_FACTOR = 1.15;
const MAX_ATTEMPTS = 5;

function measure({ service, share, count }: RandomService) {
  const result = simulateRequests(service, { share }, count);
  return {
    floors: result.seconds / floorSeconds(service, share, count),
    throttledPercent: (100 * result.throttled) / count,
    attempts: result.attempts,
  };
}

describe('204 services whose limits, headers, clocks, latencies and other clients are random', () => {
  const names = [...new Set(SERVICES.map(({ name }) => name))].sort();

  it.each(names)('%s', (name) => {
    const services = SERVICES.filter((service) => service.name === name);
    const hasOthers = name.endsWith('others');
    // Other clients and headers that lie cannot be foreseen; a sliding window gives back in bursts.
    const isHard = hasOthers || /generous|frozen|random|sliding/u.test(name);
    for (const service of services) {
      const { floors, throttledPercent, attempts } = measure(service);
      const what = JSON.stringify(service);
      expect(floors, what).toBeLessThanOrEqual(service.bound * (hasOthers ? OTHERS_FACTOR : 1));
      expect(throttledPercent, what).toBeLessThan(isHard ? 2.5 : 1);
      expect(attempts, what).toBeLessThan(MAX_ATTEMPTS);
    }
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
