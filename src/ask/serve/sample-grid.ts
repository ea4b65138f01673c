import { EMPTY_CELL } from '../../tell/reports/format.ts';
import type { CellView } from '../../tell/reports/table-view.ts';
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

/** Characters of a value in a sample. */
const MAX_LENGTH = 120;

function toCell(text: string | null, numeric: boolean, href: string | null): CellView {
  const shown = text === null ? EMPTY_CELL : text.length > MAX_LENGTH ? `${text.slice(0, MAX_LENGTH)}…` : text;
  return { text: shown, kind: 'text', numeric, sort: text ?? '', href, filter: null, items: null, picture: null };
}
