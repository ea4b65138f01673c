import { expect, onTestFinished, test } from 'vitest';
import { expectNights } from '../../helpers/expect-nights.ts';

test.each([1, 2])('random nights are told as a plain map knows them, seed %d', async (seed) => {
  expect(await expectNights(14, seed, onTestFinished)).toBeGreaterThan(0);
});
