import { formatNumber } from '../render/format.ts';
import type { Row } from '../warehouse/values.ts';
import type { NumberRow } from './numbers.ts';

/** A number night by night, as table cells: what every mail reader shows. */
export interface Bars {
  readonly label: string;
  readonly bars: readonly { readonly height: number; readonly last: boolean }[];
  /** Places before the first night, so that a bar is as wide at first as it will be. */
  readonly blanks: readonly null[];
  /** The same in words: for a reader that shows no bars, and for those who do not see them. */
  readonly words: string;
  readonly from: string;
  readonly to: string;
  readonly values: string;
}

const HIGHEST_PIXELS = 36;
const FEWEST_PLACES = 14;

export function barsOf({ nights: column, label }: NumberRow, nights: readonly Row[]): readonly Bars[] {
  if (column === null || nights.length < 2) return [];
  const values = nights.map((night) => Number(night[column]));
  const most = Math.max(1, ...values);
  const day = (row: Row | undefined) => String(row?.night ?? '').slice(0, 10);
  return [
    {
      label,
      bars: values.map((value, index) => ({
        height: Math.max(1, Math.round((value / most) * HIGHEST_PIXELS)),
        last: index === values.length - 1,
      })),
      blanks: Array.from({ length: Math.max(0, FEWEST_PLACES - values.length) }, () => null),
      words: `${formatNumber(Math.min(...values))} to ${formatNumber(Math.max(...values))} over ${values.length} nights, ${formatNumber(values.at(-1) ?? 0)} now`,
      from: day(nights[0]),
      to: day(nights.at(-1)),
      values: values.map(formatNumber).join(' '),
    },
  ];
}
