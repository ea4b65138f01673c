import { writeFile } from 'node:fs/promises';
import { stringify as csv } from 'csv-stringify/sync';
import { stringify } from 'lossless-json';
import type { Context } from '../core/context.ts';
import type { Format, QueryResult } from '../warehouse/query.ts';
import { textTable } from './text-table.ts';

/** Prints rows as asked, to stdout or a file. Machine formats keep every digit and character as stored. */
export async function printRows(
  context: Context,
  result: QueryResult,
  format: Exclude<Format, 'parquet'>,
  file: string | undefined,
): Promise<void> {
  const text = FORMATTERS[format](result);
  if (file === undefined) context.stdout(text);
  else await writeFile(file, text);
}

const FORMATTERS: Record<Exclude<Format, 'parquet'>, (result: QueryResult) => string> = {
  table: ({ columns, rows }) =>
    `${textTable(
      columns,
      rows.map((row) => columns.map((name) => row[name])),
    )}\n(${rows.length} row${rows.length === 1 ? '' : 's'})\n`,
  csv: ({ columns, rows }) => csv([[...columns], ...rows.map((row) => columns.map((name) => flat(row[name])))]),
  json: ({ rows }) => `${stringify(rows, null, 2)}\n`,
  ndjson: ({ rows }) => rows.map((row) => `${stringify(row)}\n`).join(''),
  markdown: ({ columns, rows }) =>
    [columns, columns.map(() => '---'), ...rows.map((row) => columns.map((name) => escaped(flat(row[name]))))]
      .map((cells) => `| ${cells.join(' | ')} |\n`)
      .join(''),
};

function flat(value: unknown): string {
  if (value === null || value === undefined) return '';
  return typeof value === 'object' ? (stringify(value) ?? '') : String(value);
}

function escaped(cell: string): string {
  return cell
    .replaceAll('\\', '\\\\')
    .replaceAll('|', '\\|')
    .replaceAll('<', '&lt;')
    .replaceAll(/\s*\n\s*/gu, '<br>');
}
