import type { Engine } from '../core/choices.ts';
import { quoteIdent, quoteLiteral, type SqlFiles } from '../warehouse/sql-files.ts';
import { createTableViews, type LakeReader, listLakeRelations } from './reader.ts';
import { changesTable, type DescribedRelation, RUNS_TABLE, relationParts, replacesRows } from './table.ts';

const backslashed = (text: string): string => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;

const STANDARD = {
  /** The folder of its files in `queries/dialects`, which come before those of `queries`. */
  folder: 'duckdb' as Engine,
  quote: quoteIdent,
  literal: quoteLiteral,
  /** Whether two values are equal, or both null. */
  same: (one: string, other: string) => `${one} is not distinct from ${other}`,
  /** Whether a view or function can take a time. */
  hasTimeArgument: true,
  /** Whether the columns of a view that exists can have comments. */
  hasColumnComments: true,
};

/** What the SQL of an engine has of its own. */
type Dialect = Readonly<typeof STANDARD>;

export const DIALECTS: Readonly<Record<Engine, Dialect>> = {
  duckdb: STANDARD,
  trino: { ...STANDARD, folder: 'trino', hasTimeArgument: false },
  clickhouse: {
    ...STANDARD,
    folder: 'clickhouse',
    quote: (identifier) => quoteIdent(identifier.replaceAll('\\', '\\\\')),
    literal: backslashed,
  },
  spark: {
    ...STANDARD,
    folder: 'spark',
    quote: (identifier) => `\`${identifier.replaceAll('`', '``')}\``,
    literal: backslashed,
    same: (one, other) => `${one} <=> ${other}`,
    hasColumnComments: false,
  },
};

/** Writes the queries of relations over the tables of the lake. */
export interface ViewWriter {
  readonly files: SqlFiles;
  readonly dialect: Dialect;
  /** With the members of lists; a list without its members is a digest. */
  readonly relations: readonly DescribedRelation[];
  /** The name of a table of the lake. */
  table(name: string): string;
  /** The publishes that count, with the columns `publish` and `as_of`. @default the changes of runs */
  readonly runs?: string;
}

/** The file of the engine, or else the common one. */
function renderFor({ files, dialect }: ViewWriter, name: string, parts: Readonly<Record<string, string>>): string {
  const own = `dialects/${dialect.folder}/${name}`;
  return files.render(files.has(own) ? own : name, parts).trim();
}

/** The time up to which the lake has runs. */
export const LATEST = 'max(as_of)';

/** The rows of a relation at a time. @param present SQL over the rows of `runs_changes`, such as `LATEST` */
export function renderAt(writer: ViewWriter, relation: DescribedRelation, present: string): string {
  return renderWithMembers(writer, relation, 'lake/list_at', (part) =>
    renderFor(writer, replacesRows(part) ? 'lake/at' : 'lake/at_written_once', {
      ...queryParts(writer, part),
      present,
    }),
  );
}

/** The versions of the rows of a relation. */
export function renderHistory(writer: ViewWriter, relation: DescribedRelation): string {
  const query = (part: DescribedRelation) => renderFor(writer, 'lake/history', queryParts(writer, part));
  return renderWithMembers(writer, relation, 'lake/list_history', query);
}

function queryParts(writer: ViewWriter, relation: DescribedRelation): Readonly<Record<string, string>> {
  const { quote } = writer.dialect;
  return {
    ...relationParts(relation, quote),
    changes: writer.table(changesTable(relation.name)),
    runs: writer.runs ?? writer.table(RUNS_TABLE),
    // Under the names of the warehouse.
    columns: relation.columns
      .map(({ name, field }) => (name === field ? quote(name) : `${quote(field)} as ${quote(name)}`))
      .join(', '),
  };
}

/** A relation with a list is the query `name` of its rows and of its members. */
function renderWithMembers(
  writer: ViewWriter,
  relation: DescribedRelation,
  name: string,
  query: (part: DescribedRelation) => string,
): string {
  const rows = query(relation);
  const members = writer.relations.find((one) => one.name === relation.list?.relation);
  if (!members) return rows;
  return renderFor(writer, name, { ...listParts(writer, relation), rows, members: query(members) });
}

/** What puts a list together again: the relation has its digest, and each member is a row of another. */
function listParts(writer: ViewWriter, relation: DescribedRelation): Readonly<Record<string, string>> {
  const { quote, same } = writer.dialect;
  const list = quote(relation.list?.column ?? '');
  const key = relation.identity.map((field) =>
    quote(relation.columns.find((column) => column.field === field)?.name ?? field),
  );
  const compare = (table: string) => key.map((name) => same(`${table}.${name}`, `lake_row.${name}`)).join(' and ');
  const aggregate = { member: 'lake_member.member', rank: 'lake_member.rank' };
  return {
    key: key.join(', '),
    versionKey: key.map((name) => `lake_row.${name} as ${name}`).join(', '),
    qualifiedKey: key.map((name) => `lake_row.${name}`).join(', '),
    sameMember: compare('lake_member'),
    sameList: compare('lake_lists'),
    aggregate: renderFor(writer, 'lake/list_aggregate', aggregate),
    columns: relation.columns
      .map(({ name }) =>
        quote(name) === list
          ? `case when lake_row.${list} is null then null else lake_lists.lake_list end as ${list}`
          : `lake_row.${quote(name)} as ${quote(name)}`,
      )
      .join(', '),
  };
}

