import { displayWidth } from '../../core/text-table.ts';
import { cleanText, isPlainRow, readRows, type Screen, splitCell, splitRow } from './rows.ts';
import type { PreparedQuery, QuerySession } from './session.ts';
import type { WriteText } from './write-text.ts';

/** Writes a line for each column and an empty line between rows: for rows wider than the screen. */
export async function writeLines(
  session: QuerySession,
  query: PreparedQuery,
  write: WriteText,
  screen?: Screen,
): Promise<number> {
  const names = query.columns.map(({ name }) => cleanText(name).replaceAll(/\s+/gu, ' '));
  const width = Math.max(0, ...names.map(displayWidth));
  const labels = names.map((name) => `${' '.repeat(width - displayWidth(name))}${name} = `);
  let count = 0;
  for await (const chunk of readRows(session, query, { showsNull: screen !== undefined })) {
    let text = '';
    for (const row of chunk.rows()) {
      if (count++ > 0) text += '\n';
      text += formatLineRow(labels, row, screen);
    }
    await write(text);
  }
  return count;
}

function formatLineRow(labels: readonly string[], row: string, screen: Screen | undefined): string {
  const isPlain = screen === undefined && isPlainRow(row);
  const cells = splitRow(row);
  let text = '';
  for (let index = 0; index < cells.length; index++) {
    const cell = cells[index] ?? '';
    text += `${labels[index]}${isPlain ? cell : splitCell(cell, screen).join('\n')}\n`;
  }
  return text;
}
