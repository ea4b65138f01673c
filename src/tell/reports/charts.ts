import { scaleLinear, scaleUtc } from 'd3-scale';
import { area, line, stack } from 'd3-shape';
import { utcDay, utcMonth } from 'd3-time';
import { escapeMarkup, roundPixels } from './markup.ts';
import { alignToDays, allPoints, type Point, type Series, sortedTimes, splitAtGaps, takeNewest } from './series.ts';

export interface ChartSpec {
  /** The accessible name of the chart. */
  readonly title: string;
  readonly series: readonly Series[];
  /** `line` for independent values, `area` for parts of a whole, which are stacked. @default line */
  readonly kind?: 'line' | 'area';
  /** The times are not those of nightly pulls: they stay as they are, and a longer time between two of them is no gap. @default false */
  readonly joinsGaps?: boolean;
  /** Pixels. @default 240 on wide screens, 220 on narrow ones */
  readonly height?: number | undefined;
}

/** Pixels at which a variant of a chart is shown without scaling, so that its text is readable. */
interface Size {
  readonly name: 'wide' | 'narrow';
  readonly width: number;
  readonly height: number;
  readonly maxTicks: number;
  /** Most times that the variant shows, the newest ones. */
  readonly maxTimes: number;
}

/** Days that a phone shows: each is wide enough to be seen. */
export const MAX_NARROW_TIMES = 60;

const SIZES: readonly Size[] = [
  { name: 'wide', width: 800, height: 240, maxTicks: 9, maxTimes: 400 },
  { name: 'narrow', width: 360, height: 220, maxTicks: 5, maxTimes: MAX_NARROW_TIMES },
];
const MARGIN = { top: 12, right: 24, bottom: 26 };
const DIGIT_PIXELS = 8;
const MAX_Y_TICKS = 5;
const MAX_DOT_TIMES = 40;

/** A chart as `<svg>` elements: one for wide and one for narrow screens, of which the stylesheet shows one. */
export function drawChart(spec: ChartSpec): string {
  const { series } = spec;
  const times = sortedTimes(series);
  const aligned = spec.joinsGaps ? series : alignToDays(series, times);
  return SIZES.map((size) => {
    const sized = spec.height === undefined ? size : { ...size, height: spec.height };
    return drawVariant(spec, takeNewest(aligned, size.maxTimes), sized);
  }).join('\n');
}

function drawVariant(spec: ChartSpec, series: readonly Series[], size: Size): string {
  const { title, kind = 'line' } = spec;
  const { width, height, name } = size;
  const times = sortedTimes(series);
  const layers = kind === 'area' ? stackLayers(series, times) : [];
  const values = kind === 'area' ? layers.flat().map(([, top]) => top) : allPoints(series).map(({ value }) => value);
  const isWhole = values.every(Number.isInteger);
  const top = Math.max(isWhole ? 1 : 0, ...values);
  const y = scaleLinear([Math.min(0, ...values), top], [height - MARGIN.bottom, MARGIN.top]).nice(MAX_Y_TICKS - 1);
  const yTicks = y.ticks(MAX_Y_TICKS - 1).filter((tick) => !isWhole || Number.isInteger(tick));
  const left = 16 + DIGIT_PIXELS * Math.max(...yTicks.map((tick) => formatCount(tick).length));
  const x = scaleUtc([times[0] ?? new Date(0), times.at(-1) ?? new Date(0)], [left, width - MARGIN.right]);
  const runs = spec.joinsGaps ? [times] : splitAtGaps(times);
  const frame = { x, times, top: MARGIN.top, bottom: height - MARGIN.bottom };
  const marks = kind === 'area' ? drawAreas(layers, runs, times, x, y) : drawLines(series, runs, x, y);
  const head = `<svg class="${name}" xmlns="http://www.w3.org/2000/svg" role="img" viewBox="0 0 ${width} ${height}">`;
  const parts = [
    `<title>${escapeMarkup(title)}</title>`,
    `<desc>${escapeMarkup(describeSeries(spec.series))}</desc>`,
    ...yTicks.map((tick) => drawYTick(tick, y(tick), left, width)),
    ...timeTicks(times, size.maxTicks).map(({ at, label }) => drawXTick(label, x(at), height)),
    ...drawGaps(runs, frame),
    ...marks,
    ...drawTooltips(series, frame),
  ];
  return `${head}${parts.join('')}</svg>`;
}

