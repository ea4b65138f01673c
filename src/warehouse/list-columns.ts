import type { Database } from './database.ts';
import { quoteIdent, type SqlFiles } from './sql-files.ts';
import type { Table } from './tables.ts';

/**
 * Some columns list every workspace that uses something: one change of one workspace would store the whole list anew. Such a
 * column is kept member by member with history (`T_members`), its digest with the row (`T_rows`), and read back as the field.
 */

/** Takes the lists out of a filled stage; what stands for them is their digest. */
export async function extractListColumn(database: Database, files: SqlFiles, table: Table): Promise<void> {
  const parts = { table: table.name, key: keyList(table), list: quoteIdent(table.members ?? '') };
  await database.run(await files.render('warehouse/members_lists', parts));
  await database.run(await files.render('warehouse/members_digest', parts));
}

/** Writes which members came, went or moved in the rows that the delta says have changed; before the rows themselves. */
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
  await database.run(await files.render('warehouse/members_rank', parts), params);
  await database.run(await files.render('warehouse/members_close', parts), params);
  await database.run(await files.render('warehouse/members_append', parts), params);
  await database.run(await files.render('warehouse/members_drop', { table: table.name }));
}

/** Makes the table of members and the view that puts lists together again. */
export async function listColumnStatements(files: SqlFiles, table: Table): Promise<readonly string[]> {
  const typeOf = new Map(table.columns.map(({ name, type }) => [name, type]));
  const keyColumns = ['target', ...table.key].map((name) => `${quoteIdent(name)} ${typeOf.get(name)}`).join(',\n  ');
  const sameMember = sameKey(table, 'member', 'version');
  const list = await files.render('warehouse/members_list', { table: table.name, sameKey: sameMember });
  const columnsWithList = table.columns
    .map(({ name }) => (name === table.members ? `(${list}) as ${quoteIdent(name)}` : `version.${quoteIdent(name)}`))
    .join(',\n  ');
  return [
    await files.render('warehouse/members_table', { table: table.name, keyColumns }),
    await files.render('warehouse/members_history', { table: table.name, columnsWithList }),
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
