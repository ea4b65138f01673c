import type { Database } from './database.ts';
import type { SqlFiles } from './sql-files.ts';
import { type Addition, type Column, historyTable, type Table } from './tables.ts';

/** What reads a published warehouse, here or through a worker. */
export interface ReadWarehouse {
  readonly database: Pick<Database, 'script'>;
  readonly files: SqlFiles;
}

/**
 * The tables and columns that a warehouse has, with what updates added to them: one that an earlier version published lacks some until
 * the next run.
 */
export async function selectPresent(read: ReadWarehouse, tables: readonly Table[]): Promise<readonly Table[]> {
  const present = await readColumns(read);
  return withAdditions(tables, await readAdditions(read, present)).flatMap((table) => {
    const columns = table.columns.filter(({ name }) => present.get(historyTable(table))?.has(name));
    return columns.length === 0 ? [] : [{ ...table, columns }];
  });
}

/** The columns that each table of a warehouse has, by name, in their order. */
export type Columns = ReadonlyMap<string, ReadonlyMap<string, Column>>;

export async function readColumns({ database, files }: ReadWarehouse): Promise<Columns> {
  const tables = new Map<string, Map<string, Column>>();
  for (const row of await database.script(files.read('warehouse/columns'))) {
    const [table, name] = [String(row.table), String(row.name)];
    const columns = tables.get(table) ?? new Map<string, Column>();
    tables.set(table, columns.set(name, { name, type: String(row.type), comment: String(row.comment) }));
  }
  return tables;
}

/** @param present columns of the warehouse */
export async function readAdditions(
  { database, files }: ReadWarehouse,
  present: Columns,
): Promise<readonly Addition[]> {
  if (!present.get('additions')?.has('added_after')) return [];
  const rows = await database.script(files.read('warehouse/additions'));
  return rows.map(({ table, column, after }) => ({
    table: String(table),
    column: column == null ? null : String(column),
    after: String(after),
  }));
}

export function withAdditions(tables: readonly Table[], added: readonly Addition[]): readonly Table[] {
  return tables.map((table) => ({ ...table, additions: added.filter((addition) => addition.table === table.name) }));
}
