import { plural } from '../../core/plural.ts';
import { displayWidth, fitWidths, lineWidth, MAX_PADDED, SEPARATOR, truncate } from '../../core/text-table.ts';
import type { WriteText } from './protocol.ts';
import { cleanText, readRows, type Screen, splitCell, splitRow } from './rows.ts';
import type { PreparedQuery } from './session.ts';
import { isNumber } from './sql-text.ts';

interface Layout {
  readonly labels: readonly string[];
  readonly widths: readonly number[];
  readonly isRight: readonly boolean[];
  /** Indices of the shown columns; undefined stands for those left out. */
  readonly shown: readonly (number | undefined)[];
  readonly screen: Screen | undefined;
}

/**
 * Writes aligned columns. On a screen, the first and last rows that fit it; otherwise every row, in constant memory: the widths of the
 * first rows hold for all, and a wider cell moves the rest of its line.
 */
export async function writeTable(query: PreparedQuery, write: WriteText, screen?: Screen): Promise<number> {
  const parts = readRows(query, screen !== undefined);
  if (query.columns[0]?.name === 'explain_key') return writePlan(parts, write);
  const maxRows = screen?.maxRows ?? Number.POSITIVE_INFINITY;
  const headLength = Math.ceil(maxRows / 2);
  const dim = screen?.colors.dim ?? String;
  const isHeld = Number.isFinite(maxRows);
  let layout: Layout | undefined;
  let held: string[] = [];
  let count = 0;
  const begin = async () => {
    layout = createLayout(query, held, screen);
    await write(formatLine(layout, layout.labels, dim));
    return layout;
  };
  for await (const rows of parts) {
    count += rows.length;
    held.push(...rows);
    if (isHeld) {
      held.splice(headLength, held.length - maxRows);
      continue;
    }
    await write(formatRows(layout ?? (await begin()), held));
    held = [];
  }
  const known = layout ?? (await begin());
  const isCut = isHeld && held.length < count;
  await write(formatRows(known, held.slice(0, headLength)));
  if (isCut) {
    const dots = known.labels.map(() => '·');
    await write(formatLine(known, dots, dim));
  }
  await write(formatRows(known, held.slice(headLength)));
  await write(`${dim(formatCount(count, isCut ? held.length : count, known))}\n`);
  return count;
}

/** EXPLAIN draws its own picture. */
async function writePlan(parts: AsyncIterable<readonly string[]>, write: WriteText): Promise<number> {
  let count = 0;
  for await (const rows of parts) {
    for (const row of rows) await write(`${cleanText(splitRow(row)[1] ?? '').trimEnd()}\n`);
    count += rows.length;
  }
  return count;
}

/** The names of the columns, each on one line. */
function listLabels({ columns }: PreparedQuery): readonly string[] {
  return columns.map(({ name }) => cleanText(name).replaceAll(/\s+/gu, ' '));
}

function createLayout(query: PreparedQuery, rows: readonly string[], screen: Screen | undefined): Layout {
  const labels = listLabels(query);
  const widths = labels.map(displayWidth);
  for (const row of rows) {
    splitRow(row).forEach((cell, index) => {
      for (const line of splitCell(cell, screen)) widths[index] = Math.max(widths[index] ?? 0, displayWidth(line));
    });
  }
  const isRight = query.columns.map(({ type }) => isNumber(type));
  const layout = { labels, widths, isRight, shown: labels.map((_, index) => index), screen };
  return screen ? fitToScreen(layout, screen.width) : layout;
}

/** Narrows the widest columns, and leaves out columns in the middle where that is not enough. */
function fitToScreen(layout: Layout, room: number): Layout {
  let { shown } = layout;
  const widthsOf = (indices: Layout['shown']) =>
    indices.map((index) => (index === undefined ? 1 : (layout.widths[index] ?? 0)));
  while (shown.length > 3 && lineWidth(fitWidths(widthsOf(shown), room)) > room) {
    const kept = shown.filter((index) => index !== undefined);
    const middle = Math.ceil(kept.length / 2);
    shown = [...kept.slice(0, middle), undefined, ...kept.slice(middle + 1)];
  }
  const fitted = fitWidths(widthsOf(shown), room);
  const widths = layout.widths.map((natural, index) => fitted[shown.indexOf(index)] ?? natural);
  return { ...layout, shown, widths };
}

/** Each row has as many lines as its highest cell. */
function formatRows(layout: Layout, rows: readonly string[]): string {
  const formatRow = (row: string) => {
    const cells = splitRow(row).map((cell) => splitCell(cell, layout.screen));
    const height = layout.shown.reduce<number>((most, index) => Math.max(most, cells[index ?? -1]?.length ?? 1), 1);
    const lines = Array.from({ length: height }, (_, line) => cells.map((cell) => cell[line] ?? ''));
    return lines.map((line) => formatLine(layout, line)).join('');
  };
  return rows.map(formatRow).join('');
}

function formatLine(layout: Layout, cells: readonly string[], style: (text: string) => string = String): string {
  const parts = layout.shown.map((index) => (index === undefined ? '…' : pad(layout, index, cells[index] ?? '')));
  return `${style(parts.join(SEPARATOR).trimEnd())}\n`;
}

function pad({ widths, isRight, screen }: Layout, index: number, cell: string): string {
  const width = widths[index] ?? 0;
  const text = screen ? truncate(cell, width) : cell;
  const padding = ' '.repeat(Math.max(0, Math.min(width, MAX_PADDED) - displayWidth(text)));
  return isRight[index] ? `${padding}${text}` : `${text}${padding}`;
}

function formatCount(count: number, shownRows: number, { shown, labels }: Layout): string {
  const columns = shown.filter((index) => index !== undefined).length;
  const notes = [
    ...(shownRows < count ? [`${shownRows} shown`] : []),
    ...(columns < labels.length ? [`${columns} of ${labels.length} columns shown; format line shows all`] : []),
  ];
  return `(${[plural(count, 'row'), ...notes].join(', ')})`;
}

/** Writes a line for each column and an empty line between rows: for rows wider than the screen. */
export async function writeLines(query: PreparedQuery, write: WriteText, screen?: Screen): Promise<number> {
  const names = listLabels(query);
  const width = Math.max(0, ...names.map(displayWidth));
  const labels = names.map((name) => `${' '.repeat(width - displayWidth(name))}${name} = `);
  let count = 0;
  for await (const rows of readRows(query, screen !== undefined)) {
    let text = '';
    for (const row of rows) {
      if (count++ > 0) text += '\n';
      splitRow(row).forEach((cell, index) => {
        text += `${labels[index]}${splitCell(cell, screen).join('\n')}\n`;
      });
    }
    await write(text);
  }
  return count;
}