type Scale<T> = (value: T) => number;
type Band = readonly [bottom: number, top: number];

function drawLines(series: readonly Series[], runs: readonly (readonly Date[])[], x: Scale<Date>, y: Scale<number>) {
  const toPath = line<Point>(
    ({ at }) => x(at),
    ({ value }) => y(value),
  ).digits(1);
  const count = runs.reduce((sum, run) => sum + run.length, 0);
  return series.flatMap(({ points }, index) => {
    const parts = runs.map((run) => takePoints(points, run));
    const path = parts.map((part) => (part.length > 1 ? (toPath(part) ?? '') : '')).join('');
    const dots = parts.flatMap((part) => (count <= MAX_DOT_TIMES || part.length === 1 ? part : []));
    const drawDot = ({ at, value }: Point) =>
      `<circle class="dot ${seriesClass(index)}" cx="${roundPixels(x(at))}" cy="${roundPixels(y(value))}" r="2.5"/>`;
    return [`<path class="line ${seriesClass(index)}" d="${path}"/>`, ...dots.map(drawDot)];
  });
}

function takePoints(points: readonly Point[], times: readonly Date[]): readonly Point[] {
  const [first = new Date(0)] = times;
  const last = times.at(-1) ?? first;
  return points.filter(({ at }) => at >= first && at <= last);
}

function drawAreas(
  layers: readonly (readonly Band[])[],
  runs: readonly (readonly Date[])[],
  times: readonly Date[],
  x: Scale<Date>,
  y: Scale<number>,
) {
  const draw = (layer: readonly Band[], run: readonly Date[]) => {
    const start = times.indexOf(run[0] ?? new Date(0));
    const toPath = area<Band>(
      (_, index) => x(run[index] ?? new Date(0)),
      ([bottom]) => y(bottom),
      ([, top]) => y(top),
    ).digits(1);
    return toPath(layer.slice(start, start + run.length)) ?? '';
  };
  return layers.map(
    (layer, index) => `<path class="area ${seriesClass(index)}" d="${runs.map((run) => draw(layer, run)).join('')}"/>`,
  );
}

interface Frame {
  readonly x: Scale<Date>;
  readonly times: readonly Date[];
  readonly top: number;
  readonly bottom: number;
}

function drawGaps(runs: readonly (readonly Date[])[], { x, top, bottom }: Frame): readonly string[] {
  return runs.slice(1).map((run, index) => {
    const [from, to] = [runs[index]?.at(-1) ?? new Date(0), run[0] ?? new Date(0)];
    const title = `No complete pull between ${formatDay(from)} and ${formatDay(to)}`;
    const path = `M${roundPixels(x(from))},${top}H${roundPixels(x(to))}V${bottom}H${roundPixels(x(from))}Z`;
    return `<path class="gap" d="${path}"><title>${title}</title></path>`;
  });
}

/** An invisible column for each time, whose title shows the values. */
function drawTooltips(series: readonly Series[], { x, times, top, bottom }: Frame): readonly string[] {
  const values = series.map(({ points }) => new Map(points.map(({ at, value }) => [at.getTime(), value])));
  return times.map((time, index) => {
    const left = x(times[index - 1] ?? time);
    const right = x(times[index + 1] ?? time);
    const [from, to] = [roundPixels((left + x(time)) / 2), roundPixels((right + x(time)) / 2)];
    const known = series.flatMap(({ name }, place) => {
      const value = values[place]?.get(time.getTime());
      return value === undefined ? [] : [`${name} ${formatCount(value)}`];
    });
    const title = escapeMarkup(`${formatMoment(time)}: ${known.join(', ')}`);
    return `<path class="hit" d="M${from},${top}H${to}V${bottom}H${from}Z"><title>${title}</title></path>`;
  });
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
  const at = roundPixels(y);
  const rule = `<path class="${tick === 0 ? 'axis' : 'grid-line'}" d="M${left},${at}H${width - MARGIN.right}"/>`;
  return `${rule}<text x="${left - 8}" y="${at}" dy=".32em" text-anchor="end">${formatCount(tick)}</text>`;
}

