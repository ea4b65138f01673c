import { expect, test } from 'vitest';
import { builtInPlaybooks } from '../../../src/act/playbooks/index.ts';
import { spread } from '../../helpers/spread.ts';
import { BLINDNESSES, expectPending, isBlind } from './blind-guards.ts';
import { BLINDED, LIED_TO } from './playbooks.ts';

/** Every blindness with some playbooks; test/long has all combinations. */
const CASES = spread(BLINDNESSES, BLINDED, isBlind).flatMap((round) =>
  [...round].map(([guarded, blindness]) => ({ ...guarded, guarded, blindness })),
);

// Concurrently, since most of the time is waits.
test.concurrent.for(CASES)(
  '$playbook: what a blind guard does not find stays pending, and is applied after the fault: $blindness.name',
  ({ guarded, blindness }, { onTestFinished }) => expectPending(guarded, [blindness], onTestFinished),
);

test('every playbook is among those that are blinded or lied to', () => {
  const names = [...BLINDED, ...LIED_TO].map(({ playbook }) => playbook);
  expect(new Set(names)).toEqual(new Set(builtInPlaybooks.map(({ name }) => name)));
});
