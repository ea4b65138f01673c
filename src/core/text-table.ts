import { stripVTControlCharacters } from 'node:util';

export interface TextColumn {
  readonly label: string;
  /** @default 'left' */
  readonly align?: 'left' | 'right';
}

const SEPARATOR = '  ';

/**
 * Aligned columns without rules, one line at a time: the labels first, then a line for each row. Two passes over the
 * cells, so time grows with the number of rows, and a table longer than the longest possible string can be written.
 * Cells are single lines; control sequences for colour do not count towards the width.
 */
export function* tableLines(
  columns: readonly TextColumn[],
  rows: readonly (readonly string[])[],
): Generator<string, void, undefined> {
  const widths = columns.map(({ label }) => displayWidth(label));
  for (const row of rows) {
    for (let index = 0; index < widths.length; index++) {
      widths[index] = Math.max(widths[index] ?? 0, displayWidth(row[index] ?? ''));
    }
  }
  yield formatLine(columns, widths, (index) => columns[index]?.label ?? '');
  for (const row of rows) yield formatLine(columns, widths, (index) => row[index] ?? '');
}

function formatLine(
  columns: readonly TextColumn[],
  widths: readonly number[],
  cellAt: (index: number) => string,
): string {
  const cells = columns.map(({ align }, index) => {
    const cell = cellAt(index);
    const padding = ' '.repeat(Math.max(0, (widths[index] ?? 0) - displayWidth(cell)));
    return align === 'right' ? `${padding}${cell}` : `${cell}${padding}`;
  });
  return cells.join(SEPARATOR).trimEnd();
}

/** Printable ASCII, the fast path. */
const PLAIN = /^[\x20-\x7e]*$/u;
const ZERO_WIDTH = /^[\p{Mn}\p{Me}\p{Cf}]$/u;
/** East Asian Wide and Fullwidth (Unicode TR11) and emoji, which terminals draw two cells wide. */
const WIDE =
  /^[\u1100-\u115f\u2e80-\u303e\u3041-\u33ff\u3400-\u4dbf\u4e00-\u9fff\ua000-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\p{Emoji_Presentation}\u{20000}-\u{3fffd}]$/u;

/** Terminal cells that a text occupies. */
export function displayWidth(text: string): number {
  if (PLAIN.test(text)) return text.length;
  let width = 0;
  for (const character of stripVTControlCharacters(text)) {
    if (!ZERO_WIDTH.test(character)) width += WIDE.test(character) ? 2 : 1;
  }
  return width;
}
