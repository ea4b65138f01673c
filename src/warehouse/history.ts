import type { Database } from './database.ts';
import { mergeMembers, takeLists } from './members.ts';
import { quoted, type SqlFiles } from './sql-files.ts';
import { columnList, storedName, type Table } from './tables.ts';

/** What a load changes in one table of one target, in rows. */
export interface Delta {
  readonly gone: number;
  readonly appeared: number;
  readonly changed: number;
  readonly rowsBefore: number;
  readonly rowsAfter: number;
}

/** Compares the stage with what holds; `mergeStage` then writes exactly this. */
export async function compareStage(database: Database, files: SqlFiles, table: Table, target: string): Promise<Delta> {
  if (table.members) await takeLists(database, files, table);
  await database.run(await files.filled('warehouse/compare', partsOf(table)), { target });
  const [counts] = await database.rows(await files.filled('warehouse/delta_counts', partsOf(table)), { target });
  return {
    gone: Number(counts?.gone),
    appeared: Number(counts?.appeared),
    changed: Number(counts?.changed),
    rowsBefore: Number(counts?.rows_before),
    rowsAfter: Number(counts?.rows_after),
  };
}

/** Writes what `compareStage` found: closes what changed or went, adds what is new; `asOf` is later than any before (ISO 8601). */
export async function mergeStage(
  database: Database,
  files: SqlFiles,
  table: Table,
  target: string,
  asOf: string,
): Promise<void> {
  const parts = partsOf(table);
  const as_of = asOf;
  if (table.members) await mergeMembers(database, files, table, { target, as_of });
  await database.run(await files.filled('warehouse/close', parts), { as_of });
  await database.run(await files.filled('warehouse/append', parts), { as_of });
  await database.run(await files.filled('warehouse/drop_delta', parts));
}

function partsOf(table: Table): Record<string, string> {
  const same = table.key.map((name) => `stage.${quoted(name)} is not distinct from open.${quoted(name)}`);
  return {
    table: table.name,
    history: storedName(table),
    sameKey: same.join(' and '),
    key: table.key.map(quoted).join(', '),
    columns: columnList(table),
  };
}
