import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { PACKAGE_ROOT } from '../../src/core/paths.ts';
import { type Database, openDatabase } from '../../src/warehouse/database.ts';
import { type Changes, compareStage, mergeStage } from '../../src/warehouse/history.ts';
import { migrate } from '../../src/warehouse/migrate.ts';
import { createSqlFiles } from '../../src/warehouse/sql-files.ts';
import { checkKeys, isDigestible, type LandingFilePath, loadFiles } from '../../src/warehouse/stage.ts';
import { loadTables, type Table } from '../../src/warehouse/tables.ts';
import { cleanAtEnd, tempFolder } from '../helpers/temp.ts';

const MEBIBYTE = 1024 * 1024;
const files = createSqlFiles([PACKAGE_ROOT]);
const atEnd = cleanAtEnd();
let folder: string;
let database: Database;
let tables: ReadonlyMap<string, Table>;
let table: Table;

beforeAll(async () => {
  folder = await tempFolder(atEnd);
  tables = await loadTables(files);
  table = tables.get('workspaces') as Table;
  database = await openDatabase(':memory:');
  atEnd(async () => database.close());
  await (await migrate(database, files, tables))();
});

const HEADER = ['external_id', 'workspace_name', 'drifted', 'workspace_created_at', 'new_field'];

/** Lands lines of CSV, one file for each list. */
function land(...parts: readonly (readonly string[])[]): readonly LandingFilePath[] {
  return parts.map((lines, index) => {
    const file = `workspaces.${index}.csv`;
    const path = join(folder, file);
    writeFileSync(path, [HEADER.join(','), ...lines, ''].join('\n'));
    return { file, path, format: 'csv', bytes: 8 * MEBIBYTE, sha256: '', columns: HEADER };
  });
}

const row = (id: string, name: string, drifted = 'false', field = '') =>
  `"${id}","${name}","${drifted}","2026-01-02T03:04:05Z","${field}"`;

/** Loads as a pull does that finds rows of the day before. */
async function load(
  target: string,
  asOf: string,
  landed: readonly LandingFilePath[],
  isDigested: boolean,
): Promise<Changes> {
  await loadFiles(database, files, { table, landed, target, isDigested });
  await checkKeys(database, files, table);
  const changes = await compareStage(database, files, table, target, isDigested);
  const append = isDigested && {
    append: () => loadFiles(database, files, { table, landed, target, asOf, isDigested }),
  };
  await mergeStage(database, files, table, { target, asOf, changes, ...append });
  return changes;
}

const DAYS = [
  [[row('ws-1', 'one'), row('ws-2', 'two', ''), row('ws-3', "it's")], [row('ws-4', 'four', 'true', 'x')]],
  [
    [row('ws-2', 'two', 'false'), row('ws-3', "it's")],
    [row('ws-4', 'four', 'true', 'y'), row('ws-5', 'five, "5"'.replaceAll('"', '""'))],
  ],
  [
    [row('ws-2', 'two', 'false'), row('ws-3', "it's")],
    [row('ws-4', 'four', 'true', 'y'), row('ws-5', 'five, "5"'.replaceAll('"', '""'))],
  ],
];

test('rows that are compared by digest give the same history as rows that are staged', async () => {
  for (const [day, parts] of DAYS.entries()) {
    const asOf = `2026-11-0${day + 1}T02:15:00Z`;
    const landed = land(...parts);
    const digested = await load('digested', asOf, landed, true);
    expect(digested).toEqual(await load('staged', asOf, landed, false));
    if (day === 1) expect(digested).toEqual({ deleted: 1, inserted: 1, changed: 2 });
    if (day === 2) expect(digested).toEqual({ deleted: 0, inserted: 0, changed: 0 });
  }
  const history = (target: string) =>
    database.rows(
      'select * exclude (target) from workspaces_history where target = $target order by external_id, valid_from',
      { target },
    );
  const rows = await history('digested');
  expect(rows).toHaveLength(7);
  expect(rows).toEqual(await history('staged'));
});

test('a repeated or missing key is found in the digests', async () => {
  const loadInto = (target: string, lines: readonly string[]) =>
    load(target, '2026-11-01T02:15:00Z', land(lines), true);
  await expect(loadInto('repeated', [row('ws-1', 'one'), row('ws-1', 'two')])).rejects.toThrow(
    'workspaces: 2 rows have the key external_id "ws-1"',
  );
  await expect(loadInto('missing', [row('ws-1', 'one'), row('', 'two')])).rejects.toThrow(
    'workspaces: 1 row without external_id',
  );
});

test('only a large CSV without lists and numbered rows is compared by digests', () => {
  const [large] = land([row('ws-1', 'one')]) as [LandingFilePath];
  const get = (name: string) => tables.get(name) as Table;
  expect(isDigestible(table, [large])).toBe(true);
  expect(
    isDigestible(table, [
      { ...large, bytes: 4 * MEBIBYTE },
      { ...large, bytes: 4 * MEBIBYTE },
    ]),
  ).toBe(true);
  expect(isDigestible(table, [{ ...large, bytes: 8 * MEBIBYTE - 1 }])).toBe(false);
  expect(isDigestible(table, [{ ...large, format: 'ndjson' }])).toBe(false);
  expect(isDigestible(get('providers'), [large])).toBe(false);
  expect(isDigestible(get('saved_view_rows'), [large])).toBe(false);
});
