import { expect, test } from 'vitest';
import { explainLimits } from '../../src/act/plan-limits.ts';
import { DEFAULT_LIMITS } from '../../src/core/choices.ts';

const limits = { maxActions: 25, maxPercent: 20, minRows: 0 };
const affected = (rows: number, total: number, target = 'acme') => ({ target, table: 'keys', rows, total });

test.each([
  ['as many actions as the limit', 25, [affected(1, 100)]],
  ['exactly the percentage', 1, [affected(2, 10)]],
  ['nothing at all', 0, []],
  ['each target within its own rows', 4, [affected(2, 10), affected(2, 10, 'other')]],
])('within: %s', (_, actions, rows) => {
  expect(explainLimits(limits, actions, rows)).toBeNull();
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
  expect(explainLimits(limits, actions, rows)).toContain(message);
});

test.each([
  ['one row of three', 1, 3],
  ['five rows of five', 5, 5],
  ['a fifth of many rows', 20, 100],
])('the default limit is the larger of 20 % and 5 rows: %s', (_, rows, total) => {
  expect(explainLimits(DEFAULT_LIMITS, rows, [affected(rows, total)])).toBeNull();
});

test.each([
  ['six rows of six', 6, 6],
  ['more than a fifth of many rows', 21, 100],
  ['a table that was never pulled', 1, 0],
])('the default limit is exceeded: %s', (_, rows, total) => {
  expect(explainLimits(DEFAULT_LIMITS, rows, [affected(rows, total)])).toContain('more than --max-percent 20');
});
