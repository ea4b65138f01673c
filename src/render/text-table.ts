import Table from 'cli-table3';
import type { TableView } from './view.ts';

const NO_LINES = Object.fromEntries(
  [
    'top',
    'top-mid',
    'top-left',
    'top-right',
    'bottom',
    'bottom-mid',
    'bottom-left',
    'bottom-right',
    'left',
    'left-mid',
    'mid',
    'mid-mid',
    'right',
    'right-mid',
    'middle',
  ].map((name) => [name, '']),
);
const WIDEST_CELL = 60;

/** The first `limit` rows of a table in aligned columns; a line break inside a name becomes a space. */
export function textTable({ columns, rows }: Pick<TableView, 'columns' | 'rows'>, limit: number): string {
  const table = new Table({
    head: columns.map(({ label }) => label),
    chars: NO_LINES,
    style: { head: [], border: [], 'padding-left': 0, 'padding-right': 2 },
    colAligns: columns.map(({ numeric }) => (numeric ? 'right' : 'left')),
  });
  table.push(...rows.slice(0, limit).map((row) => row.map(({ text }) => oneLine(text))));
  return table.toString().replaceAll(/[ \t]+$/gmu, '');
}

export function oneLine(text: string): string {
  const line = text.replaceAll(/\s+/gu, ' ').trim();
  return line.length > WIDEST_CELL ? `${line.slice(0, WIDEST_CELL - 1).replace(/[\ud800-\udbff]$/u, '')}…` : line;
}