function drawXTick(label: string, x: number, height: number): string {
  const tick = `<path class="axis" d="M${roundPixels(x)},${height - MARGIN.bottom}v5"/>`;
  return `${tick}<text x="${roundPixels(x)}" y="${height - 6}" text-anchor="middle">${label}</text>`;
}

const DAY_STEPS = [1, 2, 3, 7, 14, 28] as const;
const MONTH_STEPS = [1, 2, 3, 6, 12] as const;
const MONTH_NAMES = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'] as const;
const MAX_DAYS = 120;

/** `14 Nov`, many times faster than Intl.DateTimeFormat: a chart of a year has hundreds. */
function formatDay(time: Date): string {
  return `${time.getUTCDate()} ${MONTH_NAMES[time.getUTCMonth()]}`;
}

/** `14 Nov 02:15`, without a time at midnight. */
function formatMoment(time: Date): string {
  return isMidnight(time) ? formatDay(time) : `${formatDay(time)} ${formatHour(time)}`;
}

function formatHour(time: Date): string {
  return time.toISOString().slice(11, 16);
}

function isMidnight(time: Date): boolean {
  return time.getTime() % DAY_MS === 0;
}

const DAY_MS = 86_400_000;

interface Tick {
  readonly at: Date;
  readonly label: string;
}

/** At most `maxTicks` ticks in equal steps of days, which include the last day, of months for longer periods, or of hours within two days. */
export function timeTicks(times: readonly Date[], maxTicks: number): readonly Tick[] {
  const [first] = times;
  const last = times.at(-1);
  if (!first || !last) return [];
  if (last.getTime() - first.getTime() < 2 * DAY_MS && !times.every(isMidnight)) {
    const ticks = scaleUtc([first, last], [0, 1]).ticks(Math.floor(maxTicks / 2));
    return ticks.map((at) => ({ at, label: isMidnight(at) ? formatDay(at) : formatHour(at) }));
  }
  const days = utcDay.count(first, last);
  const step = DAY_STEPS.find((candidate) => Math.floor(days / candidate) < maxTicks);
  if (days <= MAX_DAYS && step !== undefined) {
    const ticks = Array.from({ length: Math.floor(days / step) + 1 }, (_, index) => utcDay.offset(last, -index * step));
    return ticks.reverse().map((at) => ({ at, label: formatDay(at) }));
  }
  const months = MONTH_STEPS.map((candidate) => utcMonth.every(candidate)?.range(first, last) ?? []);
  const fitting = months.find((ticks) => ticks.length <= Math.max(2, Math.floor(maxTicks * 0.8))) ?? [];
  return fitting.map((at, index) => {
    const showsYear = index === 0 || at.getUTCMonth() === 0;
    return { at, label: `${MONTH_NAMES[at.getUTCMonth()]}${showsYear ? ` ${at.getUTCFullYear()}` : ''}` };
  });
}

/** `Drifted: 3 on 18 Nov, 14 on 22 Nov, between 3 and 15.` for each series. */
function describeSeries(series: readonly Series[]): string {
  return series
    .flatMap(({ name, points }) => {
      const [first] = points;
      const last = points.at(-1);
      if (!first || !last) return [];
      const values = points.map(({ value }) => value);
      const ends = [first, last].map(({ at, value }) => `${formatCount(value)} on ${formatDay(at)}`).join(', ');
      return [`${name}: ${ends}, between ${formatCount(Math.min(...values))} and ${formatCount(Math.max(...values))}.`];
    })
    .join(' ');
}

/** Colors and dashes are in the stylesheet; the classes repeat after the last one. */
const SERIES_CLASSES = 7;

export function seriesClass(index: number): string {
  return `s${(index % SERIES_CLASSES) + 1}`;
}

const COUNT = new Intl.NumberFormat('en-US');
const FRACTION = new Intl.NumberFormat('en-US', { maximumSignificantDigits: 3 });

function formatCount(value: number): string {
  if (Number.isInteger(value) && value >= 0 && value < 1000) return String(value); // most numbers, many times faster
  return (!Number.isInteger(value) && Math.abs(value) < 1 ? FRACTION : COUNT).format(value);
}
