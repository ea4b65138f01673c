import { expect, test } from 'vitest';
import { enforceLimits } from '../../src/remediation/limits.ts';

const caps = { maxActions: 25, maxPercent: 20 };
const touched = (rows: number, of: number, target = 'acme') => ({ target, table: 'keys', rows, of });

test.each([
  ['as many actions as the cap', 25, [touched(1, 100)]],
  ['exactly the share', 1, [touched(2, 10)]],
  ['nothing at all', 0, []],
  ['each target within its own rows', 4, [touched(2, 10), touched(2, 10, 'other')]],
])('within: %s', (_, actions, rows) => {
  expect(() => enforceLimits(caps, actions, rows)).not.toThrow();
});

test.each([
  ['one action more', 26, [touched(1, 100)], '26 actions are more than --max-actions 25'],
  ['a share above', 1, [touched(21, 100)], '21 of 100 rows of keys in acme are 21.0 %, more than --max-percent 20'],
  ['one target of two', 3, [touched(1, 100), touched(1, 4, 'other')], '1 of 4 rows of keys in other are 25.0 %'],
  ['a table that was never pulled', 1, [touched(1, 0)], '1 of 0 rows of keys in acme are all'],
])('beyond: %s', (_, actions, rows, words) => {
  expect(() => enforceLimits(caps, actions, rows)).toThrow(expect.objectContaining({ code: 'UNSAFE' }));
  expect(() => enforceLimits(caps, actions, rows)).toThrow(words);
});
