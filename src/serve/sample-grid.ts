import { EMPTY_CELL } from '../reports/format.ts';
import type { CellView } from '../reports/table-view.ts';
import type { ResultPage } from './results.ts';

/** The address of a cell's text, if it has one. */
export type CellLinker = (row: readonly (string | null)[], column: number) => string | null;

/** A result as the partial `grid` shows it. The texts are those of CSV. */
export function toGrid({ columns, rows }: ResultPage, id: string, title: string, link: CellLinker = () => null) {
  return {
    id,
    title,
    columns: columns.map(({ name, isNumber }) => ({ label: name, numeric: isNumber })),
    rows: rows.map((row) =>
      row.map((text, index) => toCell(text, columns[index]?.isNumber ?? false, link(row, index))),
    ),
    cut: false,
    long: false,
    shown: rows.length,
    total: rows.length,
  };
}

function toCell(text: string | null, numeric: boolean, href: string | null): CellView {
  return { text: text ?? EMPTY_CELL, kind: 'text', numeric, sort: text ?? '', href, filter: null, items: null };
}
