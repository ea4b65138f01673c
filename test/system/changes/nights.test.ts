import { onTestFinished, test } from 'vitest';
import { expectNights } from '../../helpers/expect-nights.ts';

test.each([1, 2])('random nights are told as a plain map knows them, seed %d', (seed) =>
  expectNights(14, seed, onTestFinished),
);
