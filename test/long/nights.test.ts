import { expect, onTestFinished, test } from 'vitest';
import { expectNights } from '../helpers/expect-nights.ts';

const SEEDS = Array.from({ length: 10 }, (_, index) => index + 1);

test.each(SEEDS)('hundreds of random nights are told as a plain map knows them, seed %d', async (seed) => {
  expect(await expectNights(60, seed, onTestFinished)).toBeGreaterThan(0);
});
