import type { Engine } from '../core/choices.ts';
import { quoteIdent, quoteLiteral, type SqlFiles } from '../warehouse/sql-files.ts';
import { RUNS } from './relations.ts';
import { changesTable, type DescribedRelation, type LakeRelation, relationParts, replacesRows } from './table.ts';

/** What the SQL of an engine has of its own. */
interface Dialect {
  /** The folder of its files in `queries/dialects`, which come before those of `queries`. */
  readonly folder: Engine;
  quote(identifier: string): string;
  literal(text: string): string;
  /** Whether two values are equal, or both null. */
  same(one: string, other: string): string;
  /** Whether a view or function can take a time. */
  readonly hasTimeArgument: boolean;
  /** Whether the columns of a view that exists can have comments. */
  readonly hasColumnComments: boolean;
}

const backslashed = (text: string): string => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;

const STANDARD: Dialect = {
  folder: 'duckdb',
  quote: quoteIdent,
  literal: quoteLiteral,
  same: (one, other) => `${one} is not distinct from ${other}`,
  hasTimeArgument: true,
  hasColumnComments: true,
};

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
export function renderFor(
  { files, dialect }: Pick<ViewWriter, 'files' | 'dialect'>,
  name: string,
  parts: Readonly<Record<string, string>>,
): string {
  const own = `dialects/${dialect.folder}/${name}`;
  return files.render(files.has(own) ? own : name, parts).trim();
}

/** The time up to which the lake has runs. */
export const LATEST = 'max(as_of)';

/**
 * The rows of a relation at a time.
 * @param present SQL over the rows of `runs_changes`, such as `LATEST`
 */
export function renderAt(writer: ViewWriter, relation: LakeRelation, present: string): string {
  return renderWithMembers(writer, relation, 'lake/list_at', (part) =>
    renderFor(writer, replacesRows(part) ? 'lake/at' : 'lake/at_written_once', {
      ...queryParts(writer, part),
      present,
    }),
  );
}

/** The versions of the rows of a relation. */
export function renderHistory(writer: ViewWriter, relation: LakeRelation): string {
  const query = (part: LakeRelation) => renderFor(writer, 'lake/history', queryParts(writer, part));
  return renderWithMembers(writer, relation, 'lake/list_history', query);
}

function queryParts(writer: ViewWriter, relation: LakeRelation): Readonly<Record<string, string>> {
  const { quote } = writer.dialect;
  return {
    ...relationParts(relation, quote),
    changes: writer.table(changesTable(relation.name)),
    runs: writer.runs ?? writer.table(changesTable(RUNS)),
    // Under the names of the warehouse.
    columns: relation.columns
      .map(({ name, field }) => (name === field ? quote(name) : `${quote(field)} as ${quote(name)}`))
      .join(', '),
  };
}

/** A relation with a list is the query `name` of its rows and of its members. */
function renderWithMembers(
  writer: ViewWriter,
  relation: LakeRelation,
  name: string,
  query: (part: LakeRelation) => string,
): string {
  const rows = query(relation);
  const members = writer.relations.find((one) => one.name === relation.list?.relation);
  if (!members) return rows;
  return renderFor(writer, name, { ...listParts(writer, relation), rows, members: query(members) });
}

/** What puts a list together again: the relation has its digest, and each member is a row of another. */
function listParts(writer: ViewWriter, relation: LakeRelation): Readonly<Record<string, string>> {
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
