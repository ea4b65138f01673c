import { displayWidth, fitWidths, lineWidth, SEPARATOR, truncate } from '../../core/text-table.ts';
import { cleanText, isPlainRow, type RowChunk, readRows, type Screen, splitCell, splitRow } from './rows.ts';
import type { PreparedQuery, QuerySession } from './session.ts';
import { isNumber } from './sql-text.ts';
import type { WriteText } from './write-text.ts';

type Cells = readonly string[];

interface Layout {
  readonly labels: readonly string[];
  readonly widths: readonly number[];
  readonly isRight: readonly boolean[];
  /** Indices of the shown columns; undefined stands for those left out. */
  readonly shown: readonly (number | undefined)[];
  readonly screen: Screen | undefined;
}

/** Without a screen, the widths of the first rows hold for all: a wider cell moves the rest of its line. */
const ROWS_FOR_WIDTHS = 1_000;

/** Writes aligned columns. On a screen, the first and last rows that fit it; otherwise every row, in constant memory. */
export async function writeTable(
  session: QuerySession,
  query: PreparedQuery,
  write: WriteText,
  screen?: Screen,
): Promise<number> {
  const chunks = readRows(session, query, { showsNull: screen !== undefined });
  if (query.columns[0]?.name === 'explain_key') return writePlan(chunks, write);
  const isCut = screen !== undefined && Number.isFinite(screen.maxRows);
  return isCut ? writeScreen(query, chunks, write, screen) : writeAll(query, chunks, write, screen);
}

/** EXPLAIN draws its own picture. */
async function writePlan(chunks: AsyncIterable<RowChunk>, write: WriteText): Promise<number> {
  let count = 0;
  for await (const chunk of chunks) {
    for (const row of chunk.rows()) await write(`${cleanText(splitRow(row)[1] ?? '').trimEnd()}\n`);
    count += chunk.rowCount;
  }
  return count;
}

async function writeScreen(
  query: PreparedQuery,
  chunks: AsyncIterable<RowChunk>,
  write: WriteText,
  screen: Screen,
): Promise<number> {
  const { head, tail, count } = await collectEnds(chunks, screen.maxRows);
  const layout = fitToScreen(createLayout(query, [...head, ...tail], screen), screen.width);
  await write(formatHeader(layout));
  for (const row of head) await write(formatRow(layout, row));
  if (head.length + tail.length < count) await write(formatGap(layout));
  for (const row of tail) await write(formatRow(layout, row));
  await write(`${screen.colors.dim(formatCount(count, head.length + tail.length, layout))}\n`);
  return count;
}

/** The first and the last rows. Of what lies between, only the number is kept, and no value is decoded. */
async function collectEnds(chunks: AsyncIterable<RowChunk>, maxRows: number) {
  const headLength = Math.ceil(maxRows / 2);
  const rows: Cells[] = [];
  let last: RowChunk[] = [];
  let count = 0;
  for await (const chunk of chunks) {
    count += chunk.rowCount;
    if (rows.length < maxRows) rows.push(...chunk.rows().map(splitRow));
    else last = keepLast([...last, chunk], maxRows);
  }
  if (count <= maxRows) return { head: rows, tail: [], count };
  const ends = [...rows, ...last.flatMap((chunk) => chunk.rows().map(splitRow))];
  return { head: ends.slice(0, headLength), tail: ends.slice(ends.length - (maxRows - headLength)), count };
}

/** As many of the last chunks as have `rowCount` rows. */
function keepLast(chunks: RowChunk[], rowCount: number): RowChunk[] {
  const [first, ...rest] = chunks;
  const others = rest.reduce((total, chunk) => total + chunk.rowCount, 0);
  return first !== undefined && others >= rowCount ? keepLast(rest, rowCount) : chunks;
}

