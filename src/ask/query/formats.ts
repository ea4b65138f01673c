import type { Format } from '../../core/choices.ts';
import { quoteLiteral } from '../../warehouse/sql-files.ts';
import { isPlain, jsonSql, type ResultColumn, textSql } from './sql-text.ts';

/**
 * A text format. DuckDB renders each row as one text, so that a result is written at DuckDB's speed and never held in memory; the
 * rest is what stands around the rows.
 */
export interface TextFormat {
  readonly mime: string;
  /** SQL for the text of one row. */
  readonly rowSql: (columns: readonly ResultColumn[]) => string;
  /** Before the first row. */
  readonly begin: (columns: readonly ResultColumn[]) => string;
  readonly separator: string;
  /** After the last row. */
  readonly end: string;
  /** Instead of all that, where there is no row. */
  readonly empty: (columns: readonly ResultColumn[]) => string;
}

const csvHeader = (columns: readonly ResultColumn[]) => `${columns.map(({ name }) => quoteCsv(name)).join(',')}\n`;

const csv: TextFormat = {
  mime: 'text/csv; charset=utf-8; header=present',
  rowSql: (columns) => concat(columns.map(csvFieldSql).join(`, ',', `)),
  begin: csvHeader,
  separator: '\n',
  end: '\n',
  empty: csvHeader,
};

const ndjson: TextFormat = {
  mime: 'application/x-ndjson; charset=utf-8',
  rowSql: jsonObjectSql,
  begin: () => '',
  separator: '\n',
  end: '\n',
  empty: () => '',
};

const json: TextFormat = {
  mime: 'application/json; charset=utf-8',
  rowSql: jsonObjectSql,
  begin: () => '[\n  ',
  separator: ',\n  ',
  end: '\n]\n',
  empty: () => '[]\n',
};

const markdownHeader = (columns: readonly ResultColumn[]) =>
  `${markdownLine(columns.map(({ name }) => escapeMarkdown(name)))}\n${markdownLine(columns.map(() => '---'))}`;

const markdown: TextFormat = {
  mime: 'text/markdown; charset=utf-8',
  rowSql: (columns) => concat(`'| ', ${columns.map(markdownCellSql).join(`, ' | ', `)}, ' |'`),
  begin: (columns) => `${markdownHeader(columns)}\n`,
  separator: '\n',
  end: '\n',
  empty: (columns) => `${markdownHeader(columns)}\n`,
};

export const TEXT_FORMATS = { csv, json, ndjson, markdown } as const satisfies Record<string, TextFormat>;
export type TextFormatName = keyof typeof TEXT_FORMATS;

export function isTextFormat(format: Format): format is TextFormatName {
  return format in TEXT_FORMATS;
}

function concat(parts: string): string {
  return `concat(${parts})`;
}

/**
 * As DuckDB's CSV writer has it, which writes files: empty text is `""`, so that it differs from null, and `#` needs quotes, because
 * readers take it for a comment. Numbers, times and booleans never need quotes.
 */
function csvFieldSql(column: ResultColumn): string {
  const text = textSql(column);
  if (isPlain(column.type)) return text;
  return `case when ${text} = '' or regexp_matches(${text}, '[",#\\n\\r]') then '"' || replace(${text}, '"', '""') || '"' else ${text} end`;
}

function quoteCsv(text: string): string {
  return text === '' || /[",#\n\r]/u.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

function jsonObjectSql(columns: readonly ResultColumn[]): string {
  const entries = columns.map((column) => `${quoteLiteral(column.name)}, ${jsonSql(column)}`);
  return `json_object(${entries.join(', ')})::varchar`;
}

function markdownLine(cells: readonly string[]): string {
  return `| ${cells.join(' | ')} |`;
}

function escapeMarkdown(cell: string): string {
  return cell
    .replaceAll('\\', '\\\\')
    .replaceAll('|', '\\|')
    .replaceAll('<', '&lt;')
    .replaceAll(/\s*[\n\r]\s*/gu, '<br>');
}

/** The same as `escapeMarkdown`, in SQL. */
function markdownCellSql(column: ResultColumn): string {
  const text = textSql(column);
  if (isPlain(column.type)) return text;
  const escaped = `replace(replace(replace(${text}, '\\', '\\\\'), '|', '\\|'), '<', '&lt;')`;
  const inOneLine = `regexp_replace(${escaped}, '\\s*[\\n\\r]\\s*', '<br>', 'g')`;
  return `case when regexp_matches(${text}, '[\\\\|<\\n\\r]') then ${inOneLine} else ${text} end`;
}
