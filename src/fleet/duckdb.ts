import { createLakeViews } from '../lake/ddl.ts';
import { createLakeReader } from '../lake/reader.ts';
import type { LakeStore } from '../lake/store.ts';
import { openDatabase } from '../warehouse/database.ts';
import type { SqlFiles } from '../warehouse/sql-files.ts';
import type { FleetEngine } from './engine.ts';

/** Reads a lake with DuckDB in this process, by the files that its logs name. */
export async function openDuckdb(store: LakeStore, files: SqlFiles, memoryLimit: string): Promise<FleetEngine> {
  const database = await openDatabase(':memory:', { memoryLimit });
  try {
    await createLakeViews(createLakeReader(store, database, files));
  } catch (error) {
    database.close();
    throw error;
  }
  return { dialect: 'duckdb', rows: (sql) => database.rows(sql), close: async () => database.close() };
}
