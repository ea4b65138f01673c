import { writeFile } from 'node:fs/promises';
import { stringify as csv } from 'csv-stringify/sync';
import { stringify } from 'lossless-json';
import type { Format } from '../core/choices.ts';
import type { Colors } from '../core/color.ts';
import type { Context } from '../core/context.ts';
import { stripControls } from '../core/log.ts';
import { tableLines } from '../core/text-table.ts';
import type { QueryResult } from '../warehouse/query.ts';

/** Writes a result to stdout: the value with `--json`, otherwise the text. */
export function writeResult({ json, stdout }: Context, value: unknown, text: () => string): void {
  stdout(json ? `${JSON.stringify(value, null, 2)}\n` : text());
}

export function plural(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

export interface TableOptions {
  readonly colors: Colors;
  /** Columns whose cells begin with a status, a state or a severity. */
  readonly statusColumns?: readonly string[];
}

/** Aligned columns under labels in capitals, as `gh` prints them; ends with a line break. */
export function formatTable(
  labels: readonly string[],
  rows: readonly (readonly unknown[])[],
  { colors, statusColumns = [] }: TableOptions,
): string {
  const isStatus = labels.map((label) => statusColumns.includes(label));
  const columns = labels.map((label) => ({ label: colors.dim(label.toUpperCase()) }));
  const cells = rows.map((row) =>
    row.map((value, index) => (isStatus[index] ? colorStatus(colors, formatCell(value)) : formatCell(value))),
  );
  return [...tableLines(columns, cells), ''].join('\n');
}

const STATUS_COLORS: Readonly<Record<string, 'green' | 'yellow' | 'red'>> = {
  ok: 'green',
  complete: 'green',
  applied: 'green',
  resolved: 'green',
  new: 'yellow',
  warning: 'yellow',
  incomplete: 'yellow',
  quarantined: 'yellow',
  unconfirmed: 'yellow',
  critical: 'red',
  failed: 'red',
  FAIL: 'red',
};

function colorStatus(colors: Colors, text: string): string {
  const color = STATUS_COLORS[/^\w+/u.exec(text)?.[0] ?? ''];
  return color ? colors[color](text) : text;
}

/** One line without control characters. */
function formatCell(value: unknown): string {
  if (value === null || value === undefined) return '';
  const text = typeof value === 'object' ? JSON.stringify(value) : String(value);
  return stripControls(text.replaceAll(/\s+/gu, ' '));
}

export type PrintedFormat = Exclude<Format, 'parquet'>;

/** Writes rows to stdout or to a file, in parts: a large result is never one string. Machine formats keep every digit. */
export async function printRows(
  { stdout, colors }: Context,
  result: QueryResult,
  format: PrintedFormat,
  file: string | undefined,
): Promise<void> {
  const parts = chunked(FORMATTERS[format](result, file === undefined ? colors : undefined));
  if (file === undefined) for (const part of parts) stdout(part);
  else await writeFile(file, parts);
}

const FORMATTERS: Record<PrintedFormat, (result: QueryResult, colors: Colors | undefined) => Iterable<string>> = {
  table: formatRowsAsTable,
  csv: formatCsv,
  json: formatJson,
  ndjson: formatNdjson,
  markdown: formatMarkdown,
};

function* formatRowsAsTable({ columns, rows }: QueryResult, colors: Colors | undefined): Generator<string> {
  const labels = columns.map((name) => ({ label: colors ? colors.dim(name.toUpperCase()) : name.toUpperCase() }));
  const cells = rows.map((row) => columns.map((name) => formatCell(row[name])));
  for (const line of tableLines(labels, cells)) yield `${line}\n`;
  yield `(${plural(rows.length, 'row')})\n`;
}

const CSV_BATCH = 1_000;

function* formatCsv({ columns, rows }: QueryResult): Generator<string> {
  yield csv([[...columns]]);
  for (let start = 0; start < rows.length; start += CSV_BATCH) {
    yield csv(rows.slice(start, start + CSV_BATCH).map((row) => columns.map((name) => formatValue(row[name]))));
  }
}

function* formatJson({ rows }: QueryResult): Generator<string> {
  let separator = '[\n';
  for (const row of rows) {
    yield `${separator}${indent(stringify(row, null, 2) ?? '')}`;
    separator = ',\n';
  }
  yield rows.length === 0 ? '[]\n' : '\n]\n';
}

function* formatNdjson({ rows }: QueryResult): Generator<string> {
  for (const row of rows) yield `${stringify(row)}\n`;
}

function* formatMarkdown({ columns, rows }: QueryResult): Generator<string> {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |\n`;
  yield line(columns);
  yield line(columns.map(() => '---'));
  for (const row of rows) yield line(columns.map((name) => escapeMarkdown(formatValue(row[name]))));
}

/** Every line of a JSON text two spaces further in. */
export function indent(json: string): string {
  return json.replaceAll(/^/gmu, '  ');
}

function formatValue(value: unknown): string {
  if (value === null || value === undefined) return '';
  return typeof value === 'object' ? (stringify(value) ?? '') : String(value);
}

function escapeMarkdown(cell: string): string {
  return cell
    .replaceAll('\\', '\\\\')
    .replaceAll('|', '\\|')
    .replaceAll('<', '&lt;')
    .replaceAll(/\s*\n\s*/gu, '<br>');
}

const CHUNK_CHARACTERS = 65_536;

function* chunked(parts: Iterable<string>): Generator<string, void, undefined> {
  let chunk = '';
  for (const part of parts) {
    chunk += part;
    if (chunk.length >= CHUNK_CHARACTERS) {
      yield chunk;
      chunk = '';
    }
  }
  if (chunk !== '') yield chunk;
}
