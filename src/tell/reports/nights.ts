import { scaleLinear } from 'd3-scale';
import { utcDay } from 'd3-time';
import type { Row } from '../../warehouse/values.ts';
import { timeTicks } from './charts.ts';
import { toHeading } from './format.ts';
import { drawLabel, drawRule, drawVariant, element, roundPixels, tooltip } from './markup.ts';

/** Bars per night: some columns stacked upwards, others downwards. */
export interface NightsSpec {
  readonly title: string;
  readonly rows: readonly Row[];
  /** The last night, with or without a row. */
  readonly until: Date;
  /** Columns with counts. */
  readonly up: readonly string[];
  readonly down: readonly string[];
}

interface Night {
  readonly day: Date;
  /** Undefined where nothing was assessed. */
  readonly row: Row | undefined;
}

const SIZES = [
  { name: 'wide', width: 800, height: 230, maxNights: 60, maxTicks: 9 },
  { name: 'narrow', width: 360, height: 210, maxNights: 28, maxTicks: 4 },
] as const;
const MARGIN = { top: 10, right: 8, bottom: 24, left: 34 };
const TICKS = 4;

/** Every day from that of the first row to the last night: one without a known count is a gap. */
export function listNights({ rows, until, up, down }: Omit<NightsSpec, 'title'>): readonly Night[] {
  const isKnown = (row: Row) => [...up, ...down].some((column) => (row[column] ?? null) !== null);
  const toDay = (row: Row) => utcDay.floor(new Date(String(row.as_of))).getTime();
  const [first = 0] = rows.map(toDay).sort((a, b) => a - b);
  const byDay = new Map(rows.filter(isKnown).map((row) => [toDay(row), row]));
  if (byDay.size === 0) return [];
  const end = new Date(until.getTime() + 1); // a range has no end
  return utcDay.range(new Date(first), end).map((day) => ({ day, row: byDay.get(day.getTime()) }));
}

export function drawNights(spec: NightsSpec): string {
  const nights = listNights(spec);
  return SIZES.map((size) => drawSize(spec, nights.slice(-size.maxNights), size)).join('\n');
}

/** The class of a column, which the stylesheet colors. */
export function nightClass({ up, down }: Pick<NightsSpec, 'up' | 'down'>, column: string): string {
  // The last one stands out, whatever is below it.
  return up.includes(column) ? `up${3 - (up.length - 1 - up.indexOf(column))}` : `down${down.indexOf(column) + 1}`;
}

const count = (row: Row | undefined, column: string) => Number(row?.[column] ?? 0);

function drawSize(spec: NightsSpec, nights: readonly Night[], size: (typeof SIZES)[number]): string {
  const { width, height, maxTicks } = size;
  const sum = (row: Row | undefined, columns: readonly string[]) =>
    columns.reduce((total, name) => total + count(row, name), 0);
  const highest = Math.max(1, ...nights.map(({ row }) => sum(row, spec.up)));
  const lowest = -Math.max(0, ...nights.map(({ row }) => sum(row, spec.down)));
  const bottom = height - MARGIN.bottom;
  const y = scaleLinear([lowest, highest], [bottom, MARGIN.top]).nice(TICKS);
  const step = (width - MARGIN.left - MARGIN.right) / nights.length;
  const middle = (index: number) => MARGIN.left + (index + 0.5) * step;
  const days = nights.map(({ day }) => day);
  const places = new Map(days.map((day, index) => [day.getTime(), index]));
  const yTicks = y.ticks(TICKS).filter(Number.isInteger);
  return drawVariant(size, spec.title, [
    ...yTicks.flatMap((tick) => [
      drawRule(tick, `M${MARGIN.left},${roundPixels(y(tick))}H${width - MARGIN.right}`),
      drawLabel(MARGIN.left - 6, y(tick), 'end', String(Math.abs(tick))),
    ]),
    ...nights.map((night, index) => drawNight(spec, night, { x: middle(index), step, y, bottom })),
    ...timeTicks(days, maxTicks).map(({ at, label }) =>
      drawLabel(middle(places.get(at.getTime()) ?? 0), height - 6, 'middle', label),
    ),
  ]);
}

interface Place {
  readonly x: number;
  readonly step: number;
  readonly y: (value: number) => number;
  readonly bottom: number;
}

function drawNight(spec: NightsSpec, { day, row }: Night, { x, step, y, bottom }: Place): string {
  const date = day.toISOString().slice(0, 10);
  const box = (top: number, end: number, width: number) => ({ x: x - width / 2, y: top, width, height: end - top });
  const whole = box(MARGIN.top, bottom, step);
  if (!row) return element('rect', { class: 'gap', ...whole }, tooltip(`${date}: not assessed`));
  const stack = (columns: readonly string[], sign: 1 | -1) => {
    let from = 0;
    return columns.map((column) => {
      const to = from + sign * count(row, column);
      const [top, end] = [y(Math.max(from, to)), y(Math.min(from, to))];
      from = to;
      const name = `night ${nightClass(spec, column)}`;
      return top === end ? '' : element('rect', { class: name, ...box(top, end, step * 0.72) });
    });
  };
  const words = [...spec.up, ...spec.down].map((column) => `${count(row, column)} ${toHeading(column).toLowerCase()}`);
  const hit = element('rect', { class: 'hit', ...whole }, tooltip(`${date}: ${words.join(', ')}`));
  return element('g', {}, ...stack(spec.up, 1), ...stack(spec.down, -1), hit);
}
