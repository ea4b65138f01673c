import type { Database } from './database.ts';
import { quoteIdent, type SqlFiles } from './sql-files.ts';
import type { Table } from './tables.ts';

/**
 * Some columns list every workspace that uses something. A change of one workspace would store the whole list again, so the history
 * of such a column is stored per member (`T_members`), with a digest of the list in the row (`T_rows`). The view `T_history`
 * puts the list together again.
 */

/** Moves the lists out of a filled stage and leaves their digests there. */
export async function extractListColumn(database: Database, files: SqlFiles, table: Table): Promise<void> {
  const parts = { table: table.name, key: keyList(table), list: quoteIdent(table.members ?? '') };
  await database.run(await files.render('warehouse/list_extract', parts));
  await database.run(await files.render('warehouse/list_digest', parts));
}

/** Writes the members that were added, removed or moved in changed rows. Must run before the rows themselves are merged. */
export async function mergeListColumn(
  database: Database,
  files: SqlFiles,
  table: Table,
  params: { readonly target: string; readonly as_of: string },
): Promise<void> {
  const parts = {
    table: table.name,
    key: keyList(table),
    listsKey: keyList(table, 'lists.'),
    numberedKey: keyList(table, 'numbered.'),
    changedKey: sameKey(table, 'changed', 'lists'),
    heldKey: sameKey(table, 'held', 'numbered'),
    memberKey: sameKey(table, 'version', 'member'),
  };
  await database.run(await files.render('warehouse/list_rank', parts), params);
  await database.run(await files.render('warehouse/list_close', parts), params);
  await database.run(await files.render('warehouse/list_append', parts), params);
  await database.run(await files.render('warehouse/list_drop', { table: table.name }));
}

/** Statements that create the member table and the history view. */
export async function listColumnStatements(files: SqlFiles, table: Table): Promise<readonly string[]> {
  const types = new Map(table.columns.map(({ name, type }) => [name, type]));
  const keyColumns = ['target', ...table.key].map((name) => `${quoteIdent(name)} ${types.get(name)}`).join(',\n  ');
  const sameMember = sameKey(table, 'member', 'version');
  const list = await files.render('warehouse/list_value', { table: table.name, sameKey: sameMember });
  const columnsWithList = table.columns
    .map(({ name }) => (name === table.members ? `(${list}) as ${quoteIdent(name)}` : `version.${quoteIdent(name)}`))
    .join(',\n  ');
  return [
    await files.render('warehouse/list_table', { table: table.name, keyColumns }),
    await files.render('warehouse/list_history', { table: table.name, columnsWithList }),
  ];
}

function keyList(table: Table, prefix = ''): string {
  return ['target', ...table.key].map((name) => `${prefix}${quoteIdent(name)}`).join(', ');
}

function sameKey(table: Table, one: string, other: string): string {
  return ['target', ...table.key]
    .map((name) => `${one}.${quoteIdent(name)} is not distinct from ${other}.${quoteIdent(name)}`)
    .join(' and ');
}
