import { scaleLinear, scaleUtc } from 'd3-scale';
import { area, line } from 'd3-shape';
import { utcDay, utcMonth } from 'd3-time';
import { DAY_MS } from '../../core/clock.ts';
import { drawLabel, drawRule, drawVariant, element, escapeMarkup, roundPixels, tooltip } from './markup.ts';
import { alignToDays, findExtent, type Point, type Series, sortedTimes, splitAtGaps, takeNewest } from './series.ts';

interface ChartSpec {
  /** The accessible name of the chart. */
  readonly title: string;
  readonly series: readonly Series[];
  /** `line` for independent values, `area` for parts of a whole, which are stacked. @default line */
  readonly kind?: 'line' | 'area';
  /** Days with a stacked bar each, of which one without a value is a gap. The points are at the start of their days. @default no bars */
  readonly days?: readonly Date[];
  /** The times are not those of nightly pulls: they stay as they are, and a longer time between two of them is no gap. @default false */
  readonly joinsGaps?: boolean;
  /** Pixels. @default 240 on wide screens, 220 on narrow ones */
  readonly height?: number | undefined;
}

/** Days that a phone shows: each is wide enough to be seen. */
export const MAX_NARROW_TIMES = 60;

/** Pixels of each variant, and the most times that it shows, the newest ones. */
const SIZES = [
  { name: 'wide', width: 800, height: 240, maxTicks: 9, maxTimes: 400, maxBars: 60 },
  { name: 'narrow', width: 360, height: 220, maxTicks: 5, maxTimes: MAX_NARROW_TIMES, maxBars: 28 },
] as const;
const MARGIN = { top: 12, right: 24, bottom: 26 };
const DIGIT_PIXELS = 8;
const MAX_Y_TICKS = 5;
const MAX_DOT_TIMES = 40;
/** Of a day, that a bar is wide. */
const BAR_SHARE = 0.72;

/** A chart as `<svg>` elements: one for wide and one for narrow screens, of which the stylesheet shows one. */
export function drawChart(spec: ChartSpec): string {
  const { series } = spec;
  const aligned = spec.joinsGaps || spec.days ? series : alignToDays(series);
  return SIZES.map(({ maxTimes, maxBars, ...size }) => {
    const days = spec.days?.slice(-maxBars);
    const shown = takeNewest(aligned, maxTimes);
    return drawSize({ ...spec, ...(days && { days }) }, shown, { ...size, height: spec.height ?? size.height });
  }).join('\n');
}

type Size = Pick<(typeof SIZES)[number], 'name' | 'width' | 'maxTicks'> & { readonly height: number };

function drawSize(
  { title, kind = 'line', days, joinsGaps, series: all }: ChartSpec,
  series: readonly Series[],
  size: Size,
): string {
  const { width, height } = size;
  const times = days ?? sortedTimes(series);
  const isStacked = kind === 'area' || days !== undefined;
  const layers = isStacked ? stackSeries(series, times) : series.map(({ points }) => points);
  const values = layers.flat().map(({ value }) => value);
  const isWhole = values.every(Number.isInteger);
  const bottom = height - MARGIN.bottom;
  const y = scaleLinear(chooseRange(values, isStacked), [bottom, MARGIN.top]).nice(MAX_Y_TICKS - 1);
  const yTicks = y.ticks(MAX_Y_TICKS - 1).filter((tick) => !isWhole || Number.isInteger(tick));
  const formatTick = (tick: number) => formatCount(days ? Math.abs(tick) : tick);
  const left = 16 + DIGIT_PIXELS * Math.max(...yTicks.map((tick) => formatTick(tick).length));
  const halfMs = days ? DAY_MS / 2 : 0;
  const ends = [times[0], times.at(-1)].map((time, index) => (time?.getTime() ?? 0) + (index === 0 ? -halfMs : halfMs));
  const x = scaleUtc(ends, [left, width - MARGIN.right]);
  const runs = joinsGaps ? [times] : splitAtGaps(times);
  const column = (name: string, from: number, to: number, words: string) => {
    const [start, end] = [roundPixels(from), roundPixels(to)];
    return element('path', { class: name, d: `M${start},${MARGIN.top}H${end}V${bottom}H${start}Z` }, tooltip(words));
  };
  const around = (index: number): readonly [number, number] => {
    const at = times[index]?.getTime() ?? 0;
    const to = (other: Date | undefined, end: number) => x(other ? (other.getTime() + at) / 2 : end);
    return [to(times[index - 1], at - halfMs), to(times[index + 1], at + halfMs)];
  };
  const told = describeTimes(series, times);
  const gaps = listGaps(runs).map(([from, to]) =>
    column('gap', x(from), x(to), `No complete pull between ${formatDay(from)} and ${formatDay(to)}`),
  );
  return drawVariant(size, title, [
    element('desc', {}, escapeMarkup(describeSeries(all))),
    ...yTicks.flatMap((tick) => [
      drawRule(tick, `M${left},${roundPixels(y(tick))}H${width - MARGIN.right}`),
      drawLabel(left - 8, y(tick), 'end', formatTick(tick)),
    ]),
    ...timeTicks(times, size.maxTicks).flatMap(({ at, label }) => [
      element('path', { class: 'axis', d: `M${roundPixels(x(at))},${bottom}v5` }),
      drawLabel(x(at), height - 6, 'middle', label),
    ]),
    ...gaps,
    ...layers.flatMap((points, index) => {
      const color = series[index]?.color ?? seriesClass(index);
      return days ? drawBars(points, color, x, y) : drawLayer(points, color, kind, runs, x, y);
    }),
    ...times.map((time, index) =>
      told[index] === undefined
        ? column('gap', ...around(index), `${formatDay(time)}: not assessed`)
        : column('hit', ...around(index), told[index]),
    ),
  ]);
}

