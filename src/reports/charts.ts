import { scaleLinear, scaleUtc } from 'd3-scale';
import { area, line, stack } from 'd3-shape';
import { utcDay, utcMonth } from 'd3-time';
import Handlebars from 'handlebars';
import type { Row, Value } from '../warehouse/values.ts';

/** The values of one name over time. */
export interface Series {
  readonly name: string;
  readonly points: readonly Point[];
}

interface Point {
  readonly at: Date;
  readonly value: number;
}

export interface ChartSpec {
  /** The accessible name of the chart. */
  readonly title: string;
  readonly series: readonly Series[];
  /** `line` for independent values, `area` for parts of a whole, which are stacked. @default line */
  readonly kind?: 'line' | 'area';
}

/** Pixels at which a variant of a chart is shown without scaling, so that its text is readable. */
interface Size {
  readonly name: 'wide' | 'narrow';
  readonly width: number;
  readonly height: number;
  readonly maxTicks: number;
}

const SIZES: readonly Size[] = [
  { name: 'wide', width: 800, height: 240, maxTicks: 9 },
  { name: 'narrow', width: 360, height: 220, maxTicks: 5 },
];
const MARGIN = { top: 12, right: 24, bottom: 26 };
const DIGIT_PIXELS = 8;
const MAX_Y_TICKS = 5;
const MAX_DOT_TIMES = 40;

/** A chart as `<svg>` elements: one for wide and one for narrow screens, of which the stylesheet shows one. */
export function drawChart(spec: ChartSpec): string {
  const { series } = spec;
  const times = sortedTimes(series);
  return SIZES.map((size) => drawVariant(spec, alignToDays(series, times), size)).join('\n');
}

function drawVariant(spec: ChartSpec, series: readonly Series[], size: Size): string {
  const { title, kind = 'line' } = spec;
  const { width, height, name } = size;
  const times = sortedTimes(series);
  const layers = kind === 'area' ? stackLayers(series, times) : [];
  const values = kind === 'area' ? layers.flat().map(([, top]) => top) : allPoints(series).map(({ value }) => value);
  const y = scaleLinear([0, Math.max(1, ...values)], [height - MARGIN.bottom, MARGIN.top]).nice(MAX_Y_TICKS - 1);
  const yTicks = y.ticks(MAX_Y_TICKS - 1).filter(Number.isInteger);
  const left = 16 + DIGIT_PIXELS * formatCount(yTicks.at(-1) ?? 0).length;
  const x = scaleUtc([times[0] ?? new Date(0), times.at(-1) ?? new Date(0)], [left, width - MARGIN.right]);
  const marks = kind === 'area' ? drawAreas(layers, times, x, y) : drawLines(series, times, x, y);
  const head = `<svg class="${name}" xmlns="http://www.w3.org/2000/svg" role="img" viewBox="0 0 ${width} ${height}">`;
  const parts = [
    `<title>${escapeXml(title)}</title>`,
    `<desc>${escapeXml(describeSeries(spec.series))}</desc>`,
    ...yTicks.map((tick) => drawYTick(tick, y(tick), left, width)),
    ...timeTicks(times, size.maxTicks).map(({ at, label }) => drawXTick(label, x(at), height)),
    ...marks,
  ];
  return `${head}${parts.join('')}</svg>`;
}

type Scale<T> = (value: T) => number;
type Band = readonly [bottom: number, top: number];

function drawLines(series: readonly Series[], times: readonly Date[], x: Scale<Date>, y: Scale<number>) {
  const toPath = line<Point>(
    ({ at }) => x(at),
    ({ value }) => y(value),
  ).digits(1);
  const lines = series.map(
    ({ points }, index) => `<path class="line ${seriesClass(index)}" d="${toPath(points) ?? ''}"/>`,
  );
  if (times.length > MAX_DOT_TIMES) return lines;
  const dots = series.flatMap(({ points }, index) =>
    points.map(
      ({ at, value }) =>
        `<circle class="dot ${seriesClass(index)}" cx="${round(x(at))}" cy="${round(y(value))}" r="2.5"/>`,
    ),
  );
  return [...lines, ...dots];
}

function drawAreas(layers: readonly (readonly Band[])[], times: readonly Date[], x: Scale<Date>, y: Scale<number>) {
  const toPath = area<Band>(
    (_, index) => x(times[index] ?? new Date(0)),
    ([bottom]) => y(bottom),
    ([, top]) => y(top),
  ).digits(1);
  return layers.map((layer, index) => `<path class="area ${seriesClass(index)}" d="${toPath(layer) ?? ''}"/>`);
}

/** One band for each series and time; a series without a value at a time counts as 0. */
function stackLayers(series: readonly Series[], times: readonly Date[]): readonly (readonly Band[])[] {
  const values = series.map(({ points }) => new Map(points.map(({ at, value }) => [at.getTime(), value])));
  const layers = stack<Date, number>()
    .keys(series.keys())
    .value((time, key) => values[key]?.get(time.getTime()) ?? 0)(times);
  return layers.map((layer) => layer.map(([bottom, top]) => [bottom, top] as const));
}

