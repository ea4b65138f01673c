import type { Manifest, UnknownPart } from '../../src/landing/store.ts';
import { merge } from '../../src/load/merge.ts';
import { type Changes, compareStage, type Destination, type Facts, type Landed } from '../../src/load/stage.ts';
import type { Database } from '../../src/warehouse/database.ts';
import { quoteIdent, type SqlFiles } from '../../src/warehouse/sql-files.ts';
import { columnList, historyTable, LIST_TEXT, type Table } from '../../src/warehouse/tables.ts';

/** An empty stage with the columns of a table. A list goes into its column as it is. */
export async function createStage(database: Database, table: Table): Promise<void> {
  const list = table.members ? `, ${quoteIdent(table.members)} as ${LIST_TEXT}` : '';
  const columns = `${columnList(table)}${list}`;
  await database.run(
    `create or replace temp table stage_${table.name} as select ${columns} from ${table.name}_history limit 0`,
  );
}

/** Whether a target has rows now. To load none over none changes nothing, and takes a dozen statements. */
export async function hasRows(database: Database, table: Table, target: string): Promise<boolean> {
  const sql = `select 1 as row from ${historyTable(table)} where target = $target and valid_to is null limit 1`;
  return (await database.rows(sql, { target })).length > 0;
}

/** Merges a stage that a test has filled, as a load does. */
export async function mergeFilledStage(
  database: Database,
  files: SqlFiles,
  table: Table,
  {
    target,
    unknown = [],
    ...options
  }: {
    readonly target: string;
    readonly asOf: string;
    readonly listBytes?: number;
    /** Parts that could not be listed. */
    readonly unknown?: readonly UnknownPart[];
  },
): Promise<Changes> {
  if (table.members) {
    const list = quoteIdent(table.members);
    await database.run(`update stage_${table.name} set ${LIST_TEXT} = ${list}, ${list} = md5(${list})`);
  }
  const to: Destination = { database, files, tables: new Map([[table.name, table]]) };
  const landed: Landed = { manifest: { target, unknown_parts: unknown } as Manifest, directory: '', acceptDrop: true };
  const filled = await compareStage(to, table, new Map([[landed, { landed: 0, error: undefined }]]));
  await merge(to, [filled], { accepted: new Set([landed]), ...options, record: 'select 1;' });
  const { deleted, inserted, changed } = filled.facts.get(landed) as Facts;
  return { deleted, inserted, changed };
}
