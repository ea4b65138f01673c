import type { Format } from '../../core/choices.ts';
import { quoteLiteral } from '../../warehouse/sql-files.ts';
import { isPlain, jsonSql, type ResultColumn, textSql } from './sql-text.ts';

/**
 * A text format. DuckDB renders each row as one text, so that a result is written at DuckDB's speed and never held in memory; the
 * rest is what stands around the rows.
 */
export interface TextFormat {
  /** SQL for the text of one row. */
  readonly rowSql: (columns: readonly ResultColumn[]) => string;
  /** Whether the first row has the names of the columns. */
  readonly hasHeader: boolean;
  /** Before the first row. */
  readonly begin: (columns: readonly ResultColumn[]) => string;
  readonly separator: string;
  /** After the last row. */
  readonly end: string;
}

const LINES = { hasHeader: false, begin: () => '', separator: '\n', end: '\n' } as const;

export const TEXT_FORMATS = {
  csv: {
    ...LINES,
    hasHeader: true,
    rowSql: (columns) => `concat(${columns.map(csvFieldSql).join(`, ',', `)})`,
  },
  ndjson: { ...LINES, rowSql: jsonObjectSql },
  json: { rowSql: jsonObjectSql, hasHeader: false, begin: () => '[\n  ', separator: ',\n  ', end: '\n]\n' },
  markdown: {
    ...LINES,
    hasHeader: true,
    begin: (columns) => `|${' --- |'.repeat(columns.length)}\n`,
    rowSql: (columns) => `concat('| ', ${columns.map(markdownCellSql).join(`, ' | ', `)}, ' |')`,
  },
} as const satisfies Record<string, TextFormat>;

export function isTextFormat(format: Format): format is keyof typeof TEXT_FORMATS {
  return format in TEXT_FORMATS;
}

/**
 * As DuckDB's CSV writer has it: empty text is `""`, so that it differs from null, and `#` needs quotes, because readers take it for a
 * comment. Numbers, times and booleans never need quotes.
 */
function csvFieldSql(column: ResultColumn): string {
  const text = textSql(column);
  if (isPlain(column.type)) return text;
  return `case when ${text} = '' or regexp_matches(${text}, '[",#\\n\\r]') then '"' || replace(${text}, '"', '""') || '"' else ${text} end`;
}

function jsonObjectSql(columns: readonly ResultColumn[]): string {
  const entries = columns.map((column) => `${quoteLiteral(column.name)}, ${jsonSql(column)}`);
  return `json_object(${entries.join(', ')})::varchar`;
}

function markdownCellSql(column: ResultColumn): string {
  const text = textSql(column);
  if (isPlain(column.type)) return text;
  const escaped = `replace(replace(replace(${text}, '\\', '\\\\'), '|', '\\|'), '<', '&lt;')`;
  const inOneLine = `regexp_replace(${escaped}, '\\s*[\\n\\r]\\s*', '<br>', 'g')`;
  return `case when regexp_matches(${text}, '[\\\\|<\\n\\r]') then ${inOneLine} else ${text} end`;
}
