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
  expect(chooseThreads(8 * MEBIBYTE - 1, 'read')).toBe(1);
  expect(chooseThreads(8 * MEBIBYTE, 'read')).toBeUndefined();
  expect(await countThreads(await openWith(1))).toEqual([{ threads: 1 }]);
});

test('a large landing is loaded with all threads, also within a transaction', async () => {
  const files = createSqlFiles([PACKAGE_ROOT]);
  const [all] = await countThreads(await openWith(undefined));
  const database = await openWith(1);

  const loadWith = (landingBytes: number) =>
    withLoadThreads(database, files, { landingBytes, hasLists: false }, () => countThreads(database));

  expect(await loadWith(8 * MEBIBYTE - 1)).toEqual([{ threads: 1 }]);
  expect(await database.transaction(() => loadWith(8 * MEBIBYTE))).toEqual([all]);
  expect(await countThreads(database)).toEqual([all]);
});

test('lists are loaded with one thread, and what follows has all of them', async () => {
  const files = createSqlFiles([PACKAGE_ROOT]);
  const database = await openWith(undefined);
  const [all] = await countThreads(database);
  const loadWith = (landingBytes: number) =>
    withLoadThreads(database, files, { landingBytes, hasLists: true }, () => countThreads(database));

  expect(await loadWith(4 * MEBIBYTE - 1)).toEqual([all]);
  expect(await loadWith(4 * MEBIBYTE)).toEqual([{ threads: 1 }]);
  expect(await countThreads(database)).toEqual([all]);
});

test('many lines of JSON are loaded with one thread, which needs half of the memory, and what follows has all of them', async () => {
  const files = createSqlFiles([PACKAGE_ROOT]);
  const database = await openWith(undefined);
  const [all] = await countThreads(database);
  const loadWith = (landingBytes: number) =>
    withLoadThreads(database, files, { landingBytes, hasLists: false, isJson: true }, () => countThreads(database));

  expect(await loadWith(8 * MEBIBYTE - 1)).toEqual([all]);
  expect(await loadWith(8 * MEBIBYTE)).toEqual([{ threads: 1 }]);
  expect(await countThreads(database)).toEqual([all]);
});
