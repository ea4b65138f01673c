import type { Database } from '../warehouse/database.ts';
import type { SqlFiles } from '../warehouse/sql-files.ts';
import { type Column, historyTable, type Table } from '../warehouse/tables.ts';

/** A column as the warehouse has it. */
export type WarehouseColumn = Pick<Column, 'name' | 'type' | 'comment'>;

/**
 * - `history`: versions of rows, with `valid_from` and `valid_to`
 * - `register`: rows of a log that may change, such as findings
 * - `journal`: rows of a log that are written once, with their run
 * - `rollup`: rows that are computed for each run, and are not in the warehouse
 */
export const KINDS = ['history', 'register', 'journal', 'rollup'] as const;

/** A table of the warehouse that the lake holds. */
export interface Relation {
  readonly name: string;
  readonly kind: (typeof KINDS)[number];
  /** The stored table; the name of the query in `queries/lake` for a rollup. */
  readonly stored: string;
  readonly description: string;
  readonly columns: readonly WarehouseColumn[];
  /** Columns that identify a row; for logs together with a counter, `occurrence`. */
  readonly key: readonly string[];
  /** The column with the time that a row of a log was written. */
  readonly loggedAt: string | undefined;
  /** Columns, or fields of `extra`, that change without a new version. */
  readonly computed: readonly string[];
  /** Rows come and go by nature. */
  readonly volatile: boolean;
  /** The source that fills a history. */
  readonly source: string | undefined;
  /** Rows belong to their target, and not to the writer that has published them. */
  readonly byTarget: boolean;
  /** The column that lists members, and the relation with them. */
  readonly list: { readonly column: string; readonly relation: string } | undefined;
}

/** Its last commit makes a publish visible. */
export const RUNS = 'runs';

/** What most relations have not. */
const PLAIN = { loggedAt: undefined, computed: [], volatile: true, source: undefined, list: undefined } as const;

const ROLLUP: Relation = {
  ...PLAIN,
  name: 'rollup_nights',
  kind: 'rollup',
  stored: 'rollup_nights',
  description: 'one row per target, project, night and measure',
  columns: [
    { name: 'target', type: 'VARCHAR', comment: 'name of the target' },
    { name: 'project', type: 'VARCHAR', comment: 'project; null for a measure of the whole target' },
    { name: 'night', type: 'DATE', comment: 'day of the run, in UTC' },
    { name: 'measure', type: 'VARCHAR', comment: 'what is measured' },
    { name: 'value', type: 'DOUBLE', comment: 'its value after the run' },
  ],
  key: ['target', 'project', 'night', 'measure'],
  byTarget: true,
};

/** Every relation that a publish writes, `runs` last. */
export async function listRelations(
  database: Database,
  files: SqlFiles,
  tables: ReadonlyMap<string, Table>,
): Promise<readonly Relation[]> {
  const stored = await readColumns(database, files);
  const relations = [...tables.values()].flatMap((table) => toRelations(table, stored));
  const isRuns = ({ name }: Relation) => name === RUNS;
  return [...relations.filter((relation) => !isRuns(relation)), ROLLUP, ...relations.filter(isRuns)];
}

type StoredColumns = ReadonlyMap<string, readonly WarehouseColumn[]>;

async function readColumns(database: Database, files: SqlFiles): Promise<StoredColumns> {
  const columns = new Map<string, WarehouseColumn[]>();
  for (const { table, name, type, comment } of await database.rows(await files.read('lake/columns'))) {
    const column = { name: String(name), type: String(type), comment: String(comment) };
    columns.set(String(table), [...(columns.get(String(table)) ?? []), column]);
  }
  return columns;
}

function toRelations(table: Table, stored: StoredColumns): readonly Relation[] {
  const name = historyTable(table);
  const columns = stored.get(name);
  // A table that was declared after the last run is in the warehouse from the next run on.
  if (!columns) return [];
  return table.source ? historyRelations(table, columns, stored) : [logRelation(table, columns)];
}

const VALIDITY = new Set(['valid_from', 'valid_to']);
const withoutValidity = (columns: readonly WarehouseColumn[]) => columns.filter(({ name }) => !VALIDITY.has(name));

function historyRelations(
  table: Table,
  columns: readonly WarehouseColumn[],
  stored: StoredColumns,
): readonly Relation[] {
  const members = `${table.name}_members`;
  const memberColumns = stored.get(members);
  const comments = new Map(table.columns.map(({ name, comment }) => [name, comment]));
  const main: Relation = {
    ...PLAIN,
    name: table.name,
    kind: 'history',
    stored: historyTable(table),
    description: table.grain,
    columns: withoutValidity(columns).map((column) => ({ ...column, comment: comments.get(column.name) ?? '' })),
    key: ['target', ...table.key],
    computed: table.computed,
    volatile: table.volatile,
    source: table.source,
    byTarget: true,
    list: table.members && memberColumns ? { column: table.members, relation: members } : undefined,
  };
  if (!main.list || !memberColumns) return [main];
  return [
    main,
    {
      ...main,
      name: members,
      stored: members,
      description: `one row per member of the lists in ${table.name}.${table.members}`,
      columns: withoutValidity(memberColumns),
      key: [...main.key, 'member', 'nth'],
      computed: [],
      list: undefined,
    },
  ];
}

function logRelation(table: Table, columns: readonly WarehouseColumn[]): Relation {
  return {
    ...PLAIN,
    name: table.name,
    kind: table.isWrittenOnce ? 'journal' : 'register',
    stored: table.name,
    description: table.grain,
    columns,
    key: table.identity.length > 0 ? table.identity : columns.map(({ name }) => name),
    loggedAt: table.loggedAt,
    byTarget: table.byTarget,
  };
}
