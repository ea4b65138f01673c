import { suggestName } from '../config/suggest.ts';
import { TidemarkError } from '../core/errors.ts';
import { groupBy } from '../core/group-by.ts';
import { discoverFiles } from '../core/paths.ts';
import type { Database } from './database.ts';
import { type parseHeader, quoteIdent, quoteLiteral, readHeader, type SqlFiles, splitList } from './sql-files.ts';

export interface Column {
  readonly name: string;
  readonly type: string;
  readonly comment: string;
}

/** A table, or a column of it, that an update added to a warehouse with pulls: what it has first is no change. */
export interface Addition {
  readonly table: string;
  /** Null for the whole table. */
  readonly column: string | null;
  /** The last pull before it, in ISO 8601. */
  readonly after: string;
}

/** A table as its file in `queries/tables/` declares it. */
export type Table = Readonly<ReturnType<typeof parseTable>>;

/** A line of a table, or of the header of a view: `--  at timestamptz -- when it changed`. */
const COLUMN = /^(?:--)? {2}(\w+) ([^-\n]*?),? -- (.+)$/gmu;
const VALIDITY = new Set(['valid_from', 'valid_to']);
export const withoutValidity = (columns: readonly Column[]) => columns.filter(({ name }) => !VALIDITY.has(name));

export function loadTables(files: SqlFiles): ReadonlyMap<string, Table> {
  const names = [...discoverFiles(files.roots, 'queries/tables', '.sql').keys()];
  return new Map(names.map((name) => [name, parseTable('tables', name, files.read(`tables/${name}`))]));
}

/** The sources that fill a table. */
export function listFilled(tables: Iterable<Table>): ReadonlySet<string> {
  return new Set([...tables].flatMap(({ source }) => source ?? []));
}

/** The views that people query as tables: those whose files in `queries/warehouse/` say `-- catalogue: yes`, with a line for each column. */
export function loadViews(files: SqlFiles): readonly Table[] {
  return [...discoverFiles(files.roots, 'queries/warehouse', '.sql').keys()].flatMap((name) => {
    const sql = files.read(`warehouse/${name}`);
    return /^-- catalogue: yes$/mu.test(sql) ? [parseTable('warehouse', name, sql)] : [];
  });
}

/** The lines of a header that name columns, those that say `yes` or `no`, and all. */
const COLUMN_LINES =
  'key identity logged_at part follows members unordered computed past name instance place renewed encoded'.split(' ');
const YES_LINES = 'written_once by_target internal volatile told_in_part'.split(' ');
const LINES = ['grain', 'source', 'sources', 'acted', ...COLUMN_LINES, ...YES_LINES];

/** A header without a fault, which would be ignored without a word. */
function readTableHeader(file: string, ddl: string, columns: readonly Column[]) {
  const header = readHeader(file, ddl, LINES);
  const refuse = (what: string) => new TidemarkError('DATA', `queries/${file}.sql: ${what}`);
  const unsaid = YES_LINES.find((line) => !['yes', 'no'].includes(header[line] ?? 'no'));
  if (unsaid !== undefined) throw refuse(`the header line \`-- ${unsaid}: …\` is neither yes nor no`);
  const known = columns.map(({ name }) => name);
  const unknown = COLUMN_LINES.flatMap((line) => splitList(header[line])).find(
    (name) => name !== '*' && !name.startsWith('extra.') && !known.includes(name),
  );
  if (unknown === undefined) return header;
  throw refuse(`its header names ${unknown}, which is no column with a comment: ${suggestName(unknown, known)}`);
}

/** The table that the header and the columns of a file declare. @throws TidemarkError DATA for a fault of its header */
export function parseTable(folder: string, name: string, ddl: string) {
  const declared = [...ddl.matchAll(COLUMN)].map(([, column = '', type = '', comment = '']): Column => {
    return { name: column, type: type.replace(' not null', '').trim(), comment };
  });
  const header = readTableHeader(`${folder}/${name}`, ddl, declared);
  const columns = header.source ? withoutValidity(declared) : declared;
  const says = (field: string) => header[field] === 'yes';
  return {
    name,
    ddl,
    /** What one row is. */
    grain: header.grain ?? '',
    /** Columns that identify a row within its target; empty for logs. */
    key: splitList(header.key),
    /** Columns that identify a row of a log in the lake; empty if only the whole row does. */
    identity: splitList(header.identity),
    /** The column of a log that says when a row was written. */
    loggedAt: header.logged_at,
    /** Rows of a log belong to the run in `run_id`, and do not change after it. */
    isWrittenOnce: says('written_once'),
    /** Rows of a log are what is known of a target now: those of whoever pulled it before are replaced. */
    byTarget: says('by_target'),
    /** The source that fills it; undefined for logs such as `runs`. */
    source: header.source,
    /** The sources that its rows are of: its own, or those of a view. */
    sources: splitList(header.source ?? header.sources),
    /** A table of the program's own, which no catalogue shows. */
    internal: says('internal'),
    /** Rows come and go by nature: a mass disappearance is no sign of an error. */
    volatile: says('volatile'),
    /** The column that names the part of a row, such as its plugin: what could not be listed is left as it is, part by part. */
    part: header.part,
    /** The column with what rows are asked for, because other tables name it: its rows go when no table does. */
    follows: header.follows,
    /** A column that lists members; its history is kept per member. */
    members: header.members,
    /** Columns with names, separated by comma and space, whose order says nothing: names in another order are no version. */
    unordered: splitList(header.unordered),
    /** Columns, or fields of `extra`, that a service computes from the clock or from a position: a change of them is no version. */
    computed: splitList(header.computed),
    /** Columns with times of what has happened: one that is far in the future or in the past is unknown. */
    past: splitList(header.past),
    /** How the view `changes` tells the changes of its rows. */
    changes: parseChanges(header, columns),
    additions: [] as readonly Addition[],
    /** Columns of the current view, `target` first and `extra` last if there is one. */
    columns: columns as readonly Column[],
  };
}

