import { expect } from 'vitest';
import type { RandomService } from './random-services.ts';
import { floorSeconds, simulateRequests } from './rate-simulation.ts';

/** Other clients come at random, so that a fair part of the limit is not always left for us. */
const OTHERS_FACTOR = 1.15;
const MAX_ATTEMPTS = 5;

/** Sends the requests to the simulated service, and expects few rejections and a time near the floor that the limit implies. */
export function expectWithinBounds({ name, service, share, count, bound }: RandomService): void {
  const { seconds, throttled, attempts } = simulateRequests(service, { share }, count);
  const hasOthers = name.endsWith('others');
  // Other clients and headers that lie cannot be foreseen; a sliding window gives back in bursts. A bucket that tells when it is full
  // looks like a window until it throttles.
  const isHard = hasOthers || /generous|frozen|random|sliding|until-full/u.test(name);
  const what = JSON.stringify(service);
  const floors = seconds / floorSeconds(service, share, count);
  expect(floors, what).toBeLessThanOrEqual(bound * (hasOthers ? OTHERS_FACTOR : 1));
  expect((100 * throttled) / count, what).toBeLessThan(isHard ? 2.5 : 1);
  expect(attempts, what).toBeLessThan(MAX_ATTEMPTS);
}
