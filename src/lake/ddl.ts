import type { Engine } from '../core/choices.ts';
import type { Database } from '../warehouse/database.ts';
import { quoteIdent, type SqlFiles } from '../warehouse/sql-files.ts';
import { openWithOwnFolder } from '../warehouse/temporary-folder.ts';
import { parseFields } from './delta-log.ts';
import { changesTable, type LakeRelation } from './layout.ts';
import { createLakeReader, createTableViews, type LakeReader, listLakeRelations } from './reader.ts';
import type { LakeStore } from './store.ts';
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
  const dialect = DIALECTS[options.engine];
  const internal = dialect.quote(`${options.schema}_internal`);
  const place = (name: string) => `${internal}.${dialect.quote(name)}`;
  const writer: ViewWriter = { files: reader.files, dialect, table: place };
  const relations = await listLakeRelations(reader);
  const lists = new Set(relations.flatMap(({ list }) => (list ? [list.relation] : [])));
  const views = (await listViews(reader, writer, relations)).filter(
    ({ isFunction }) => dialect.hasTimeArgument || !isFunction,
  );
  const rendered = views.map(async (view) => {
    const name = lists.has(view.relation) ? place(view.name) : dialect.quote(view.name);
    return [await renderView(writer, name, view), ...(await renderComments(writer, name, view))];
  });
  const names = relations.map(({ name }) => name);
  return {
    guide: describe(
      options,
      names.filter((name) => !lists.has(name)),
    ),
    statements: [
      await renderFor(writer, 'lake/ddl_schema', { schema: internal }),
      ...(await Promise.all(names.map((name) => renderTable(writer, options, changesTable(name))))),
      ...(await Promise.all(rendered)).flat(),
    ],
  };
}

function describe({ engine, schema }: DdlOptions, names: readonly string[]): readonly string[] {
  return [
    'Query T for the present, and T_history for every version of each row, with valid_from and valid_to.',
    ...(DIALECTS[engine].hasTimeArgument ? ['T_at(time) is T as of a time.'] : []),
    `T is ${[...names, 'source_state'].sort().join(', ')}.`,
    `The schema ${schema}_internal has what these views read. Rows count there only once their run is complete: do not query it.`,
  ];
}

/**
 * Creates the same views in the reader's DuckDB, over the files that the logs name now.
 * @param isWanted selects relations; `runs` is always one of them. @default all
 */
export async function createLakeViews(reader: LakeReader, isWanted?: (relation: string) => boolean): Promise<void> {
  const relations = await createTableViews(reader, isWanted);
  const writer: ViewWriter = { files: reader.files, dialect: DIALECTS.duckdb, table: quoteIdent };
  for (const view of await listViews(reader, writer, relations)) {
    await reader.database.run(await renderView(writer, quoteIdent(view.name), view));
  }
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
  const database = await openWithOwnFolder(':memory:', { memoryLimit });
  try {
    const isWanted = (relation: string) => queries?.some((sql) => isNamed(sql, relation)) ?? true;
    await createLakeViews(createLakeReader(store, database, files), isWanted);
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
  readonly columns: readonly { readonly name: string; readonly comment: string }[];
  /** It takes a time. */
  readonly isFunction: boolean;
}

async function listViews(
  reader: LakeReader,
  writer: ViewWriter,
  relations: readonly LakeRelation[],
): Promise<readonly View[]> {
  const byName = new Map(relations.map((relation) => [relation.name, relation]));
  const views: View[] = [];
  for (const relation of relations) {
    const members = relation.list && byName.get(relation.list.relation);
    views.push(...(await relationViews(reader, writer, relation, members)));
  }
  if (byName.has('pulls')) views.push(await sourceState(writer));
  return views;
}

async function relationViews(
  reader: LakeReader,
  writer: ViewWriter,
  relation: LakeRelation,
  members: LakeRelation | undefined,
): Promise<readonly View[]> {
  const { metaData } = await reader.snapshot(changesTable(relation.name));
  const comments = new Map(
    (metaData ? parseFields(metaData) : []).map((field) => [field.name, field.metadata.comment]),
  );
  const columns = relation.columns.map(({ name, field }) => ({ name, comment: comments.get(field) ?? '' }));
  const grain = metaData?.description ?? '';
  const base = { relation: relation.name, columns, isFunction: false };
  const time = await renderFor(writer, 'lake/time_argument', { latest: LATEST });
  return [
    { ...base, name: relation.name, query: await renderAt(writer, relation, LATEST, members), comment: grain },
    {
      ...base,
      name: `${relation.name}_history`,
      query: await renderHistory(writer, relation, members),
      comment: `every version of: ${grain}`,
      columns: [],
    },
    {
      ...base,
      name: `${relation.name}_at`,
      query: await renderAt(writer, relation, time, members),
      comment: `as of a time: ${grain}`,
      isFunction: true,
    },
  ];
}

async function sourceState(writer: ViewWriter): Promise<View> {
  const query = await renderFor(writer, 'lake/source_state', { pulls: writer.dialect.quote('pulls') });
  const comment = 'one row per target and source: its last pull, and the time of its last complete one';
  return { name: 'source_state', relation: 'source_state', query, comment, columns: [], isFunction: false };
}

function renderTable(writer: ViewWriter, options: DdlOptions, name: string): Promise<string> {
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

function renderView(writer: ViewWriter, name: string, { query, isFunction }: View): Promise<string> {
  return renderFor(writer, isFunction ? 'lake/ddl_at' : 'lake/view', { temp: '', name, query });
}

async function renderComments(
  writer: ViewWriter,
  name: string,
  { comment, columns, isFunction }: View,
): Promise<readonly string[]> {
  if (isFunction) return [];
  const { quote, literal, hasColumnComments } = writer.dialect;
  const described = hasColumnComments ? columns.filter((column) => column.comment !== '') : [];
  return Promise.all([
    renderFor(writer, 'lake/ddl_comment', { name, comment: literal(comment) }),
    ...described.map((column) => {
      const parts = { name, column: quote(column.name), comment: literal(column.comment) };
      return renderFor(writer, 'lake/ddl_column_comment', parts);
    }),
  ]);
}
