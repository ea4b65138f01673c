import { stringify } from 'csv-stringify/sync';
import type { Plain, Row } from '../warehouse/values.ts';

/**
 * Rows as CSV that a spreadsheet opens without running anything: a text that begins a formula, behind spaces or after a line
 * break too, gets an apostrophe in front (OWASP, "CSV Injection"). Numbers stay numbers, the negative ones as well.
 */
export function safeCsv(rows: readonly Row[]): string {
  const columns = Object.keys(rows[0] ?? {});
  const records = rows.map((row) => columns.map((column) => safeCell(row[column] ?? null)));
  return stringify([columns, ...records], { record_delimiter: 'windows', quoted_match: /[\r\t']/u });
}

function safeCell(value: Plain): string {
  if (value === null) return '';
  if (typeof value === 'string') return safeText(value);
  if (typeof value === 'object')
    return safeText(JSON.stringify(value, (_, v) => (typeof v === 'bigint' ? String(v) : v)));
  return String(value);
}

/** Also the full-width forms, which some spreadsheets take for the plain ones, and behind characters that they drop or do not show. */
const FORMULA = /(?:^|[\r\n])[\s\p{C}]*[=+\-@\uff1d\uff0b\uff0d\uff20]|^[\t\r\n]/u;

function safeText(text: string): string {
  return FORMULA.test(text) ? `'${text}` : text;
}
