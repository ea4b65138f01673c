import { open, writeFile } from 'node:fs/promises';
import type { Format } from '../../core/choices.ts';
import { createColors } from '../../core/color.ts';
import { quoteIdent, quoteLiteral } from '../../warehouse/sql-files.ts';
import { VARCHAR } from '../../warehouse/values.ts';
import type { QueryRequest, WriteText } from './protocol.ts';
import type { PreparedQuery } from './session.ts';
import { isPlain, jsonSql, type ResultColumn, textSql } from './sql-text.ts';
import { writeLines, writeTable } from './write-table.ts';
import { writeXlsx } from './write-xlsx.ts';

/**
 * A text format. DuckDB renders each row as one text, so that a result is written at DuckDB's speed and never held in memory; the
 * rest is what stands around the rows.
 */
interface TextFormat {
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

const TEXT_FORMATS = {
  csv: { ...LINES, hasHeader: true, rowSql: (columns) => `concat(${columns.map(csvFieldSql).join(`, ',', `)})` },
  ndjson: { ...LINES, rowSql: jsonObjectSql },
  json: { rowSql: jsonObjectSql, hasHeader: false, begin: () => '[\n  ', separator: ',\n  ', end: '\n]\n' },
  markdown: {
    ...LINES,
    hasHeader: true,
    begin: (columns) => `|${' --- |'.repeat(columns.length)}\n`,
    rowSql: (columns) => `concat('| ', ${columns.map(markdownCellSql).join(`, ' | ', `)}, ' |')`,
  },
} as const satisfies Record<string, TextFormat>;

function isTextFormat(format: Format): format is keyof typeof TEXT_FORMATS {
  return format in TEXT_FORMATS;
}

/** Characters of a value on a page. */
const MAX_CELL_LENGTH = 1_000;

/** A JSON list of lists. Its texts are those of CSV: JSON numbers would lose digits. */
const rowsFormat = (cellSql: (text: string) => string): TextFormat => ({
  rowSql: (columns) => `json_array(${columns.map((column) => cellSql(textSql(column))).join(', ')})::varchar`,
  hasHeader: false,
  begin: () => '[',
  separator: ',',
  end: ']',
});
const CUT_ROWS = rowsFormat((text) => `left(${text}, ${MAX_CELL_LENGTH})`);
/** A page parses what it asks for: a part of a JSON text would be none. */
const WHOLE_ROWS = rowsFormat((text) => text);

/** Writes a result as text, part by part. Returns the number of rows. */
export async function writeResult(
  query: PreparedQuery,
  { format, screen: given, isOwn }: Pick<QueryRequest, 'format' | 'screen' | 'isOwn'>,
  write: WriteText,
): Promise<number> {
  if (format === 'rows') return writeText(query, isOwn ? WHOLE_ROWS : CUT_ROWS, write);
  if (isTextFormat(format)) return writeText(query, TEXT_FORMATS[format], write);
  const screen = given && { ...given, colors: createColors(given.hasColor) };
  return (format === 'line' ? writeLines : writeTable)(query, write, screen);
}

/** Writes a result to the output file of its session. Returns the number of rows. */
export async function writeResultFile(query: PreparedQuery, output: string, format: QueryRequest['format']) {
  if (format === 'xlsx') return writeXlsx(query, output);
  if (format === 'parquet') {
    const columns = query.columns.map(({ sql, name }) => `${sql} as ${quoteIdent(name)}`);
    return query.copy(output, columns.join(', '), 'format parquet, compression zstd, use_tmp_file false');
  }
  if (format !== 'rows' && isTextFormat(format)) return copyText(query, output, TEXT_FORMATS[format]);
  const file = await open(output, 'a');
  return writeResult(query, { format }, (text) => file.appendFile(text)).finally(() => file.close());
}

/** About 2,000 rows at a time. */
async function writeText(query: PreparedQuery, format: TextFormat, write: WriteText): Promise<number> {
  const begin = await renderBegin(query, format);
  let count = 0;
  for await (const chunk of query.chunks(`${format.rowSql(query.columns)} as line`)) {
    const rows = chunk.getColumnValues(0) as readonly string[];
    await write((count === 0 ? begin : format.separator) + rows.join(format.separator));
    count += rows.length;
  }
  await write(count === 0 ? renderEmpty(begin, format) : format.end);
  return count;
}

/**
 * Writes the same text to the output file by DuckDB's own writer, which uses all cores. Without quotes and delimiters its
 * CSV writer copies each row as it is.
 */
async function copyText(query: PreparedQuery, output: string, format: TextFormat): Promise<number> {
  const options = ['format csv', 'header false', `quote ''`, `escape ''`, `delimiter e'\\n'`, 'use_tmp_file false'];
  const begin = await renderBegin(query, format);
  // With a prefix, DuckDB writes the line break between rows; without one, after each.
  if (begin !== '') {
    options.push(`prefix ${quoteLiteral(begin)}`, `suffix ${quoteLiteral(format.end)}`);
    options.push(`new_line ${quoteLiteral(format.separator)}`);
  }
  const count = await query.copy(output, `${format.rowSql(query.columns)} as line`, options.join(', '));
  if (count === 0) await writeFile(output, renderEmpty(begin, format));
  return count;
}

/** What precedes the rows. The names of the columns are rendered as a row of texts. */
async function renderBegin({ columns, evaluate }: PreparedQuery, format: TextFormat): Promise<string> {
  const names = columns.map(({ name }) => ({ name, type: VARCHAR, sql: quoteLiteral(name) }));
  const header = format.hasHeader ? `${await evaluate(format.rowSql(names))}\n` : '';
  return header + format.begin(columns);
}

/** Instead of that, where there is no row: a list is closed on its line. */
function renderEmpty(begin: string, { hasHeader, end }: TextFormat): string {
  return hasHeader ? begin : begin.trimEnd() + end.trimStart();
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

/** A text is no markup: no link, image, code or HTML. Within a word, `_` is none. */
function markdownCellSql(column: ResultColumn): string {
  const text = textSql(column);
  if (isPlain(column.type)) return text;
  const marked = `regexp_replace(${text}, '([\\\\|\\[\`*~])', '\\\\\\1', 'g')`;
  const escaped = `replace(replace(${marked}, '&', '&amp;'), '<', '&lt;')`;
  const inOneLine = `regexp_replace(${escaped}, '\\s*[\\n\\r]\\s*', '<br>', 'g')`;
  return `case when regexp_matches(${text}, '[\\\\|\\[\`*~&<\\n\\r]') then ${inOneLine} else ${text} end`;
}
