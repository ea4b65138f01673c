import { expect, test } from 'vitest';
import { enforceLimits } from '../../src/remediation/limits.ts';

const limits = { maxActions: 25, maxPercent: 20 };
const affected = (rows: number, total: number, target = 'acme') => ({ target, table: 'keys', rows, total });

test.each([
  ['as many actions as the limit', 25, [affected(1, 100)]],
  ['exactly the percentage', 1, [affected(2, 10)]],
  ['nothing at all', 0, []],
  ['each target within its own rows', 4, [affected(2, 10), affected(2, 10, 'other')]],
])('within: %s', (_, actions, rows) => {
  expect(() => enforceLimits(limits, actions, rows)).not.toThrow();
});

test.each([
  ['one action more', 26, [affected(1, 100)], '26 actions are more than --max-actions 25'],
  [
    'a percentage above',
    1,
    [affected(21, 100)],
    '21 of 100 rows of keys in acme are 21.0 %, more than --max-percent 20',
  ],
  ['one target of two', 3, [affected(1, 100), affected(1, 4, 'other')], '1 of 4 rows of keys in other are 25.0 %'],
  ['a table that was never pulled', 1, [affected(1, 0)], '1 of 0 rows of keys in acme are all'],
])('exceeded: %s', (_, actions, rows, message) => {
  expect(() => enforceLimits(limits, actions, rows)).toThrow(expect.objectContaining({ code: 'UNSAFE' }));
  expect(() => enforceLimits(limits, actions, rows)).toThrow(message);
});
