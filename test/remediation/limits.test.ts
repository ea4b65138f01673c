import { beforeAll, expect, test } from 'vitest';
import type { NewAction } from '../../src/act/action-call.ts';
import { listExceeded } from '../../src/act/plan.ts';
import { DEFAULT_LIMITS } from '../../src/core/choices.ts';
import { overlayRoots } from '../../src/core/paths.ts';
import { type Database, openDatabase } from '../../src/warehouse/database.ts';
import { createSqlFiles } from '../../src/warehouse/sql-files.ts';

const files = createSqlFiles(overlayRoots('.'));
const limits = { maxActions: 25, maxPercent: 20, minRows: 0 };
const range = (count: number) => Array.from({ length: count }, (_, index) => index);

let database: Database;
beforeAll(async () => {
  database = await openDatabase(':memory:');
});

const plannedRow = (target: string, affectedRows: readonly string[]) => {
  return { action: { target } as NewAction, affectedRows };
};

/** A plan whose actions affect a row each, and the rows that the table has in their target. */
interface Affected {
  readonly rows: number;
  readonly total: number;
  readonly target: string;
}
const affected = (rows: number, total: number, target = 'acme'): Affected => ({ rows, total, target });

async function exceeded(each: readonly Affected[], { without = 0, chosen = limits } = {}): Promise<string> {
  await database.run('create or replace table keys (target varchar)');
  for (const { target, total } of each) {
    await database.run('insert into keys select $target from range($total::bigint)', { target, total });
  }
  const planned = each.flatMap(({ target, rows }) => range(rows).map((id) => plannedRow(target, [String(id)])));
  const others = range(without).map(() => plannedRow('acme', []));
  return (await listExceeded({ database, files }, 'keys', [...planned, ...others], chosen)).join('; ');
}

test.each([
  ['as many actions as the limit', [affected(1, 100)], 24],
  ['exactly the percentage', [affected(2, 10)], 0],
  ['nothing at all', [], 0],
  ['each target within its own rows', [affected(2, 10), affected(2, 10, 'other')], 0],
])('within: %s', async (_, each, without) => {
  expect(await exceeded(each, { without })).toBe('');
});

test.each([
  ['one action more', [affected(1, 100)], 25, '26 actions are more than --max-actions 25'],
  [
    'a percentage above',
    [affected(21, 100)],
    0,
    '21 of 100 rows of keys in acme are 21.0 %, more than --max-percent 20',
  ],
  ['one target of two', [affected(1, 100), affected(1, 4, 'other')], 0, '1 of 4 rows of keys in other are 25.0 %'],
  ['a table that was never pulled', [affected(1, 0)], 0, '1 of 0 rows of keys in acme are all'],
])('exceeded: %s', async (_, each, without, message) => {
  expect(await exceeded(each, { without })).toContain(message);
});

test('both limits are named, and a row that two actions affect counts once', async () => {
  const text = await exceeded([affected(21, 100)], { without: 5 });
  expect(text).toBe(
    '26 actions are more than --max-actions 25; 21 of 100 rows of keys in acme are 21.0 %, more than --max-percent 20',
  );
  const twice = plannedRow('acme', ['1']);
  expect(
    await listExceeded(
      { database, files },
      'keys',
      range(25).map(() => twice),
      limits,
    ),
  ).toEqual([]);
});

test.each([
  ['one row of three', 1, 3],
  ['five rows of five', 5, 5],
  ['a fifth of many rows', 20, 100],
])('the default limit is the larger of 20 % and 5 rows: %s', async (_, rows, total) => {
  expect(await exceeded([affected(rows, total)], { chosen: DEFAULT_LIMITS })).toBe('');
});

test.each([
  ['six rows of six', 6, 6],
  ['more than a fifth of many rows', 21, 100],
  ['a table that was never pulled', 1, 0],
])('the default limit is exceeded: %s', async (_, rows, total) => {
  expect(await exceeded([affected(rows, total)], { chosen: DEFAULT_LIMITS })).toContain('more than --max-percent 20');
});
