import { expect, test } from 'vitest';
import { spread } from '../../helpers/spread.ts';
import { LIED_TO, type PlaybookCase } from './playbooks.ts';
import { expectNoLieMatters, LIES, type LieCase } from './tell-lies.ts';

/** The outcome of this one depends on whether the action may be repeated: both kinds of actions meet it. */
const LAG = 'done after the lag';
const ITEMS: readonly { readonly lie: LieCase; readonly isRepeatable?: boolean }[] = LIES.flatMap((lie) =>
  lie.name === LAG ? [true, false].map((isRepeatable) => ({ lie, isRepeatable })) : [{ lie }],
);

/** Every lie with some playbooks; test/long has all combinations. */
const ROUNDS = spread(
  ITEMS,
  LIED_TO,
  ({ isRepeatable }, to) => isRepeatable === undefined || isRepeatable === isRepeatableIn(to),
);
const CASES = LIED_TO.map((to) => ({ ...to, to, lies: [...new Set(ROUNDS.map((round) => round.get(to)!.lie))] }));

function isRepeatableIn({ isRepeatable = true }: PlaybookCase): boolean {
  return isRepeatable;
}

// Concurrently, since most of the time is waits.
test.concurrent.for(CASES)('$playbook: no lie doubles, loses or misattributes an action', (each, context) =>
  expectNoLieMatters(each.to, each.lies, context.onTestFinished),
);

test('every lie is among them', () => {
  expect(new Set(CASES.flatMap(({ lies }) => lies))).toEqual(new Set(LIES));
});
