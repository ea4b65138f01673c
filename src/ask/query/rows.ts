import type { Colors } from '../../core/color.ts';
import { stripControls } from '../../core/log.ts';
import type { PreparedQuery, QuerySession } from './session.ts';
import { isPlain, type ResultColumn, textSql } from './sql-text.ts';

/** A terminal that a result is fitted to. */
export interface Screen {
  /** Characters of a line. */
  readonly width: number;
  /** Rows shown: of more, the first and the last. */
  readonly maxRows: number;
  readonly colors: Colors;
}

/** Between the cells of a row. A control character, which no format writes: texts lose theirs. */
const BETWEEN_CELLS = '\x1f';
/** Stands for null where that differs from an empty text. */
export const NULL_CELL = '\x1e';

/**
 * SQL for all cells of a row as one text: a text that JavaScript takes from DuckDB costs more than to split it. `splitRow` gives the
 * cells. Where `showsNull`, those of null are `NULL_CELL`, and empty otherwise.
 */
function rowTextSql(columns: readonly ResultColumn[], { showsNull }: { readonly showsNull: boolean }): string {
  const cells = columns.map((column) => {
    const text = isPlain(column.type) ? textSql(column) : `replace(${textSql(column)}, chr(31), '')`;
    if (!showsNull) return text;
    return `coalesce(${isPlain(column.type) ? text : `replace(${text}, chr(30), '')`}, chr(30))`;
  });
  return `concat(${cells.join(', chr(31), ')})`;
}

/** Rows whose texts are decoded when they are asked for. */
export interface RowChunk {
  readonly rowCount: number;
  /** Each row as one text. */
  readonly rows: () => readonly string[];
}

/** Rows of a part. V8's memory grows with what lives at once: 2,000 rows, as DuckDB gives them, take 20 to 40 MiB more than 256. */
const PART_ROWS = 256;

/** The rows of a query as texts, a few at a time. */
export async function* readRows(
  session: QuerySession,
  query: PreparedQuery,
  options: { readonly showsNull: boolean },
): AsyncGenerator<RowChunk, void, undefined> {
  for await (const chunk of session.chunks(query, rowTextSql(query.columns, options))) {
    const texts = chunk.getColumnVector(0);
    for (let begin = 0; begin < chunk.rowCount; begin += PART_ROWS) {
      const rowCount = Math.min(PART_ROWS, chunk.rowCount - begin);
      yield {
        rowCount,
        rows: () => Array.from({ length: rowCount }, (_, index) => texts.getItem(begin + index) as string),
      };
    }
  }
}

/** The cells of a row. */
export function splitRow(text: string): readonly string[] {
  return text.split(BETWEEN_CELLS);
}

/** Printable ASCII without line breaks. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: it stands between the cells
const PLAIN_ROW = /^[\x1f\x20-\x7e]*$/u;

/** Whether the text of a row can be written as it is, and its width is its length. */
export function isPlainRow(text: string): boolean {
  return PLAIN_ROW.test(text);
}

/** The lines of a cell without control characters. On a screen, null differs from empty text. */
export function splitCell(cell: string, screen: Screen | undefined): readonly string[] {
  if (screen && cell === NULL_CELL) return [screen.colors.dim('NULL')];
  const text = cleanText(cell);
  return text.includes('\n') ? text.split('\n') : [text];
}

/** Line breaks stay; a tab is spaces, and other control characters are dropped. */
export function cleanText(text: string): string {
  return stripControls(text.replaceAll(/\r\n?/gu, '\n').replaceAll('\t', '    '));
}