async function writeAll(
  query: PreparedQuery,
  chunks: AsyncIterable<RowChunk>,
  write: WriteText,
  screen: Screen | undefined,
): Promise<number> {
  const layOut = (rows: readonly Cells[]) => {
    const layout = createLayout(query, rows, screen);
    return screen ? fitToScreen(layout, screen.width) : layout;
  };
  let layout: Layout | undefined;
  let count = 0;
  for await (const chunk of chunks) {
    const rows = chunk.rows();
    count += rows.length;
    if (!layout) {
      layout = layOut(rows.slice(0, ROWS_FOR_WIDTHS).map(splitRow));
      await write(formatHeader(layout));
    }
    await write(formatRows(layout, rows));
  }
  const known = layout ?? layOut([]);
  if (!layout) await write(formatHeader(known));
  await write(`${formatCount(count, count, known)}\n`);
  return count;
}

function createLayout({ columns }: PreparedQuery, rows: readonly Cells[], screen: Screen | undefined): Layout {
  const labels = columns.map(({ name }) => cleanText(name).replaceAll(/\s+/gu, ' '));
  const widths = labels.map(displayWidth);
  for (const row of rows) {
    for (let index = 0; index < widths.length; index++) {
      for (const line of splitCell(row[index] ?? '', screen)) {
        widths[index] = Math.max(widths[index] ?? 0, displayWidth(line));
      }
    }
  }
  return {
    labels,
    widths,
    isRight: columns.map(({ type }) => isNumber(type)),
    shown: labels.map((_, index) => index),
    screen,
  };
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

function formatHeader(layout: Layout): string {
  const dim = layout.screen?.colors.dim ?? ((text: string) => text);
  return formatLines(
    layout,
    layout.labels.map((label) => [label]),
    dim,
  );
}

function formatRow(layout: Layout, row: Cells): string {
  return formatLines(
    layout,
    row.map((cell) => splitCell(cell, layout.screen)),
  );
}

function formatRows(layout: Layout, rows: readonly string[]): string {
  let text = '';
  for (const row of rows) {
    const cells = splitRow(row);
    text += layout.screen === undefined && isPlainRow(row) ? formatPlainRow(layout, cells) : formatRow(layout, cells);
  }
  return text;
}

/** The same as `formatRow` for a plain row, where nothing is cut, cleaned or measured: most rows of most results. */
function formatPlainRow({ widths, isRight }: Layout, cells: Cells): string {
  let line = '';
  for (let index = 0; index < cells.length; index++) {
    const cell = cells[index] ?? '';
    const width = widths[index] ?? 0;
    if (index > 0) line += SEPARATOR;
    line += isRight[index] ? cell.padStart(width) : cell.padEnd(width);
  }
  return `${line.trimEnd()}\n`;
}

function formatGap(layout: Layout): string {
  return formatLines(
    layout,
    layout.labels.map(() => ['·']),
    layout.screen?.colors.dim,
  );
}

/** One row: as many lines as its highest cell. */
function formatLines(layout: Layout, cells: readonly (readonly string[])[], style = (text: string) => text): string {
  const height = Math.max(1, ...layout.shown.map((index) => cells[index ?? -1]?.length ?? 1));
  let text = '';
  for (let line = 0; line < height; line++) {
    const parts = layout.shown.map((index) =>
      index === undefined ? '…' : pad(layout, index, cells[index]?.[line] ?? ''),
    );
    text += `${style(parts.join(SEPARATOR).trimEnd())}\n`;
  }
  return text;
}

function pad({ widths, isRight, screen }: Layout, index: number, cell: string): string {
  const width = widths[index] ?? 0;
  const text = screen ? truncate(cell, width) : cell;
  const padding = ' '.repeat(Math.max(0, width - displayWidth(text)));
  return isRight[index] ? `${padding}${text}` : `${text}${padding}`;
}

function formatRowCount(count: number): string {
  return `${count} row${count === 1 ? '' : 's'}`;
}

function formatCount(count: number, shownRows: number, { shown, labels }: Layout): string {
  const columns = shown.filter((index) => index !== undefined).length;
  const notes = [
    ...(shownRows < count ? [`${shownRows} shown`] : []),
    ...(columns < labels.length ? [`${columns} of ${labels.length} columns shown; --format line shows all`] : []),
  ];
  return `(${[formatRowCount(count), ...notes].join(', ')})`;
}
