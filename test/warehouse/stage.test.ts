import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { PACKAGE_ROOT } from '../../src/core/paths.ts';
import { type Database, openDatabase } from '../../src/warehouse/database.ts';
import { compareStage, keepVersions } from '../../src/warehouse/history.ts';
import { migrate } from '../../src/warehouse/migrate.ts';
import { createSqlFiles, type SqlFiles } from '../../src/warehouse/sql-files.ts';
import { checkKeys, loadFiles } from '../../src/warehouse/stage.ts';
import { loadTables, type Table } from '../../src/warehouse/tables.ts';
import { cleanAtEnd, tempFolder } from '../helpers/temp.ts';

const atEnd = cleanAtEnd();

/** A load query of a user, which knows only some columns of the table. */
const SHORT_QUERY = `select name, "type" from read_json(
  $files, format = 'newline_delimited', columns = {name: 'VARCHAR', type: 'VARCHAR'}, maximum_object_size = $longest_line
)`;

let folder: string;
let database: Database;
let files: SqlFiles;
let table: Table;

beforeAll(async () => {
  folder = await tempFolder(atEnd);
  mkdirSync(join(folder, 'queries', 'load'), { recursive: true });
  writeFileSync(join(folder, 'queries', 'load', 'keys.sql'), SHORT_QUERY);
  files = createSqlFiles([folder, PACKAGE_ROOT]);
  const tables = await loadTables(files);
  table = tables.get('keys') as Table;
  database = await openDatabase(':memory:');
  atEnd(async () => database.close());
  await migrate(database, files, new Map([['keys', table]]));
});

function land(...rows: readonly object[]) {
  const path = join(folder, 'keys.ndjson');
  writeFileSync(path, rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
  return [{ file: 'keys.ndjson', path, format: 'ndjson', bytes: 0, sha256: '' }] as const;
}

const AS_OF = '2026-11-01T00:00:00Z';

test('a column that a load query does not yield is null, in the stage and in the history', async () => {
  const landed = land({ name: 'one', type: 'aes256-gcm96' }, { name: 'two', type: '' });

  expect(await loadFiles(database, files, { table, landed, target: 'vault-1' })).toBe(2);
  const written = await database.transaction(() =>
    loadFiles(database, files, { table, landed, target: 'vault-1', asOf: AS_OF }),
  );

  expect(written).toBe(2);
  const columns = 'select target, name, "type", latest_version from';
  const rows = [
    { target: 'vault-1', name: 'one', type: 'aes256-gcm96', latest_version: null },
    { target: 'vault-1', name: 'two', type: null, latest_version: null },
  ];
  expect(await database.rows(`${columns} stage_keys order by name`)).toEqual(rows);
  expect(await database.rows(`${columns} keys_history where target = 'vault-1' order by name`)).toEqual(rows);
});

test('a landing without files makes an empty stage, and each of its rows is a deletion', async () => {
  await loadFiles(database, files, { table, landed: land({ name: 'one' }), target: 'vault-2', asOf: AS_OF });

  expect(await loadFiles(database, files, { table, landed: [], target: 'vault-2' })).toBe(0);

  expect(await compareStage(database, files, table, 'vault-2')).toEqual({ deleted: 1, inserted: 0, changed: 0 });
});

test('equal rows make no version, and leave no temporary table', async () => {
  const landed = land({ name: 'one' }, { name: 'two' });
  await loadFiles(database, files, { table, landed, target: 'vault-3', asOf: AS_OF });
  await loadFiles(database, files, { table, landed, target: 'vault-3' });

  expect(await compareStage(database, files, table, 'vault-3')).toEqual({ deleted: 0, inserted: 0, changed: 0 });
  await keepVersions(database, files, table, 'vault-3');

  expect(await database.rows("select name, valid_to from keys_history where target = 'vault-3' order by name")).toEqual(
    [
      { name: 'one', valid_to: null },
      { name: 'two', valid_to: null },
    ],
  );
  expect(await database.rows("select table_name from duckdb_tables() where table_name like 'delta%'")).toEqual([]);
});

test('a missing key is reported before a repeated one', async () => {
  const load = (...rows: readonly object[]) =>
    loadFiles(database, files, { table, landed: land(...rows), target: 'vault-4' });
  await load({ name: 'one' }, { name: 'one' }, { type: 'x' }, { type: 'y' });
  await expect(checkKeys(database, files, table)).rejects.toThrow('keys: 2 rows without name');
  await load({ name: 'one' }, { name: 'one' });
  await expect(checkKeys(database, files, table)).rejects.toThrow('keys: 2 rows have the key name "one"');
  await load({ name: 'one' }, { name: 'two' });
  expect(await checkKeys(database, files, table)).toBeUndefined();
});

/** A landed export of `tf_versions`, whose rows name the workspaces that use a version. */
function landVersions(rows: readonly string[], longestLine: number) {
  const path = join(folder, 'tf_versions.csv');
  const columns = ['version', 'workspace_count', 'workspaces'];
  const text = [columns.join(','), ...rows, ''].join('\n');
  writeFileSync(path, text);
  return [
    { file: 'tf_versions.csv', path, format: 'csv', bytes: text.length, sha256: '', columns, longestLine },
  ] as const;
}

const MEBIBYTE = 1024 * 1024;

test.each([
  ['as long as was measured', (index: number) => 'x'.repeat((2 + (index % 3) / 2) * MEBIBYTE), 3 * MEBIBYTE + 100],
  ['longer than its lines', () => `${'x'.repeat(MEBIBYTE)}\n`.repeat(4), MEBIBYTE + 100],
])('a row of a list that is %s is read', async (_, toNames, longestLine) => {
  const versions = (await loadTables(files)).get('tf_versions') as Table;
  const names = Array.from({ length: 12 }, (_row, index) => toNames(index));
  const rows = names.map((text, index) => `"1.${index}","1","${text}"`);

  const landed = landVersions(rows, longestLine);
  expect(await loadFiles(database, files, { table: versions, landed, target: 'acme' })).toBe(rows.length);

  const lengths = await database.rows('select list_text as names from stage_tf_versions order by version');
  expect(lengths.map((row) => String(row.names).length).sort()).toEqual(names.map(({ length }) => length).sort());
});
