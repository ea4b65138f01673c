import { discover } from '../core/paths.ts';
import { parseHeader, quoteIdent, type SqlFiles } from './sql-files.ts';

export interface Column {
  readonly name: string;
  readonly type: string;
  readonly comment: string;
}

/** A table as its file in `queries/tables/` declares it. */
export interface Table {
  readonly name: string;
  /** What one row stands for. */
  readonly grain: string;
  /** Columns that identify a row within its target; empty for logs. */
  readonly key: readonly string[];
  /** The source that fills it; undefined for logs such as `runs`. */
  readonly source: string | undefined;
  /** Rows come and go by nature: their disappearance in mass says nothing. */
  readonly volatile: boolean;
  /** A column that lists members, kept with history member by member. */
  readonly members: string | undefined;
  /** Columns of the present, `target` first and `extra` last where it has one. */
  readonly columns: readonly Column[];
  readonly ddl: string;
}

const COLUMN = /^ {2}(\w+) ([^-]*?),? -- (.+)$/gmu;
const HISTORY_COLUMNS = new Set(['valid_from', 'valid_to']);

export async function loadTables(files: SqlFiles): Promise<ReadonlyMap<string, Table>> {
  const paths = await discover(files.roots, 'queries/tables', '.sql');
  const tables = await Promise.all(
    [...paths.keys()].map(async (name) => parseTable(name, await files.read(`tables/${name}`))),
  );
  return new Map(tables.map((table) => [table.name, table]));
}

function parseTable(name: string, ddl: string): Table {
  const header = parseHeader(ddl);
  const columns = [...ddl.matchAll(COLUMN)].map(([, column = '', type = '', comment = '']) => ({
    name: column,
    type: type.replace(' not null', '').trim(),
    comment,
  }));
  return {
    name,
    ddl,
    grain: header.grain ?? '',
    key: header.key?.split(/,\s*/u) ?? [],
    source: header.source,
    volatile: header.volatile === 'yes',
    members: header.members,
    columns: header.source ? columns.filter((column) => !HISTORY_COLUMNS.has(column.name)) : columns,
  };
}

/** Column names as a select list. */
export function columnList(table: Table, prefix = ''): string {
  return table.columns.map(({ name }) => `${prefix}${quoteIdent(name)}`).join(', ');
}

/** The table that versions of rows are stored in; where lists are kept apart, `T_history` is a view over it. */
export function historyTable(table: Table): string {
  if (!table.source) return table.name;
  return table.members ? `${table.name}_rows` : `${table.name}_history`;
}

/** The tables that a source fills, its main table first. */
export function tablesForSource(source: string, tables: ReadonlyMap<string, Table>): readonly Table[] {
  const mine = [...tables.values()].filter((table) => table.source === source);
  return mine.sort((a, b) => Number(b.name === source) - Number(a.name === source));
}