/** From 0, but for lines that would be flat: what changed by less than a quarter shows in a range of its own. */
function chooseRange(values: readonly number[], isStacked: boolean): readonly [number, number] {
  const [lowest, highest] = findExtent(values);
  if (!isStacked && lowest > 0.75 * highest && lowest < highest) return [lowest, highest];
  return [Math.min(0, lowest), Math.max(values.every(Number.isInteger) ? 1 : 0, highest)];
}

type Scale<T> = (value: T) => number;

/** A value of a stacked series begins where the series below it ends. */
type LayerPoint = Point & { readonly from?: number };

/** A line with its dots, or an area. It ends at each gap. */
function drawLayer(
  points: readonly LayerPoint[],
  series: string,
  kind: 'line' | 'area',
  runs: readonly (readonly Date[])[],
  x: Scale<Date>,
  y: Scale<number>,
): readonly string[] {
  const parts = runs.map(([first = new Date(0), ...more]) =>
    points.filter(({ at }) => at >= first && at <= (more.at(-1) ?? first)),
  );
  const [atX, atY] = [({ at }: Point) => x(at), ({ value }: Point) => y(value)];
  const toPath =
    kind === 'area'
      ? area<LayerPoint>(atX, ({ from = 0 }) => y(from), atY).digits(1)
      : line<LayerPoint>(atX, atY).digits(1);
  const path = parts.map((part) => (kind === 'area' || part.length > 1 ? toPath(part) : '')).join('');
  const count = runs.reduce((sum, run) => sum + run.length, 0);
  const dots =
    kind === 'area' ? [] : parts.flatMap((part) => (count <= MAX_DOT_TIMES || part.length === 1 ? part : []));
  return [
    element('path', { class: `${kind} ${series}`, d: path }),
    ...dots.map((dot) => element('circle', { class: `dot ${series}`, cx: atX(dot), cy: atY(dot), r: 2.5 })),
  ];
}

/** A bar for each point that is not 0. */
function drawBars(points: readonly LayerPoint[], color: string, x: Scale<Date>, y: Scale<number>): readonly string[] {
  const width = (x(new Date(DAY_MS)) - x(new Date(0))) * BAR_SHARE;
  return points
    .filter(({ from, value }) => from !== value)
    .map(({ at, from = 0, value }) => {
      const [top, end] = [y(Math.max(from, value)), y(Math.min(from, value))];
      return element('rect', { class: color, x: x(at) - width / 2, y: top, width, height: end - top });
    });
}

/** The ends of each gap between parts. */
function listGaps(runs: readonly (readonly Date[])[]): readonly (readonly [from: Date, to: Date])[] {
  return runs.slice(1).map((run, index) => [runs[index]?.at(-1) ?? new Date(0), run[0] ?? new Date(0)]);
}

/** `14 Nov: drifted 3, unknown 1` for each time; undefined for one without a value. */
function describeTimes(series: readonly Series[], times: readonly Date[]): readonly (string | undefined)[] {
  const values = series.map(({ points }) => byTime(points));
  return times.map((time) => {
    const known = series.flatMap(({ name }, place) => {
      const value = values[place]?.get(time.getTime());
      return value === undefined ? [] : [`${name} ${formatCount(value)}`];
    });
    return known.length > 0 ? `${formatMoment(time)}: ${known.join(', ')}` : undefined;
  });
}

const byTime = (points: readonly Point[]) => new Map(points.map(({ at, value }) => [at.getTime(), value]));

/** Each series on top of those before it, or below those that point downwards. One without a value at a time counts as 0. */
function stackSeries(series: readonly Series[], times: readonly Date[]): readonly (readonly LayerPoint[])[] {
  const ends = { up: times.map(() => 0), down: times.map(() => 0) };
  return series.map(({ points, isDown }) => {
    const values = byTime(points);
    const own = isDown ? ends.down : ends.up;
    return times.map((at, index) => {
      const from = own[index] ?? 0;
      const value = from + (isDown ? -1 : 1) * (values.get(at.getTime()) ?? 0);
      own[index] = value;
      return { at, from, value };
    });
  });
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

/** At most `maxTicks` ticks in equal steps of days, which include the last day, of months for longer periods, or of hours within two days. */
export function timeTicks(times: readonly Date[], maxTicks: number) {
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
      const [least, largest] = findExtent(points.map(({ value }) => value));
      const ends = [first, last].map(({ at, value }) => `${formatCount(value)} on ${formatDay(at)}`).join(', ');
      return [`${name}: ${ends}, between ${formatCount(least)} and ${formatCount(largest)}.`];
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
