import { stringify } from 'csv-stringify/sync';
import type { Row, Value } from '../warehouse/values.ts';
import { bigintToString } from './format.ts';

/**
 * Rows as CSV that a spreadsheet opens without executing anything: a text that starts a formula, also after spaces or a line break,
 * gets an apostrophe in front (OWASP, "CSV Injection"). Numbers stay numbers, including negative ones.
 */
export function toSpreadsheetCsv(rows: readonly Row[]): string {
  const columns = Object.keys(rows[0] ?? {});
  const records = rows.map((row) => columns.map((column) => formatCell(row[column] ?? null)));
  return stringify([columns, ...records], { record_delimiter: 'windows', quoted_match: /[\r\t']/u });
}

function formatCell(value: Value): string {
  if (value === null) return '';
  if (typeof value === 'string') return escapeFormula(value);
  if (typeof value === 'object') return escapeFormula(JSON.stringify(value, bigintToString));
  return String(value);
}

/** Includes the full-width forms, which some spreadsheets treat as the plain ones, and characters that they drop or do not show. */
const FORMULA = /(?:^|[\r\n])[\s\p{C}]*[=+\-@\uff1d\uff0b\uff0d\uff20]|^[\t\r\n]/u;

function escapeFormula(text: string): string {
  return FORMULA.test(text) ? `'${text}` : text;
}
