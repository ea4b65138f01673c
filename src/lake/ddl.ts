import type { Engine } from '../core/choices.ts';
import { quoteIdent, quoteLiteral, type SqlFiles } from '../warehouse/sql-files.ts';
import { changesTable, type LakeRelation } from './layout.ts';
import { createTableViews, type LakeReader, listLakeRelations } from './reader.ts';
import { DUCKDB, LATEST, renderAt, renderFor, renderHistory, type ViewWriter } from './views.ts';

interface EngineSyntax {
  readonly folder: string | undefined;
  quote(identifier: string): string;
  literal(text: string): string;
  /** Whether a view or function can take a time. */
  readonly hasTimeArgument: boolean;
}

const backslashed = (text: string): string => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;

const SYNTAX: Readonly<Record<Engine, EngineSyntax>> = {
  duckdb: { ...DUCKDB, literal: quoteLiteral, hasTimeArgument: true },
  trino: { folder: 'trino', quote: quoteIdent, literal: quoteLiteral, hasTimeArgument: false },
  clickhouse: { folder: 'clickhouse', quote: quoteIdent, literal: backslashed, hasTimeArgument: true },
  spark: {
    folder: 'spark',
    quote: (identifier) => `\`${identifier.replaceAll('`', '``')}\``,
    literal: backslashed,
    hasTimeArgument: true,
  },
};

export interface DdlOptions {
  readonly engine: Engine;
  /** Where the engine finds the lake: a path, or a URL such as s3://bucket/lake. */
  readonly location: string;
  /** The schema of the tables, for engines that need its name. */
  readonly schema: string;
}

/**
 * The statements that give an engine the tables of a lake, and the views `T`, `T_history` and `T_at(time)` of each relation. They stay
 * valid until a table or column is added.
 */
export async function renderDdl(reader: LakeReader, options: DdlOptions): Promise<readonly string[]> {
  const syntax = SYNTAX[options.engine];
  const writer: ViewWriter = { files: reader.files, dialect: syntax, table: syntax.quote };
  const relations = await listLakeRelations(reader);
  const names = relations.map(({ name }) => changesTable(name));
  const tables = await Promise.all(names.map((name) => renderTable(writer, syntax, options, name)));
  return [...tables, ...(await renderAllViews(writer, syntax, relations))].map((statement) => statement.trim());
}

/**
 * Creates the same views in the reader's DuckDB, over the files that the logs name now.
 * @param isWanted selects relations; `runs` is always one of them. @default all
 */
export async function createLakeViews(reader: LakeReader, isWanted?: (relation: string) => boolean): Promise<void> {
  const relations = await createTableViews(reader, isWanted);
  const writer: ViewWriter = { files: reader.files, dialect: SYNTAX.duckdb, table: quoteIdent };
  for (const statement of await renderAllViews(writer, SYNTAX.duckdb, relations)) await reader.database.run(statement);
}

async function renderAllViews(
  writer: ViewWriter,
  syntax: EngineSyntax,
  relations: readonly LakeRelation[],
): Promise<readonly string[]> {
  const byName = new Map(relations.map((relation) => [relation.name, relation]));
  const statements: string[] = [];
  for (const relation of relations) {
    const members = relation.list && byName.get(relation.list.relation);
    statements.push(...(await renderViews(writer, syntax, relation, members)));
  }
  if (byName.has('pulls')) statements.push(await renderSourceState(writer));
  return statements;
}

function renderTable(writer: ViewWriter, syntax: EngineSyntax, options: DdlOptions, name: string): Promise<string> {
  const isRemote = /^\w+:\/\//u.test(options.location);
  return renderFor(writer, 'lake/ddl_table', {
    name: syntax.quote(name),
    label: syntax.literal(name),
    schema: syntax.literal(options.schema),
    location: syntax.literal(`${options.location.replace(/\/+$/u, '')}/${name}`),
    reader: isRemote ? 'deltaLake' : 'deltaLakeLocal',
  });
}

async function renderViews(
  writer: ViewWriter,
  syntax: EngineSyntax,
  relation: LakeRelation,
  members: LakeRelation | undefined,
): Promise<readonly string[]> {
  const view = (name: string, query: string) => renderView(writer.files, syntax.quote(name), query);
  const present = await view(relation.name, await renderAt(writer, relation, LATEST, members));
  const history = await view(`${relation.name}_history`, await renderHistory(writer, relation, members));
  if (!syntax.hasTimeArgument) return [present, history];
  const time = await renderFor(writer, 'lake/time_argument', { latest: LATEST });
  const query = await renderAt(writer, relation, time, members);
  return [
    present,
    history,
    await renderFor(writer, 'lake/ddl_at', { name: syntax.quote(`${relation.name}_at`), query }),
  ];
}

async function renderSourceState(writer: ViewWriter): Promise<string> {
  const { quote } = writer.dialect;
  const query = await renderFor(writer, 'lake/source_state', { pulls: quote('pulls') });
  return renderView(writer.files, quote('source_state'), query);
}

function renderView(files: SqlFiles, name: string, query: string): Promise<string> {
  return files.render('lake/view', { temp: '', name, query });
}
