import { expect, onTestFinished, test } from 'vitest';
import { PACKAGE_ROOT } from '../../src/core/paths.ts';
import { chooseThreads, type Database, openDatabase, withLoadThreads } from '../../src/warehouse/database.ts';
import { createSqlFiles } from '../../src/warehouse/sql-files.ts';

const MEBIBYTE = 1024 * 1024;

async function openWith(threads: number | undefined): Promise<Database> {
  const database = await openDatabase(':memory:', threads === undefined ? {} : { threads });
  onTestFinished(() => database.close());
  return database;
}

const countThreads = (database: Database) => database.rows("select current_setting('threads') as threads");

test('a small warehouse is opened with one thread, and a large one with all', async () => {
  expect(chooseThreads(0)).toBe(1);
  expect(chooseThreads(32 * MEBIBYTE - 1)).toBe(1);
  expect(chooseThreads(32 * MEBIBYTE)).toBeUndefined();
  expect(await countThreads(await openWith(1))).toEqual([{ threads: 1 }]);
});

test.each([
  { what: 'a landing', hasLists: false, large: 8 * MEBIBYTE },
  { what: 'a landing of lists', hasLists: true, large: 4 * MEBIBYTE },
])('$what is loaded with one thread if it is large, and what follows has all of them', async ({ hasLists, large }) => {
  const files = createSqlFiles([PACKAGE_ROOT]);
  const database = await openWith(undefined);
  const [all] = await countThreads(database);
  const loadWith = (landingBytes: number) =>
    withLoadThreads(database, files, { landingBytes, hasLists }, () => countThreads(database));

  expect(await loadWith(large - 1)).toEqual([all]);
  expect(await database.transaction(() => loadWith(large))).toEqual([{ threads: 1 }]);
  expect(await countThreads(database)).toEqual([all]);
});

test('a small warehouse keeps one thread until a large landing is loaded', async () => {
  const files = createSqlFiles([PACKAGE_ROOT]);
  const [all] = await countThreads(await openWith(undefined));
  const database = await openWith(1);
  for (const [landingBytes, after] of [
    [8 * MEBIBYTE - 1, { threads: 1 }],
    [8 * MEBIBYTE, all],
  ] as const) {
    await withLoadThreads(database, files, { landingBytes, hasLists: false }, async () => undefined);
    expect(await countThreads(database)).toEqual([after]);
  }
});
