import { tmpdir } from 'node:os';
import type { Engine } from '../core/choices.ts';
import { type Database, openDatabase } from '../warehouse/database.ts';
import { quoteIdent, type SqlFiles } from '../warehouse/sql-files.ts';
import { createLakeReader, createTableViews, type LakeReader, listLakeRelations } from './reader.ts';
import type { LakeStore } from './store.ts';
import { changesTable, type DescribedRelation } from './table.ts';
import { DIALECTS, LATEST, renderAt, renderFor, renderHistory, type ViewWriter } from './views.ts';

export interface DdlOptions {
  readonly engine: Engine;
  /** Where the engine finds the lake: a path, or a URL such as s3://bucket/lake. */
  readonly location: string;
  /** What the name of the schema for internal tables begins with. */
  readonly schema: string;
}

export interface Ddl {
  /** What to query, for people: one line each. */
  readonly guide: readonly string[];
  readonly statements: readonly string[];
}

/**
 * The statements that give an engine the views `T`, `T_history` and `T_at(time)` of each relation, with comments, and, in a schema of its
 * own, what they read. They stay valid until a table or column is added.
 */
export async function renderDdl(reader: LakeReader, options: DdlOptions): Promise<Ddl> {
  const { engine, schema } = options;
  const dialect = DIALECTS[engine];
  const internal = dialect.quote(`${schema}_internal`);
  const place = (name: string) => `${internal}.${dialect.quote(name)}`;
  const relations = await listLakeRelations(reader);
  const writer: ViewWriter = { files: reader.files, dialect, relations, table: place };
  const lists = new Set(relations.flatMap(({ list }) => (list ? [list.relation] : [])));
  const views = listViews(writer).filter(({ isFunction }) => dialect.hasTimeArgument || !isFunction);
  const statements = [
    renderFor(writer, 'lake/ddl_schema', { schema: internal }),
    ...relations.map(({ name }) => renderTable(writer, options, changesTable(name))),
    ...views.flatMap((view) => {
      const name = lists.has(view.relation) ? place(view.name) : dialect.quote(view.name);
      return [renderView(writer, name, view), ...renderComments(writer, name, view)];
    }),
  ];
  const names = relations.map(({ name }) => name).filter((name) => !lists.has(name));
  return {
    guide: [
      'Query T for the present, and T_history for every version of each row, with valid_from and valid_to.',
      ...(dialect.hasTimeArgument ? ['T_at(time) is T as of a time.'] : []),
      `T is ${[...names, 'source_state'].sort().join(', ')}.`,
      `The schema ${schema}_internal has what these views read. Rows count there only once their run is complete: do not query it.`,
    ],
    statements,
  };
}

/**
 * Creates the same views in the reader's DuckDB, over the files that the logs name now.
 * @param isWanted selects relations; `runs` is always one of them. @default all
 */
export async function createLakeViews(reader: LakeReader, isWanted?: (relation: string) => boolean): Promise<void> {
  const relations = await createTableViews(reader, isWanted);
  const writer: ViewWriter = { files: reader.files, dialect: DIALECTS.duckdb, relations, table: quoteIdent };
  for (const view of listViews(writer)) await reader.database.run(renderView(writer, quoteIdent(view.name), view));
}

/**
 * Opens a DuckDB in memory that has the views of a lake.
 * @param queries only what one of them names is read: a lake in a bucket is copied for that. @default everything
 */
export async function openLakeViews(
  store: LakeStore,
  files: SqlFiles,
  memoryLimit: string,
  queries?: readonly string[],
): Promise<Database> {
  const database = await openDatabase(':memory:', { memoryLimit, ownFolderIn: tmpdir() });
  try {
    const isWanted = (relation: string) => queries?.some((sql) => isNamed(sql, relation)) ?? true;
    await createLakeViews(createLakeReader({ store, database, files }), isWanted);
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

/** Whether a query may read a relation. The members of lists belong to the relation with the list, and `source_state` reads `pulls`. */
function isNamed(sql: string, relation: string): boolean {
  return sql.includes(relation.replace(/_members$/u, '')) || (relation === 'pulls' && sql.includes('source_state'));
}

interface View {
  readonly name: string;
  /** The relation that it shows. */
  readonly relation: string;
  readonly query: string;
  readonly comment: string;
  /** Columns with a comment. */
  readonly columns: readonly { readonly name: string; readonly comment: string }[];
  /** It takes a time. */
  readonly isFunction: boolean;
}

const PLAIN = { columns: [], isFunction: false } as const;

function listViews(writer: ViewWriter): readonly View[] {
  const views = writer.relations.flatMap((relation) => relationViews(writer, relation));
  if (!writer.relations.some(({ name }) => name === 'pulls')) return views;
  const name = 'source_state';
  const query = renderFor(writer, 'lake/source_state', { pulls: writer.dialect.quote('pulls') });
  const comment = 'one row per target and source: its last pull, and the time of its last complete one';
  return [...views, { ...PLAIN, name, relation: name, query, comment }];
}

function relationViews(writer: ViewWriter, relation: DescribedRelation): readonly View[] {
  const { name, grain, comments } = relation;
  const columns = relation.columns
    .map((column) => ({ name: column.name, comment: comments.get(column.field) ?? '' }))
    .filter(({ comment }) => comment !== '');
  const base = { ...PLAIN, relation: name };
  const now = renderAt(writer, relation, LATEST);
  const history = renderHistory(writer, relation);
  const at = renderAt(writer, relation, renderFor(writer, 'lake/time_argument', { latest: LATEST }));
  return [
    { ...base, name, query: now, comment: grain, columns },
    { ...base, name: `${name}_history`, query: history, comment: `every version of: ${grain}` },
    { ...base, name: `${name}_at`, query: at, comment: '', isFunction: true },
  ];
}

function renderTable(writer: ViewWriter, options: DdlOptions, name: string): string {
  const { literal } = writer.dialect;
  const isRemote = /^\w+:\/\//u.test(options.location);
  return renderFor(writer, 'lake/ddl_table', {
    name: writer.table(name),
    label: literal(name),
    schema: literal(`${options.schema}_internal`),
    location: literal(`${options.location.replace(/\/+$/u, '')}/${name}`),
    reader: isRemote ? 'deltaLake' : 'deltaLakeLocal',
  });
}

function renderView(writer: ViewWriter, name: string, { query, isFunction }: View): string {
  return renderFor(writer, isFunction ? 'lake/ddl_at' : 'lake/view', { temp: '', name, query });
}

function renderComments(writer: ViewWriter, name: string, { comment, columns, isFunction }: View): readonly string[] {
  if (isFunction) return [];
  const { quote, literal, hasColumnComments } = writer.dialect;
  const described = hasColumnComments ? columns : [];
  return [
    renderFor(writer, 'lake/ddl_comment', { name, comment: literal(comment) }),
    ...described.map((column) => {
      const parts = { name, column: quote(column.name), comment: literal(column.comment) };
      return renderFor(writer, 'lake/ddl_column_comment', parts);
    }),
  ];
}
