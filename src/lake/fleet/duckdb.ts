import type { SqlFiles } from '../../warehouse/sql-files.ts';
import { openWithOwnFolder } from '../../warehouse/temporary-folder.ts';
import type { Row } from '../../warehouse/values.ts';
import { createLakeViews } from '../ddl.ts';
import { createLakeReader } from '../reader.ts';
import type { LakeStore } from '../store.ts';

/** A database that has the views of a lake. */
export interface FleetReader {
  /** Times are in ISO 8601; integers are numbers. */
  rows(sql: string): Promise<readonly Row[]>;
  close(): Promise<void>;
}

/**
 * Reads a lake with DuckDB in this process, by the files that its logs name. Only the relations that a query names are read: a lake in
 * a bucket is copied for that.
 */
export async function openDuckdb(store: LakeStore, files: SqlFiles, memoryLimit: string): Promise<FleetReader> {
  const database = await openWithOwnFolder(':memory:', { memoryLimit });
  const reader = createLakeReader(store, database, files);
  const created = new Set<string>();
  return {
    async rows(sql) {
      await createLakeViews(reader, (relation) => {
        const isNew = !created.has(relation) && isNamed(sql, relation);
        if (isNew) created.add(relation);
        return isNew;
      });
      return database.rows(sql);
    },
    close: async () => database.close(),
  };
}

/** Whether a query may read a relation. The members of lists belong to the relation with the list, and `source_state` reads `pulls`. */
function isNamed(sql: string, relation: string): boolean {
  return sql.includes(relation.replace(/_members$/u, '')) || (relation === 'pulls' && sql.includes('source_state'));
}
