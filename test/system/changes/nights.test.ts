import { expect, onTestFinished, test } from 'vitest';
import { expectNights } from '../../helpers/expect-nights.ts';

// test/long has more nights, of ten seeds.
test('random nights are told as a plain map knows them', async () => {
  expect(await expectNights(8, 1, onTestFinished)).toBeGreaterThan(0);
});
