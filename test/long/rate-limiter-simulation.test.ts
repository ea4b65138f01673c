import { describe, it } from 'vitest';
import { randomServices } from '../helpers/random-services.ts';
import { expectWithinBounds } from '../helpers/rate-bounds.ts';

/** Twelve of each kind of limit and headers, of which the unit tests have two. */
const SERVICES = randomServices(204);

describe('204 services whose limits, headers, clocks, latencies and other clients are random', () => {
  const names = [...new Set(SERVICES.map(({ name }) => name))].sort();

  it.each(names)('%s', (name) => {
    for (const service of SERVICES.filter((one) => one.name === name)) expectWithinBounds(service);
  });
});
