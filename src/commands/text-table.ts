import Table from 'cli-table3';
import { printable } from '../core/log.ts';

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
  ].map((part) => [part, '']),
);

/** Aligned columns without lines, as `gh` prints them; line breaks and control characters of a cell are folded. */
export function textTable(head: readonly string[], rows: readonly (readonly unknown[])[]): string {
  const table = new Table({
    head: head.map((name) => name.toUpperCase()),
    chars: { ...NO_LINES, middle: '  ' },
    style: { head: [], border: [], 'padding-left': 0, 'padding-right': 0 },
  });
  for (const row of rows) table.push(row.map(cell));
  return table.toString().replaceAll(/ +$/gmu, '');
}

function cell(value: unknown): string {
  if (value === null || value === undefined) return '';
  const text = typeof value === 'object' ? JSON.stringify(value) : String(value);
  return printable(text.replaceAll(/\s+/gu, ' '));
}
