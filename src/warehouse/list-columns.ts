import { quoteIdent, type SqlFiles } from './sql-files.ts';
import type { Table } from './tables.ts';

/**
 * Some columns list every workspace that uses something. A change of one workspace would store the whole list again, so the history
 * of such a column is stored per member (`T_members`), with a digest of the list in the row (`T_rows`). The view `T_history`
 * puts the list together again. The stage has both: the digest in the column, so that rows are compared and stored without the
 * list, and the list in `LIST_TEXT`.
 */
export const LIST_TEXT = 'list_text';

/** Statements that create the member table and the history view. */
export function listColumnStatements(files: SqlFiles, table: Table): readonly string[] {
  const types = new Map(table.columns.map(({ name, type }) => [name, type]));
  const keyColumns = ['target', ...table.key].map((name) => `${quoteIdent(name)} ${types.get(name)}`).join(',\n  ');
  const sameMember = sameKey(table, 'member', 'version');
  const list = files.render('warehouse/list_value', { table: table.name, sameKey: sameMember });
  const columnsWithList = table.columns
    .map(({ name }) => (name === table.members ? `(${list}) as ${quoteIdent(name)}` : `version.${quoteIdent(name)}`))
    .join(',\n  ');
  return [
    files.render('warehouse/list_table', { table: table.name, keyColumns }),
    files.render('warehouse/list_history', { table: table.name, columnsWithList }),
  ];
}

export function sameKey({ key }: Pick<Table, 'key'>, one: string, other: string): string {
  return ['target', ...key]
    .map((name) => `${one}.${quoteIdent(name)} is not distinct from ${other}.${quoteIdent(name)}`)
    .join(' and ');
}
