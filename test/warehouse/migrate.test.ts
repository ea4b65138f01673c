import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { PACKAGE_ROOT } from '../../src/core/paths.ts';
import { type Database, openDatabase } from '../../src/warehouse/database.ts';
import { migrate } from '../../src/warehouse/migrate.ts';
import { createSqlFiles } from '../../src/warehouse/sql-files.ts';
import { loadTables } from '../../src/warehouse/tables.ts';
import { tempFolder } from '../helpers/temp.ts';

const DECLARED = join(PACKAGE_ROOT, 'queries', 'tables', 'volumes.sql');
let folder: string;
let database: Database;

async function open(): Promise<void> {
  folder = await tempFolder();
  database = await openDatabase(join(folder, 'w.duckdb'));
  onTestFinished(() => database.close());
}

/** As the package declares it, with files of `folder` before its own. @returns what is left to do */
async function begin(): Promise<() => Promise<void>> {
  const files = createSqlFiles([folder, PACKAGE_ROOT]);
  return migrate(database, files, await loadTables(files));
}

async function declare(volumes: string): Promise<void> {
  await mkdir(join(folder, 'queries', 'tables'), { recursive: true });
  await writeFile(join(folder, 'queries', 'tables', 'volumes.sql'), volumes);
}

const commentOf = async (table: string, column: string) => {
  const sql = 'select comment from duckdb_columns() where table_name = $table and column_name = $column';
  return (await database.rows(sql, { table, column }))[0]?.comment;
};

test('a migration that ended halfway is begun again, with no row lost', async () => {
  await open();
  await begin();
  await database.run(
    "insert into volumes_history (target, namespace, volume_id, valid_from) values ('acme', 'default', 'v1', '2026-11-01')",
  );
  const rest = await begin();
  await rest();
  expect(await database.rows('select target, volume_id from volumes')).toEqual([{ target: 'acme', volume_id: 'v1' }]);
  expect(await commentOf('volumes_history', 'target')).toBe('name of the target in tidemark.yaml');
  expect(await database.rows("select count(*) as n from volumes_at('2026-11-02')")).toEqual([{ n: 1 }]);
});

test('a column that a newer version declares is added to rows, view and comments', async () => {
  await open();
  const declared = await readFile(DECLARED, 'utf8');
  await declare(declared);
  await (await begin())();
  await database.run(
    "insert into volumes_history (target, namespace, volume_id, valid_from) values ('acme', 'default', 'v1', '2026-11-01')",
  );
  await declare(declared.replace('  extra json,', '  shade varchar, -- of which colour\n  extra json,'));
  await (await begin())();
  expect(await database.rows('select volume_id, shade from volumes')).toEqual([{ volume_id: 'v1', shade: null }]);
  expect(await commentOf('volumes', 'shade')).toBe('of which colour');
});

test('nothing is made anew while the definitions are the same', async () => {
  await open();
  await (await begin())();
  await database.run(`comment on column volumes.volume_id is 'mine'`);
  await (await begin())();
  expect(await commentOf('volumes', 'volume_id')).toBe('mine');
});
