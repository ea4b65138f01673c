import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { unknownName } from '../config/suggest.ts';
import type { Context } from '../core/context.ts';
import { overlayRoots, PACKAGE_ROOT } from '../core/paths.ts';
import { createSqlFiles } from '../warehouse/sql-files.ts';
import { loadTables, loadViews, type Table } from '../warehouse/tables.ts';
import type { DefineCommand } from './define.ts';
import { readLocalConfig } from './options.ts';
import { formatTable, type TableStyle, writeResult } from './output.ts';

export const define: DefineCommand = (command) =>
  command.argument('[name]', 'one table').runs(() => import('./tables.ts'), 'tables');

export async function tables(context: Context, name: string | undefined): Promise<void> {
  // Works without a configuration; with one, the user's declarations are included.
  const hasConfig = existsSync(resolve(context.cwd, context.configFile));
  const files = createSqlFiles(overlayRoots(hasConfig ? readLocalConfig(context).directory : PACKAGE_ROOT));
  const views = loadViews(files).map((view) => [view.name, view] as const);
  const declared = new Map([...loadTables(files), ...views]);
  const all = [...declared.values()];
  if (name === undefined) return writeResult(context, all.map(toRow), () => formatTableList(all, context));
  const table = findTable(declared, name);
  writeResult(context, toRow(table), () => formatTableDetail(table, context));
}

function toRow({ name: table, grain, key, source, columns }: Table) {
  return { table, grain, key, source, columns };
}

function findTable(declared: ReadonlyMap<string, Table>, name: string): Table {
  const table = declared.get(name) ?? declared.get(name.replace(/_(history|at|before)$/u, ''));
  if (table) return table;
  throw unknownName('table', name, declared.keys(), 'see `tidemark tables`');
}

function formatTableList(declared: readonly Table[], style: TableStyle): string {
  const rows = declared.map(({ name, grain, source }) => [name, grain, source ? `${name}_history, ${name}_at(t)` : '']);
  return formatTable(['table', 'rows', 'history'], rows, { ...style, wholeColumns: ['table'] });
}

function formatTableDetail({ name, grain, key, columns, source }: Table, style: TableStyle): string {
  const history = source
    ? `\nhistory: ${name}_history adds valid_from, valid_to; ${name}_at(t) is the table at a time\nkey: target, ${key.join(', ')}`
    : '';
  const rows = columns.map(({ name: column, type, comment }) => [column, type, comment]);
  return `${name}: ${grain}${history}\n\n${formatTable(['column', 'type', 'meaning'], rows, { ...style, wholeColumns: ['column'] })}`;
}
