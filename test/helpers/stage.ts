import type { Database } from '../../src/warehouse/database.ts';
import { type Changes, compareStage, mergeStage } from '../../src/warehouse/history.ts';
import { quoteIdent, type SqlFiles } from '../../src/warehouse/sql-files.ts';
import { LIST_TEXT } from '../../src/warehouse/stage.ts';
import { columnList, type Table } from '../../src/warehouse/tables.ts';

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
  const sql = `select 1 as row from ${table.name} where target = $target limit 1`;
  return (await database.rows(sql, { target })).length > 0;
}

/** Merges a stage that a test has filled, as a load does. */
export async function mergeFilledStage(
  database: Database,
  files: SqlFiles,
  table: Table,
  { target, ...merge }: { readonly target: string; readonly asOf: string; readonly listBytes?: number },
): Promise<Changes> {
  if (table.members) {
    const list = quoteIdent(table.members);
    await database.run(`update stage_${table.name} set ${LIST_TEXT} = ${list}, ${list} = md5(${list})`);
  }
  const changes = await compareStage(database, files, table, target);
  await mergeStage(database, files, table, { target, ...merge, changes });
  return changes;
}
