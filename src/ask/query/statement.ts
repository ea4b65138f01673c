import type { DuckDBConnection } from '@duckdb/node-api';
import { TidemarkError } from '../../core/errors.ts';
import type { SqlFiles } from '../../warehouse/sql-files.ts';
import { type Row, toRows } from '../../warehouse/values.ts';

/** A statement that a query may be. */
export type Statement = Readonly<Awaited<ReturnType<typeof readStatement>>>;

/** `queries/query/check.sql`. */
interface Parsed extends Row {
  readonly is_select: boolean;
  readonly is_malformed: boolean;
  readonly statements: number;
  readonly shows_tables: boolean;
  readonly names: readonly string[];
  readonly moments: readonly string[];
}

/**
 * EXPLAIN and its options, which DuckDB's parser does not describe. What follows begins with a token of its own, so that it is parsed
 * as it is within the statement.
 */
const EXPLAIN =
  /^(?:[ \t\r\n]|--[^\r\n]*[\r\n])*explain(?:[ \t\r\n]+analyze)?(?:[ \t\r\n]*\((?:analyze|format)\b[\w, \t\r\n]*\))?(?=[ \t\r\n(])/iu;

/**
 * Asks DuckDB's parser what a text is, and refuses all but one SELECT, DESCRIBE, SUMMARIZE or EXPLAIN of names that are harmless.
 * Nothing of the text is bound or run.
 * @throws TidemarkError DATA; DuckDB's error if the syntax is wrong.
 */
export async function readStatement(connection: DuckDBConnection, files: SqlFiles, text: string) {
  const parse = async (sql: string) => {
    const result = await connection.run(files.read('query/check'), { text: sql });
    return toRows(result)[0] as Parsed;
  };
  const whole = await parse(text);
  const [explain = ''] = EXPLAIN.exec(text) ?? [];
  const parsed = whole.is_select || explain === '' ? whole : await parse(text.slice(explain.length));
  if (whole.is_malformed || parsed.is_malformed) await connection.extractStatements(text); // DuckDB's message shows the place
  if (!parsed.is_select) {
    throw new TidemarkError('DATA', 'the warehouse is read-only: give a SELECT, DESCRIBE, SUMMARIZE or EXPLAIN');
  }
  if (parsed.statements !== 1) throw new TidemarkError('DATA', `expected one statement, got ${parsed.statements}`);
  await assertHarmless(connection, files, parsed.names);
  const isExplain = parsed !== whole;
  return {
    /** Without what ends it, so that it is valid in parentheses. */
    text: isExplain ? text : await trimEnd(text, parse),
    isExplain,
    /** SHOW TABLES, or DESCRIBE alone. */
    showsTables: !isExplain && parsed.shows_tables,
    /** Constant times of table functions. */
    moments: isExplain ? [] : parsed.moments,
  };
}

/** A SELECT of ours. */
export function asOwn(query: string): Statement {
  return { text: query.trimEnd().replace(/;$/u, ''), isExplain: false, showsTables: false, moments: [] };
}

/** DuckDB's catalogue is the same for as long as the process lives. */
let refusedNames: ReadonlySet<string> | undefined;

async function assertHarmless(connection: DuckDBConnection, files: SqlFiles, names: readonly string[]): Promise<void> {
  if (names.length === 0) return;
  if (!refusedNames) {
    const rows = toRows(await connection.run(files.read('query/refused')));
    refusedNames = new Set(rows.map(({ kind, name }) => `${kind}:${name}`));
  }
  const refused = names.find((name) => refusedNames?.has(name));
  if (refused === undefined) return;
  const [kind, name] = refused.split(':', 2);
  throw new TidemarkError('DATA', `the ${kind} ${name} is not available`);
}

/** Cuts a semicolon that ends the statement, and what follows it: the text is cut until it is valid in parentheses. */
async function trimEnd(text: string, parse: (sql: string) => Promise<Parsed>): Promise<string> {
  for (let end = text.length; end > 0; end = text.lastIndexOf(';', end - 1)) {
    const rest = text.slice(0, end);
    if (!rest.includes(';') || (await parse(`from (${rest}\n)`)).is_select) return rest;
  }
  return text;
}
