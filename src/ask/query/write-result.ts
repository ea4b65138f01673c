import { createColors } from '../../core/color.ts';
import { isTextFormat, TEXT_FORMATS, type TextFormat } from './formats.ts';
import type { QueryRequest } from './protocol.ts';
import type { Screen } from './rows.ts';
import type { PreparedQuery, QuerySession } from './session.ts';
import { textSql } from './sql-text.ts';
import { writeLines } from './write-lines.ts';
import { writeTable } from './write-table.ts';
import { appendText, copyCsv, copyParquet, copyText, type WriteText, writeText } from './write-text.ts';
import { writeXlsx } from './write-xlsx.ts';

/** Characters of a value on a page. */
const MAX_CELL_LENGTH = 1_000;

/** A JSON list of lists. Its texts are those of CSV: JSON numbers would lose digits. */
const rowsFormat = (cellSql: (text: string) => string): TextFormat => ({
  mime: 'application/json',
  rowSql: (columns: PreparedQuery['columns']) =>
    `json_array(${columns.map((column) => cellSql(textSql(column))).join(', ')})::varchar`,
  begin: () => '[',
  separator: ',',
  end: ']',
  empty: () => '[]',
});
const CUT_ROWS = rowsFormat((text) => `left(${text}, ${MAX_CELL_LENGTH})`);
/** A page parses what it asks for: a part of a JSON text would be none. */
const WHOLE_ROWS = rowsFormat((text) => text);

/** Writes a result as text, part by part. Returns the number of rows. */
export async function writeResult(
  session: QuerySession,
  query: PreparedQuery,
  { format, screen, isOwn }: Pick<QueryRequest, 'format' | 'screen' | 'isOwn'>,
  write: WriteText,
): Promise<number> {
  if (format === 'rows') return writeText(session, query, isOwn ? WHOLE_ROWS : CUT_ROWS, write);
  if (isTextFormat(format)) return writeText(session, query, TEXT_FORMATS[format], write);
  return (format === 'line' ? writeLines : writeTable)(session, query, write, screen && toScreen(screen));
}

/** Writes a result to the session's output file. Returns the number of rows. */
export async function writeResultFile(
  session: QuerySession,
  query: PreparedQuery,
  format: QueryRequest['format'],
): Promise<number> {
  if (format === 'csv') return copyCsv(session, query);
  if (format === 'parquet') return copyParquet(session, query);
  if (format === 'xlsx') return writeXlsx(session, query);
  if (format !== 'rows' && isTextFormat(format)) return copyText(session, query, TEXT_FORMATS[format]);
  return appendText(session.output, (write) => writeResult(session, query, { format }, write));
}

function toScreen({ width, maxRows, hasColor }: NonNullable<QueryRequest['screen']>): Screen {
  return { width, maxRows, colors: createColors(hasColor) };
}
