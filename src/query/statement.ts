import { TidemarkError } from '../core/errors.ts';

/** The tokens of SQL that matter here, as DuckDB's lexer reads them; whatever is in quotes is one token. */
const TOKEN =
  /(?<text>[eE]'(?:[^'\\]|\\[\s\S]|'')*'|'(?:[^']|'')*'|\$(?<tag>\w*)\$[\s\S]*?\$\k<tag>\$)|(?<quoted>"(?:[^"]|"")*")|(?<space>--[^\n]*|\s+)|(?<open>\/\*)|(?<name>[\p{L}_][\p{L}\p{N}_$]*)|(?<other>[\s\S])/uy;
const COMMENT_EDGE = /\/\*|\*\//gu;

interface Token {
  readonly kind: 'text' | 'name' | 'space' | 'other';
  /** The text; of a quoted name, the name. */
  readonly value: string;
  /** Offset of the first character after the token. */
  readonly end: number;
}

function* tokenize(sql: string): Generator<Token, void, undefined> {
  for (let at = 0; at < sql.length; ) {
    TOKEN.lastIndex = at;
    const match = TOKEN.exec(sql);
    const value = match?.[0] ?? '';
    const groups = match?.groups ?? {};
    const end = groups.open === undefined ? at + value.length : endOfComment(sql, at);
    if (groups.text !== undefined) yield { kind: 'text', value, end };
    else if (groups.quoted !== undefined) yield { kind: 'name', value: value.slice(1, -1).replaceAll('""', '"'), end };
    else if (groups.name !== undefined) yield { kind: 'name', value, end };
    else if (groups.other !== undefined) yield { kind: 'other', value, end };
    else yield { kind: 'space', value, end };
    at = end;
  }
}

/** Block comments nest. */
function endOfComment(sql: string, start: number): number {
  let depth = 0;
  COMMENT_EDGE.lastIndex = start;
  for (let edge = COMMENT_EDGE.exec(sql); edge !== null; edge = COMMENT_EDGE.exec(sql)) {
    depth += edge[0] === '/*' ? 1 : -1;
    if (depth === 0) return edge.index + 2;
  }
  return sql.length;
}

/** A statement without the semicolon, comments and spaces after it, so that it is valid in parentheses. */
export function trimStatement(sql: string): string {
  let end = 0;
  for (const token of tokenize(sql)) {
    if (token.kind !== 'space' && token.value !== ';') end = token.end;
  }
  return sql.slice(0, end);
}

/** Whether the text ends with a semicolon outside quotes and comments: the shell runs it then. */
export function isTerminated(sql: string): boolean {
  let last = '';
  for (const token of tokenize(sql)) {
    if (token.kind !== 'space') last = token.kind === 'other' ? token.value : '';
  }
  return last === ';';
}

/**
 * Functions that act although a SELECT calls them: they change the instance, run SQL in a text, or read memory by address. The
 * settings of a query cannot forbid them, and `enable_logging` even ends the process.
 */
const UNSAFE_FUNCTIONS = new Set([
  'arrow_scan',
  'arrow_scan_dumb',
  'checkpoint',
  'disable_logging',
  'disable_profiling',
  'enable_logging',
  'enable_profiling',
  'force_checkpoint',
  'json_execute_serialized_sql',
  'pandas_scan',
  'python_map_function',
  'query',
  'truncate_duckdb_logs',
  'write_log',
]);

/** @throws TidemarkError DATA if the statement calls a function that acts. */
export function assertSafeFunctions(sql: string): void {
  let name = '';
  for (const token of tokenize(sql)) {
    if (token.kind === 'space') continue;
    if (token.value === '(' && token.kind === 'other' && UNSAFE_FUNCTIONS.has(name)) {
      throw new TidemarkError('DATA', `the function ${name} is not available`);
    }
    name = token.kind === 'name' ? token.value.toLowerCase() : '';
  }
}
