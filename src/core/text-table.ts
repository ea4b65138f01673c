import { stripVTControlCharacters } from 'node:util';

interface TextColumn {
  readonly label: string;
  /** @default 'left' */
  readonly align?: 'left' | 'right';
  /** Never cut: what a person copies. */
  readonly isWhole?: boolean;
  /** A sentence: it goes on below its beginning, where another cell is cut. */
  readonly isWrapped?: boolean;
  readonly paint?: (cell: string) => string;
}

export const SEPARATOR = '  ';

/** A wider cell moves the rest of its line: one long text would be as many spaces in every other line. */
export const MAX_PADDED = 500;

/**
 * Aligned columns without rules: a line of the labels, then one for each row. Cells are single lines; control sequences for colour do
 * not count towards the width.
 * @param room cells of a line; wider columns are wrapped, or cut with `…`. @default as wide as needed
 */
export function tableLines(
  columns: readonly TextColumn[],
  rows: readonly (readonly string[])[],
  room = Number.POSITIVE_INFINITY,
): readonly string[] {
  const kept = columns.map(({ isWhole = false }) => isWhole);
  const widths = fitWidths(measureColumns(columns, rows), room, kept);
  return [columns.map(({ label }) => label), ...rows].flatMap((cells) => formatRow(columns, widths, cells));
}

/** The widest cell of each column, labels included. */
export function measureColumns(columns: readonly TextColumn[], rows: readonly (readonly string[])[]) {
  const widen = (index: number) => (width: number, row: readonly string[]) =>
    Math.max(width, displayWidth(row[index] ?? ''));
  return columns.map(({ label }, index) => rows.reduce(widen(index), displayWidth(label)));
}

/** A narrower column tells nothing. */
const MIN_WIDTH = 8;

/** Narrows the widest columns until a line fits; those of `kept` stay as they are. */
export function fitWidths(widths: readonly number[], room: number, kept: readonly boolean[] = []): readonly number[] {
  const narrow = (cap: number) => widths.map((width, index) => (kept[index] ? width : Math.min(width, cap)));
  let cap = Math.max(MIN_WIDTH, Math.min(room, Math.max(...widths)));
  while (cap > MIN_WIDTH && lineWidth(narrow(cap)) > room) cap--;
  return narrow(cap);
}

/** Cells of a line with columns of these widths. */
export function lineWidth(widths: readonly number[]): number {
  return widths.reduce((sum, width) => sum + width, SEPARATOR.length * (widths.length - 1));
}

/** The lines of a row: as many as its longest sentence has. */
function formatRow(columns: readonly TextColumn[], widths: readonly number[], row: readonly string[]): string[] {
  const cells = columns.map(({ isWrapped }, index) => {
    const [cell = '', width = 0] = [row[index], widths[index]];
    return isWrapped ? wrap(cell, width) : [truncate(cell, width)];
  });
  const height = Math.max(...cells.map((lines) => lines.length));
  const pick = (line: number) => cells.map((lines) => lines[line] ?? '');
  return Array.from({ length: height }, (_, line) => formatLine(columns, widths, pick(line)));
}

function formatLine(columns: readonly TextColumn[], widths: readonly number[], line: readonly string[]): string {
  const cells = columns.map(({ align, paint = String }, index) => {
    const [cell = '', width = 0] = [line[index], widths[index]];
    const padding = ' '.repeat(Math.max(0, Math.min(width, MAX_PADDED) - displayWidth(cell)));
    return align === 'right' ? `${padding}${paint(cell)}` : `${paint(cell)}${padding}`;
  });
  return cells.join(SEPARATOR).trimEnd();
}

/** A text without control sequences that occupies at most `width` cells. */
export function truncate(text: string, width: number): string {
  return displayWidth(text) <= width ? text : `${takeBeginning(text, width - 1)}…`;
}

/** As much of a text as occupies at most `room` cells. */
function takeBeginning(text: string, room: number): string {
  let kept = '';
  let left = room;
  for (const character of text) {
    left -= displayWidth(character);
    if (left < 0) break;
    kept += character;
  }
  return kept;
}

/** Lines of a sentence; what it says after them is rather a text from outside. */
const MAX_LINES = 5;

/** Lines of at most `width` cells, broken between words, or in one that is longer than a line. The last one is cut. */
function wrap(text: string, width: number): readonly string[] {
  const lines: string[] = [];
  let rest = text;
  while (lines.length < MAX_LINES - 1 && displayWidth(rest) > width) {
    const whole = takeBeginning(rest, width);
    const end = rest[whole.length] === ' ' ? whole.length : whole.lastIndexOf(' ');
    const line = end > 0 ? whole.slice(0, end) : whole;
    lines.push(line);
    rest = rest.slice(line.length).trimStart();
  }
  return [...lines, truncate(rest, width)];
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
