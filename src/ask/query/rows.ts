import type { Colors } from '../../core/color.ts';
import { stripControls } from '../../core/log.ts';
import type { ScreenSize } from './protocol.ts';
import type { PreparedQuery } from './session.ts';
import { isPlain, type ResultColumn, textSql } from './sql-text.ts';

/** A terminal that a result is fitted to. */
export interface Screen extends ScreenSize {
  readonly colors: Colors;
}

/** Between the cells of a row. A control character, which no format writes: texts lose theirs. */
const BETWEEN_CELLS = '\x1f';
/** Stands for null where that differs from an empty text. */
export const NULL_CELL = '\x1e';

/** All cells of a row as one text: a text that JavaScript takes from DuckDB costs more than to split it. */
function rowTextSql(columns: readonly ResultColumn[], showsNull: boolean): string {
  const cells = columns.map((column) => {
    const text = isPlain(column.type) ? textSql(column) : `translate(${textSql(column)}, chr(30) || chr(31), '')`;
    return showsNull ? `coalesce(${text}, chr(30))` : text;
  });
  return `concat(${cells.join(', chr(31), ')})`;
}

/** Rows of a part. V8's memory grows with what lives at once: 2,000 rows, as DuckDB gives them, take 20 to 40 MiB more than 256. */
const PART_ROWS = 256;

/** The rows of a query, each as one text for `splitRow`, a few at a time. Where `showsNull`, a null is `NULL_CELL`, and empty otherwise. */
export async function* readRows({ columns, chunks }: PreparedQuery, showsNull: boolean) {
  for await (const chunk of chunks(rowTextSql(columns, showsNull))) {
    const texts = chunk.getColumnVector(0);
    for (let begin = 0; begin < chunk.rowCount; begin += PART_ROWS) {
      const length = Math.min(PART_ROWS, chunk.rowCount - begin);
      yield Array.from({ length }, (_, index) => texts.getItem(begin + index) as string);
    }
  }
}

export function splitRow(text: string): readonly string[] {
  return text.split(BETWEEN_CELLS);
}

/** The lines of a cell without control characters. On a screen, null differs from empty text. */
export function splitCell(cell: string, screen: Screen | undefined): readonly string[] {
  if (cell === NULL_CELL && screen) return [screen.colors.dim('NULL')];
  return PLAIN.test(cell) ? [cell] : cleanText(cell).split('\n');
}

/** Printable ASCII without line breaks: most cells. */
const PLAIN = /^[\x20-\x7e]*$/u;

/** Line breaks stay; a tab is spaces, and other control characters are dropped. */
export function cleanText(text: string): string {
  return stripControls(text.replaceAll(/\r\n?/gu, '\n').replaceAll('\t', '    '));
}
