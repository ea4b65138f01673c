import { expect, test } from 'vitest';
import { builtInPlaybooks } from '../../../src/act/playbooks/index.ts';
import { spread } from '../../helpers/spread.ts';
import { PLAYBOOKS, type PlaybookCase } from './playbooks.ts';
import { expectNoLieMatters, LIES, type LieCase } from './tell-lies.ts';

/** The outcome of this one depends on whether the action may be repeated: both kinds of actions meet it. */
const LAG = 'done after the lag';
const ITEMS: readonly { readonly lie: LieCase; readonly isRepeatable?: boolean }[] = LIES.flatMap((lie) =>
  lie.name === LAG ? [true, false].map((isRepeatable) => ({ lie, isRepeatable })) : [{ lie }],
);

/** Every lie with some playbooks, and every playbook with a lie; test/long has all combinations. */
const ROUNDS = spread(
  ITEMS,
  PLAYBOOKS,
  ({ isRepeatable }, to) => isRepeatable === undefined || isRepeatable === isRepeatableIn(to),
);
const CASES = PLAYBOOKS.map((to) => ({ ...to, to, lies: [...new Set(ROUNDS.map((round) => round.get(to)!.lie))] }));

function isRepeatableIn({ isRepeatable = true }: PlaybookCase): boolean {
  return isRepeatable;
}

// Concurrently, since most of the time is waits.
test.concurrent.for(CASES)('$playbook: no lie doubles, loses or misattributes an action', (each, context) =>
  expectNoLieMatters(each.to, each.lies, context.onTestFinished),
);

test('every playbook is among them, and every lie', () => {
  const names = CASES.map(({ playbook }) => playbook);
  expect(new Set(names)).toEqual(new Set(builtInPlaybooks.map(({ name }) => name)));
  expect(new Set(CASES.flatMap(({ lies }) => lies))).toEqual(new Set(LIES));
});