interface DdlOptions {
  readonly engine: Engine;
  /** Where the engine finds the lake: a path, or a URL such as s3://bucket/lake. */
  readonly location: string;
  /** What the name of the schema for internal tables begins with. */
  readonly schema: string;
}

/**
 * The statements that give an engine the views `T`, `T_history` and `T_at(time)` of each relation, with comments, and, in a schema of its
 * own, what they read. They stay valid until a table or column is added.
 */
export async function renderDdl(reader: LakeReader, options: DdlOptions) {
  const { engine, schema } = options;
  const dialect = DIALECTS[engine];
  const internal = dialect.quote(`${schema}_internal`);
  const place = (name: string) => `${internal}.${dialect.quote(name)}`;
  const relations = await listLakeRelations(reader);
  const writer: ViewWriter = { files: reader.files, dialect, relations, table: place };
  const names = relations.map(({ name }) => name).filter((name) => !isMembers(relations, name));
  return {
    /** What to query, for people: one line each. */
    guide: [
      'Query T for the present, and T_history for every version of each row, with valid_from and valid_to.',
      ...(dialect.hasTimeArgument ? ['T_at(time) is T as of a time.'] : []),
      `T is ${[...names, 'source_state'].sort().join(', ')}.`,
      `The schema ${schema}_internal has what these views read. Rows count there only once their run is complete: do not query it.`,
    ],
    statements: [
      renderFor(writer, 'lake/ddl_schema', { schema: internal }),
      ...relations.map(({ name }) => renderTable(writer, options, changesTable(name))),
      ...renderViews(writer),
    ],
  };
}

/**
 * Creates the same views in the reader's DuckDB, over the files that the logs name now.
 * @param queries only what one of them names is read: a lake in a bucket is copied for that. @default everything
 */
export async function createLakeViews(reader: LakeReader, queries?: readonly string[]): Promise<void> {
  const isWanted = (relation: string) => queries?.some((sql) => isNamed(sql, relation)) ?? true;
  const relations = await createTableViews(reader, isWanted);
  const dialect = { ...DIALECTS.duckdb, hasColumnComments: false };
  const statements = renderViews({ files: reader.files, dialect, relations, table: quoteIdent });
  await reader.database.script(statements.join('\n'));
}

/** Whether a query may read a relation. The members of lists belong to the relation with the list, and `source_state` reads `pulls`. */
function isNamed(sql: string, relation: string): boolean {
  return sql.includes(relation.replace(/_members$/u, '')) || (relation === 'pulls' && sql.includes('source_state'));
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

/** Whether a relation has the members of lists, which are for the views with these lists only. */
function isMembers(relations: readonly DescribedRelation[], name: string): boolean {
  return relations.some(({ list }) => list?.relation === name);
}

/** The statements that create the views of all relations, each with its comments. */
function renderViews(writer: ViewWriter): readonly string[] {
  const { dialect, relations } = writer;
  const views = relations.flatMap((relation) => renderRelation(writer, relation));
  if (!relations.some(({ name }) => name === 'pulls')) return views;
  const query = renderFor(writer, 'lake/source_state', { pulls: dialect.quote('pulls') });
  const comment = 'one row per target and source: its last pull, and the time of its last complete one';
  return [...views, ...renderView(writer, dialect.quote('source_state'), query, comment)];
}

function renderRelation(writer: ViewWriter, relation: DescribedRelation): readonly string[] {
  const { dialect, relations, table } = writer;
  const { name, grain, comments } = relation;
  const place = isMembers(relations, name) ? table : dialect.quote;
  const columns = dialect.hasColumnComments ? relation.columns.filter(({ field }) => comments.get(field)) : [];
  const time = renderFor(writer, 'lake/time_argument', { latest: LATEST });
  const at = { name: place(`${name}_at`), query: renderAt(writer, relation, time) };
  return [
    ...renderView(writer, place(name), renderAt(writer, relation, LATEST), grain),
    ...columns.map((column) => {
      const comment = dialect.literal(comments.get(column.field) ?? '');
      const parts = { name: place(name), column: dialect.quote(column.name), comment };
      return renderFor(writer, 'lake/ddl_column_comment', parts);
    }),
    ...renderView(writer, place(`${name}_history`), renderHistory(writer, relation), `every version of: ${grain}`),
    ...(dialect.hasTimeArgument ? [renderFor(writer, 'lake/ddl_at', at)] : []),
  ];
}

function renderView(writer: ViewWriter, name: string, query: string, comment: string): readonly string[] {
  return [
    renderFor(writer, 'lake/view', { temp: '', name, query }),
    renderFor(writer, 'lake/ddl_comment', { name, comment: writer.dialect.literal(comment) }),
  ];
}
