import { PACKAGE_ROOT } from '../../src/core/paths.ts';
import { createLakeReader } from '../../src/lake/reader.ts';
import type { LakeStore } from '../../src/lake/store.ts';
import { createLakeViews } from '../../src/lake/views.ts';
import { type Database, openDatabase } from '../../src/warehouse/database.ts';
import { createSqlFiles } from '../../src/warehouse/sql-files.ts';

/** Opens a DuckDB in memory that has the views of a lake. @param queries only what one of them names is read. @default everything */
export async function openLakeViews(
  store: LakeStore,
  memoryLimit = '1GB',
  queries?: readonly string[],
): Promise<Database> {
  const database = await openDatabase(':memory:', { memoryLimit });
  await createLakeViews(
    createLakeReader({ store, database, files: createSqlFiles([PACKAGE_ROOT]), nowMs: 0 }),
    queries,
  );
  return database;
}