function drawYTick(tick: number, y: number, left: number, width: number): string {
  const at = round(y);
  const rule = `<path class="${tick === 0 ? 'axis' : 'grid-line'}" d="M${left},${at}H${width - MARGIN.right}"/>`;
  return `${rule}<text x="${left - 8}" y="${at}" dy=".32em" text-anchor="end">${formatCount(tick)}</text>`;
}

function drawXTick(label: string, x: number, height: number): string {
  const tick = `<path class="axis" d="M${round(x)},${height - MARGIN.bottom}v5"/>`;
  return `${tick}<text x="${round(x)}" y="${height - 6}" text-anchor="middle">${label}</text>`;
}

const DAY_STEPS = [1, 2, 3, 7, 14, 28] as const;
const MONTH_STEPS = [1, 2, 3, 6, 12] as const;
const DAY = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', timeZone: 'UTC' });
const MONTH = new Intl.DateTimeFormat('en-US', { month: 'short', timeZone: 'UTC' });
const MONTH_AND_YEAR = new Intl.DateTimeFormat('en-US', { month: 'short', year: 'numeric', timeZone: 'UTC' });
const MAX_DAYS = 120;

interface Tick {
  readonly at: Date;
  readonly label: string;
}

/** At most `maxTicks` ticks in equal steps of days, which include the last day, or of months for longer periods. */
export function timeTicks(times: readonly Date[], maxTicks: number): readonly Tick[] {
  const [first] = times;
  const last = times.at(-1);
  if (!first || !last) return [];
  const days = utcDay.count(first, last);
  const step = DAY_STEPS.find((candidate) => Math.floor(days / candidate) < maxTicks);
  if (days <= MAX_DAYS && step !== undefined) {
    const ticks = Array.from({ length: Math.floor(days / step) + 1 }, (_, index) => utcDay.offset(last, -index * step));
    return ticks.reverse().map((at) => ({ at, label: DAY.format(at) }));
  }
  const months = MONTH_STEPS.map((candidate) => utcMonth.every(candidate)?.range(first, last) ?? []);
  const fitting = months.find((ticks) => ticks.length <= Math.max(2, Math.floor(maxTicks * 0.8))) ?? [];
  return fitting.map((at, index) => {
    const showsYear = index === 0 || at.getUTCMonth() === 0;
    return { at, label: (showsYear ? MONTH_AND_YEAR : MONTH).format(at) };
  });
}

/** Moves the points of daily series to the start of their days, where the ticks are. Other series stay unchanged. */
function alignToDays(series: readonly Series[], times: readonly Date[]): readonly Series[] {
  const days = new Set(times.map((time) => utcDay.floor(time).getTime()));
  if (days.size < times.length) return series;
  return series.map(({ name, points }) => ({
    name,
    points: points.map(({ at, value }) => ({ at: utcDay.floor(at), value })),
  }));
}

function sortedTimes(series: readonly Series[]): readonly Date[] {
  const times = new Set(allPoints(series).map(({ at }) => at.getTime()));
  return [...times].sort((a, b) => a - b).map((time) => new Date(time));
}

function allPoints(series: readonly Series[]): readonly Point[] {
  return series.flatMap(({ points }) => points);
}

/** `Drifted: 3 on 18 Nov, 14 on 22 Nov, between 3 and 15.` for each series. */
function describeSeries(series: readonly Series[]): string {
  return series
    .flatMap(({ name, points }) => {
      const [first] = points;
      const last = points.at(-1);
      if (!first || !last) return [];
      const values = points.map(({ value }) => value);
      const ends = [first, last].map(({ at, value }) => `${formatCount(value)} on ${DAY.format(at)}`).join(', ');
      return [`${name}: ${ends}, between ${formatCount(Math.min(...values))} and ${formatCount(Math.max(...values))}.`];
    })
    .join(' ');
}

/** Colors and dashes are in the stylesheet; the classes repeat after the last one. */
const SERIES_CLASSES = 7;

export function seriesClass(index: number): string {
  return `s${(index % SERIES_CLASSES) + 1}`;
}

function formatCount(value: number): string {
  return value.toLocaleString('en-US');
}

function round(pixels: number): number {
  return Math.round(pixels * 10) / 10;
}

const escapeXml = (text: string): string => Handlebars.escapeExpression(text);

/** Series from rows, ordered by time: one per column of `columns`, or, with `by`, one per value of that column. */
export function buildSeries(
  rows: readonly Row[],
  x: string,
  columns: readonly string[],
  by?: string,
): readonly Series[] {
  const hasValue = (column: string) => (row: Row) => row[column] !== null && row[x] !== null;
  const toPoints = (members: readonly Row[], column: string) =>
    members
      .map((row) => ({ at: new Date(String(row[x])), value: Number(row[column]) }))
      .sort((a, b) => a.at.getTime() - b.at.getTime());
  if (by === undefined) {
    return columns.map((name) => ({ name, points: toPoints(rows.filter(hasValue(name)), name) }));
  }
  const [column = ''] = columns;
  const groups = new Map<Value, Row[]>();
  for (const row of rows.filter(hasValue(column))) {
    const name = row[by] ?? null;
    const group = groups.get(name);
    if (group) group.push(row);
    else groups.set(name, [row]);
  }
  return [...groups].map(([name, members]) => ({ name: String(name), points: toPoints(members, column) }));
}
