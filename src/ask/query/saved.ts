import { unknownName } from '../../config/suggest.ts';
import { parseTimestamp } from '../../core/clock.ts';
import { catchKnown, formatError, TidemarkError } from '../../core/errors.ts';
import { discoverFiles } from '../../core/paths.ts';
import { createSqlFiles, readHeader } from '../../warehouse/sql-files.ts';
import { replaceParams } from '../../warehouse/sql-params.ts';
import type { QueryRequest } from './protocol.ts';

/** What a value of a parameter must look like, and what it becomes in SQL. `to_days` takes no `bigint`. */
const TYPES = {
  text: { matches: () => true, cast: () => '', example: 'any text' },
  integer: {
    matches: (text: string) => /^-?\d+$/u.test(text),
    cast: (text: string) => (Math.abs(Number(text)) < 2 ** 31 ? '::integer' : '::hugeint'),
    example: 'a whole number such as 30',
  },
  number: {
    matches: (text: string) => /^-?\d+(?:\.\d+)?$/u.test(text),
    cast: () => '::double',
    example: 'a number such as 1.5',
  },
  boolean: {
    matches: (text: string) => text === 'true' || text === 'false',
    cast: () => '::boolean',
    example: 'true or false',
  },
  timestamp: {
    matches: (text: string) => parseTimestamp(text) !== undefined,
    cast: () => '::timestamptz',
    example: 'a time such as 2026-11-20 or 2026-11-20T02:15:00Z',
  },
} as const;

export type Parameter = Readonly<ReturnType<typeof parseParameter>>;

/** A query in `queries/saved/`. `problem`: why it cannot be run, which its title says as well. */
export type SavedQuery = Readonly<ReturnType<typeof parseSavedQuery>> & { readonly problem?: string };

/**
 * All saved queries by name. A file beside the configuration overrides the package's file of the same name. One that cannot be read has
 * a `problem`, and stops no other.
 */
export function loadSavedQueries(roots: readonly string[]): ReadonlyMap<string, SavedQuery> {
  const files = createSqlFiles(roots);
  const names = [...discoverFiles(roots, 'queries/saved', '.sql').keys()];
  const queries = names.map((name): SavedQuery => {
    try {
      return parseSavedQuery(name, files.read(`saved/${name}`));
    } catch (error) {
      const problem = formatError(catchKnown(error));
      return { name, title: `cannot be run: ${problem}`, description: '', parameters: [], sql: '', problem };
    }
  });
  return new Map(queries.map((query) => [query.name, query]));
}

/** @throws TidemarkError USAGE naming the closest match; DATA for one that cannot be read. */
export function findSavedQuery(queries: ReadonlyMap<string, SavedQuery>, name: string): SavedQuery {
  const query = queries.get(name);
  if (query?.problem !== undefined) throw new TidemarkError('DATA', query.problem);
  if (query) return query;
  throw unknownName('saved query', name, [...queries.keys()]);
}

/** The comments at the top of a file. */
const HEADER = /^(?:(?:--[^\n]*|[^\S\n]*)\n)*/u;
const PARAMETER_LINE = /^--\s*param:\s*(.*\S)\s*$/gmu;
/** `NAME TYPE = DEFAULT - DESCRIPTION`; the default may have ` - ` too, and the description may not. */
const PARAMETER = /^(?<name>\w+) (?<type>\w+)(?: = (?<defaultSql>.+?))?(?: - (?<description>(?:(?! - ).)+))?$/u;

function parseSavedQuery(name: string, sql: string) {
  if (sql.replaceAll(/--.*$|[\s;]/gmu, '') === '')
    throw new TidemarkError('DATA', `queries/saved/${name}.sql has no query`);
  const { title = name, description = '' } = readHeader(`saved/${name}`, sql, ['title', 'description', 'param']);
  const [header = ''] = HEADER.exec(sql) ?? [];
  const parameters = [...header.matchAll(PARAMETER_LINE)].map(([, text = '']) => parseParameter(name, text));
  return { name, title, description, parameters, sql };
}

/** `defaultSql`: undefined where a value is required. */
function parseParameter(query: string, text: string) {
  const { name, type, defaultSql, description = '' } = PARAMETER.exec(text)?.groups ?? {};
  if (name === undefined || type === undefined || !Object.hasOwn(TYPES, type)) {
    throw new TidemarkError('DATA', `queries/saved/${query}.sql: \`-- param: ${text}\` is not a parameter`, {
      hint: `write NAME TYPE [= DEFAULT] [- DESCRIPTION], with a type of ${Object.keys(TYPES).join(', ')}`,
    });
  }
  return { name, type: type as keyof typeof TYPES, defaultSql, description };
}

/**
 * The query as it runs: a given value is a parameter of its type, and the default of every other one, which is SQL, takes its place in the text.
 * @throws TidemarkError USAGE if a value is missing, of no parameter, or not of its type.
 */
export function fillSavedQuery(saved: SavedQuery, given: QueryRequest['params']) {
  const { name: query, sql, parameters } = saved;
  const refuse = (message: string) => new TidemarkError('USAGE', message, { hint: describeParameters(saved) });
  const unknown = Object.keys(given).find((name) => !parameters.some((parameter) => parameter.name === name));
  if (unknown !== undefined) throw refuse(`${query} has no parameter ${unknown}`);
  const values = new Map<string, string>();
  for (const { name, type, defaultSql } of parameters) {
    const value = Object.hasOwn(given, name) ? given[name] : undefined; // `constructor` is in every object
    const { matches, cast, example } = TYPES[type];
    if (value !== undefined && !matches(value)) throw new TidemarkError('USAGE', `${name}=${value} is not ${example}`);
    if (value === undefined && defaultSql === undefined) throw refuse(`${query} needs ${name}=VALUE`);
    values.set(name, value === undefined ? `(${defaultSql})` : `($${name}${cast(value)})`);
  }
  return { query: replaceParams(sql, (name) => values.get(name) ?? `$${name}`), params: given };
}

function describeParameters({ parameters }: SavedQuery): string {
  if (parameters.length === 0) return 'it has none';
  return `its parameters are ${parameters.map(formatParameter).join('; ')}`;
}

/** `days=INTEGER (days without an apply; 365 by default)`. */
function formatParameter({ name, type, defaultSql, description }: Parameter): string {
  const notes = [description, defaultSql === undefined ? 'required' : `${defaultSql} by default`];
  return `${name}=${type.toUpperCase()} (${notes.filter(Boolean).join('; ')})`;
}