function parseChanges(header: ReturnType<typeof parseHeader>, columns: readonly Column[]) {
  return {
    /** The column with the name of a row; undefined where rows have none. */
    name: header.name ?? columns.find((column) => column.name === 'name')?.name,
    /** The column that tells two things with one key apart: a row that comes back with another value is another thing. */
    instance: header.instance,
    /** Columns that say where a row belongs, the ID first: a change of the ID is a move. */
    place: splitList(header.place),
    /** Columns that renew themselves, which is no change; `*` for a table whose rows do. */
    renewed: splitList(header.renewed),
    /** Whether a service may not tell some of its columns. */
    isToldInPart: header.told_in_part === 'yes',
    /** Columns with text in base64, which a difference shows as the text. */
    encoded: splitList(header.encoded),
    /** Operations of actions that change its rows, each with the parameters that name a row: `secrets.keys name`. */
    acted: (header.acted?.split(/;\s*/u) ?? []).map((entry) => {
      const [, operation = '', params] = /^(\S+)\s*(.*)$/u.exec(entry) ?? [];
      return { operation, params: splitList(params) };
    }),
  };
}

/** The last column of the key of a table whose rows have no id: it distinguishes rows with equal values in the other columns of the key. */
export const ORDINAL = 'ordinal';

/**
 * Some columns list every workspace that uses something. A change of one workspace would store the whole list again, so the history
 * of such a column is stored per member (`T_members`), with a digest of the list in the row (`T_rows`). The view `T_history`
 * puts the list together again. The stage has both: the digest in the column, so that rows are compared and stored without the
 * list, and the list in `LIST_TEXT`.
 */
export const LIST_TEXT = 'list_text';

/** Whether two rows have one key, as SQL. */
export function sameKey({ key }: Pick<Table, 'key'>, one: string, other: string): string {
  return ['target', ...key]
    .map((name) => `${one}.${quoteIdent(name)} is not distinct from ${other}.${quoteIdent(name)}`)
    .join(' and ');
}

export function columnList(table: Table, prefix = ''): string {
  return table.columns.map(({ name }) => `${prefix}${quoteIdent(name)}`).join(', ');
}

/** The table that stores the versions of rows. For a table with a list column, `T_history` is a view over it. */
export function historyTable(table: Table): string {
  if (!table.source) return table.name;
  return table.members ? `${table.name}_rows` : `${table.name}_history`;
}

/** A list of names or digests: some services give them in another order each time. */
export const isNames = (type: string): boolean => /^(?:varchar|text|string)\[\]$/iu.test(type);

/** SQL for a column whose hash is taken. DuckDB hashes lists so that null is the same as an empty one, and two lists as if exchanged. */
export function hashedColumn({ name, type }: Pick<Column, 'name' | 'type'>): string {
  const column = quoteIdent(name);
  return type.endsWith('[]') ? `to_json(${isNames(type) ? `list_sort(${column})` : column})::varchar` : column;
}

/** SQL for a text with names, whatever their order. A sum costs a tenth of sorting them. */
export const hashedNames = (name: string): string =>
  `list_sum(list_transform(string_split(${quoteIdent(name)}, ', '), lambda one: hash(one)::hugeint))`;

/** SQL for the column `extra` without the fields that a service computes. */
export function withoutComputedFields(extra: string, computed: readonly string[]): string {
  const fields = computed.flatMap((name) => (name.startsWith('extra.') ? [name.slice('extra.'.length)] : []));
  if (fields.length === 0) return extra;
  const without = JSON.stringify(Object.fromEntries(fields.map((name) => [name, null])));
  return `nullif(if(${extra} is null, null, json_merge_patch(${extra}, ${quoteLiteral(without)}))::varchar, '{}')`;
}

/** The tables that a source fills, its main table first. */
export function tablesForSource(source: string, tables: ReadonlyMap<string, Table>): readonly Table[] {
  const filled = [...tables.values()].filter((table) => table.source === source);
  return filled.sort((a, b) => Number(b.name === source) - Number(a.name === source));
}

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
  const found = await database.script(files.read('warehouse/columns'));
  const tables = groupBy(found as readonly unknown[] as readonly (Column & { table: string })[], ({ table }) => table);
  return new Map([...tables].map(([name, columns]) => [name, new Map(columns.map((column) => [column.name, column]))]));
}

/** Whether a declared column is missing: the warehouse is of an earlier version. */
export async function lacksColumns(read: ReadWarehouse): Promise<boolean> {
  const present = await readColumns(read);
  return [...loadTables(read.files).values()].some(({ name, columns }) =>
    columns.some((column) => !present.get(name)?.has(column.name)),
  );
}

/** @param present columns of the warehouse */
export async function readAdditions(read: ReadWarehouse, present: Columns): Promise<readonly Addition[]> {
  if (!present.get('additions')?.has('added_after')) return [];
  const rows = await read.database.script(read.files.read('warehouse/additions'));
  return rows.map(({ table, column, after }) => ({
    table: String(table),
    column: column == null ? null : String(column),
    after: String(after),
  }));
}

export function withAdditions(tables: readonly Table[], added: readonly Addition[]): readonly Table[] {
  return tables.map((table) => ({ ...table, additions: added.filter((addition) => addition.table === table.name) }));
}
