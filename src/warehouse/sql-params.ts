import type { Thresholds } from '../config/config.ts';
import { TidemarkError } from '../core/errors.ts';
import { repairEscapes } from '../core/well-formed.ts';
import { quoteLiteral } from './sql-files.ts';

export type SqlParam = null | boolean | number | bigint | string | readonly string[];
export type SqlParams = Readonly<Record<string, SqlParam | undefined>>;

/**
 * Texts, names and comments as DuckDB's lexer reads them, also where they do not end: in them `$` begins no parameter. Then a
 * parameter, and the end of a statement.
 */
const TOKEN =
  /\be'(?:[^'\\]|\\[\s\S]|'')*(?:'|$)|'(?:[^']|'')*(?:'|$)|"(?:[^"]|"")*(?:"|$)|--[^\n]*|\/\*[\s\S]*?(?:\*\/|$)|(\$(?:[a-z_]\w*)?\$)[\s\S]*?(?:\1|$)|\$(\w+)|;/giu;

/** Stands for the end of a statement: no statement contains a zero byte. */
const END = '\0';

/**
 * Replaces the parameters of a statement by literals of the types that bound values have, and ends it with a semicolon: for
 * `Database.script`. Lines stay, so that an error names that of the file.
 * @throws TidemarkError DATA for a parameter without a value, for a text that SQL cannot contain, and for a second statement.
 */
export function fillParams(sql: string, params: SqlParams): string {
  const filled = sql.replaceAll(TOKEN, (token: string, _: string | undefined, name: string | undefined) => {
    if (token === ';') return END;
    if (name === undefined) return /^(?:--|\/\*)/u.test(token) ? token.replaceAll(/[^\n]/gu, '') : token;
    const value = params[name];
    if (value === undefined) throw new TidemarkError('DATA', `the query uses $${name}, which has no value`);
    return toLiteral(value);
  });
  let statement = filled.trimEnd();
  while (statement.endsWith(END)) statement = statement.slice(0, -END.length).trimEnd();
  if (statement.includes(END)) throw new TidemarkError('DATA', 'expected one statement, and there are several');
  return `${statement};`;
}

/** Whether the text ends with a semicolon outside quotes and comments: the shell runs it then. */
export function isTerminated(sql: string): boolean {
  const tokens = sql.replaceAll(TOKEN, (token) => (token === ';' ? END : /^(?:--|\/\*)/u.test(token) ? ' ' : '$'));
  return tokens.trimEnd().endsWith(END);
}

/** The text with what `replace` says instead of each `$name`. */
export function replaceParams(sql: string, replace: (name: string) => string): string {
  return sql.replaceAll(TOKEN, (token: string, _: string | undefined, name: string | undefined) =>
    name === undefined ? token : replace(name),
  );
}

export function toJsonParam(value: unknown): string {
  return repairEscapes(JSON.stringify(value));
}

function toLiteral(value: SqlParam): string {
  if (typeof value === 'string') return textLiteral(value);
  if (Array.isArray(value)) return `[${value.map(textLiteral).join(', ')}]::varchar[]`;
  return typeof value === 'number' ? `${value}::double` : String(value);
}

/** DuckDB ends a statement at a zero byte. */
function textLiteral(text: string): string {
  if (text.includes('\0')) throw new TidemarkError('DATA', 'a text with a zero byte cannot be part of a statement');
  return quoteLiteral(text);
}

/** Each threshold in snake_case, which is its name in queries. */
export function thresholdParams(thresholds: Thresholds): SqlParams {
  const toSnakeCase = (name: string) => name.replaceAll(/[A-Z]/gu, (letter) => `_${letter.toLowerCase()}`);
  return Object.fromEntries(Object.entries(thresholds).map(([name, value]) => [toSnakeCase(name), value]));
}
