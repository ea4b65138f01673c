import type { OpenWarehouse } from '../warehouse/session.ts';
import {
  type Column,
  type Columns,
  historyTable,
  loadTables,
  parseTable,
  readColumns,
  type Table,
  withoutValidity,
} from '../warehouse/tables.ts';

/**
 * - `history`: versions of rows, with `valid_from` and `valid_to`
 * - `register`: rows of a log that may change, such as findings
 * - `journal`: rows of a log that are written once, with their run
 * - `rollup`: rows that are computed for each run, and are not in the warehouse
 */
export const KINDS = ['history', 'register', 'journal', 'rollup'] as const;

/** A table of the warehouse that the lake holds. Its key, for logs together with a counter, `occurrence`, identifies a row. */
export interface Relation
  extends Pick<
    Table,
    'name' | 'grain' | 'key' | 'loggedAt' | 'unordered' | 'computed' | 'volatile' | 'source' | 'byTarget'
  > {
  readonly kind: (typeof KINDS)[number];
  readonly stored: string;
  readonly columns: readonly Column[];
  /** The column that lists members, and the relation with them. */
  readonly list?: { readonly column: string; readonly relation: string } | undefined;
}

export const RUNS = 'runs';
/** The query with the rows of each run that are not in the warehouse. */
const ROLLUP = 'rollup_nights';

/** Every relation that a publish writes, `runs` last. */
export async function listRelations({ database, files }: OpenWarehouse): Promise<readonly Relation[]> {
  const stored = await readColumns({ database, files });
  const relations = [...loadTables(files).values()].flatMap((table) => toRelations(table, stored));
  const isRuns = ({ name }: Relation) => name === RUNS;
  const rollup = rollupRelation(parseTable('lake', ROLLUP, files.read(`lake/${ROLLUP}`)));
  return [...relations.filter((relation) => !isRuns(relation)), rollup, ...relations.filter(isRuns)];
}

function rollupRelation(table: Table): Relation {
  const columns = table.columns.map((column) => ({ ...column, type: column.type.toUpperCase() }));
  return { ...table, kind: 'rollup', stored: table.name, columns, key: ['target', ...table.key] };
}

function toRelations(table: Table, stored: Columns): readonly Relation[] {
  const name = historyTable(table);
  const columns = [...(stored.get(name)?.values() ?? [])];
  // A table that was declared after the last run is in the warehouse from the next run on.
  if (columns.length === 0) return [];
  return table.source ? historyRelations(table, columns, stored) : [logRelation(table, columns)];
}

function historyRelations(table: Table, columns: readonly Column[], stored: Columns): readonly Relation[] {
  const members = `${table.name}_members`;
  const memberColumns = table.members === undefined ? undefined : stored.get(members);
  const comments = new Map(table.columns.map(({ name, comment }) => [name, comment]));
  const main: Relation = {
    ...table,
    kind: 'history',
    stored: historyTable(table),
    columns: withoutValidity(columns).map((column) => ({ ...column, comment: comments.get(column.name) ?? '' })),
    key: ['target', ...table.key],
    byTarget: true,
  };
  if (table.members === undefined || !memberColumns) return [main];
  return [
    { ...main, list: { column: table.members, relation: members } },
    {
      ...main,
      name: members,
      stored: members,
      grain: `one row per member of the lists in ${table.name}.${table.members}`,
      columns: withoutValidity([...memberColumns.values()]),
      key: [...main.key, 'member', 'nth'],
      unordered: [],
      computed: [],
    },
  ];
}

function logRelation(table: Table, columns: readonly Column[]): Relation {
  const key = table.identity.length > 0 ? table.identity : columns.map(({ name }) => name);
  return { ...table, kind: table.isWrittenOnce ? 'journal' : 'register', stored: table.name, columns, key };
}
