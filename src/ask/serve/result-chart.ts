import { scaleLinear } from 'd3-scale';
import { shortenText, stripControls } from '../../core/log.ts';
import { drawChart, seriesClass } from '../../tell/reports/charts.ts';
import { drawLabel, drawRule, drawVariant, element, roundPixels, tooltip } from '../../tell/reports/markup.ts';
import { buildSeries, findExtent, type Series } from '../../tell/reports/series.ts';
import type { ColumnInfo } from '../query/protocol.ts';
import type { ResultPage } from './results.ts';

/** Each has a color of its own. */
const MAX_SERIES = 7;
const MAX_BARS = 40;
const MAX_NAME_LENGTH = 60;

interface Column extends ColumnInfo {
  readonly values: readonly (string | null)[];
}

/**
 * Lines over the first column of times, or else bars over the first column of texts; the values are the columns of numbers.
 * @returns what the partial `result` shows of it; `notes` say what the chart leaves out, or why there is none
 */
export function chartResult({ columns, rows }: ResultPage) {
  const filled = columns.map((column, index) => ({ ...column, values: rows.map((row) => row[index] ?? null) }));
  const numbers = filled.filter(({ isNumber }) => isNumber);
  const times = filled.find(({ type }) => /^(?:DATE|TIMESTAMP)/u.test(type));
  const texts = filled.find(({ type }) => type === 'VARCHAR' || type === 'BOOLEAN' || type.startsWith('ENUM'));
  if (rows.length === 0) return noChart('The result has no rows to chart.');
  if (numbers.length === 0) return noChart('A chart needs a column of numbers, such as count(*).');
  if (times) return chartTimes(times, numbers, texts);
  if (texts) return chartBars(texts, numbers);
  return noChart('A chart needs a column of times or texts beside the numbers.');
}

function noChart(reason: string) {
  return { svg: '', legend: [], notes: [reason] };
}

function chartTimes(times: Column, numbers: readonly Column[], texts: Column | undefined) {
  const known = times.values.flatMap((time, row) => {
    const at = time === null ? undefined : parseTime(time);
    if (!at) return [];
    const values = numbers.map(({ values: own }, index) => [index, parseNumber(own[row] ?? null)]);
    return { at: at.toISOString(), text: texts?.values[row] ?? 'NULL', ...Object.fromEntries(values) };
  });
  const distinct = new Set(known.map(({ at }) => at));
  if (distinct.size < 2) return noChart(`A chart over ${times.name} needs at least two times.`);
  const isGrouped = distinct.size < known.length;
  if (isGrouped && !texts) {
    return noChart(
      `Several rows have the same ${times.name}: group by it, or add a column of texts to name the lines.`,
    );
  }
  const names = numbers.map(({ name }) => name);
  const built = buildSeries(known, 'at', Object.keys(numbers), isGrouped ? 'text' : undefined);
  const largest = ({ points }: Series) => findExtent(points.map(({ value }) => value))[1];
  const all = isGrouped ? [...built].sort((one, other) => largest(other) - largest(one)) : built;
  const series = all.slice(0, MAX_SERIES).map(({ name, points }, index) => ({
    name: toLabel(isGrouped ? name : (names[index] ?? '')),
    points,
  }));
  const value = isGrouped ? `${names[0]} by ${texts?.name}` : series.map(({ name }) => name).join(', ');
  const what = isGrouped
    ? `values of ${texts?.name}, those with the largest ${names[0]}`
    : 'columns of numbers, the first ones';
  return {
    svg: drawChart({ title: `${value} over ${times.name}`, series, joinsGaps: true }),
    legend: series.map(({ name }, index) => ({ name, series: seriesClass(index), kind: 'line' })),
    notes: [
      ...noteLeftOut(all.length, MAX_SERIES, what),
      ...(known.length < times.values.length ? [`Rows without a time in ${times.name} are left out.`] : []),
    ],
  };
}

function chartBars(texts: Column, numbers: readonly Column[]) {
  const shown = numbers.slice(0, MAX_SERIES);
  const series = shown.map(({ name }) => toLabel(name));
  const categories = texts.values.slice(0, MAX_BARS).map((text, row) => ({
    name: toLabel(text ?? 'NULL'),
    values: shown.map(({ values }) => parseNumber(values[row] ?? null)),
  }));
  const title = `${series.join(', ')} by ${toLabel(texts.name)}`;
  return {
    svg: SIZES.map((size) => drawBars(title, series, categories, size)).join('\n'),
    legend: series.map((name, index) => ({ name, series: seriesClass(index), kind: 'area' })),
    notes: [
      ...noteLeftOut(texts.values.length, MAX_BARS, 'rows, the first ones'),
      ...noteLeftOut(numbers.length, MAX_SERIES, 'columns of numbers, the first ones'),
    ],
  };
}

function noteLeftOut(count: number, max: number, what: string): readonly string[] {
  return count > max ? [`The chart has ${max} of ${count.toLocaleString('en-US')} ${what}.`] : [];
}

/** Times without a zone are UTC. Infinity is no time. */
function parseTime(text: string): Date | undefined {
  const iso = text.replace(' ', 'T');
  const time = new Date(/(?:Z|[+-]\d\d(?::\d\d)?)$|^[\d-]+$/u.test(iso) ? iso : `${iso}Z`);
  return Number.isNaN(time.getTime()) ? undefined : time;
}

function parseNumber(text: string | null): number | null {
  const value = text === null ? Number.NaN : Number(text);
  return Number.isFinite(value) ? value : null;
}

function toLabel(text: string): string {
  return shortenText(stripControls(text).replaceAll(/\s+/gu, ' ').trim(), MAX_NAME_LENGTH);
}

/** The values of one text, one for each series; null draws no bar. */
interface Category {
  readonly name: string;
  readonly values: readonly (number | null)[];
}

/** Pixels. */
const SIZES = [
  { name: 'wide', width: 800, labelWidth: 230, maxLabel: 34, maxTicks: 6 },
  { name: 'narrow', width: 360, labelWidth: 120, maxLabel: 17, maxTicks: 3 },
] as const;
type Size = (typeof SIZES)[number];
const BAR_HEIGHT = 14;
const CATEGORY_GAP = 8;
const MARGIN = { top: 4, right: 28, bottom: 26 };

/** Horizontal bars as an `<svg>` element: there is one for wide and one for narrow screens, of which the stylesheet shows one. */
function drawBars(title: string, series: readonly string[], categories: readonly Category[], size: Size): string {
  const { width, labelWidth, maxLabel, maxTicks } = size;
  const values = categories.flatMap((category) => category.values).filter((value) => value !== null);
  const x = scaleLinear([Math.min(0, ...values), Math.max(0, ...values)], [labelWidth, width - MARGIN.right]).nice(
    maxTicks,
  );
  const step = series.length * BAR_HEIGHT + CATEGORY_GAP;
  const bottom = MARGIN.top + categories.length * step;
  const format = x.tickFormat(maxTicks);
  const drawBar = (name: string, index: number, value: number, y: number) => {
    const [from, to] = [x(0), x(value)].sort((a, b) => a - b) as [number, number];
    const box = { x: from, y, width: value === 0 ? 0 : Math.max(1, to - from), height: BAR_HEIGHT - 1 };
    const words = `${name}: ${series[index]} ${value.toLocaleString('en-US')}`;
    return element('rect', { class: `bar ${seriesClass(index)}`, ...box }, tooltip(words));
  };
  const drawCategory = ({ name, values: own }: Category, place: number) => {
    const top = MARGIN.top + place * step + CATEGORY_GAP / 2;
    const shown = name.length > maxLabel ? shortenText(name, maxLabel - 1) : name;
    const label = drawLabel(labelWidth - 8, top + (step - CATEGORY_GAP) / 2, 'end', shown);
    const bars = own.map((value, index) =>
      value === null ? '' : drawBar(name, index, value, top + index * BAR_HEIGHT),
    );
    return `${label}${bars.join('')}`;
  };
  return drawVariant({ ...size, height: bottom + MARGIN.bottom }, title, [
    ...x
      .ticks(maxTicks)
      .flatMap((tick) => [
        drawRule(tick, `M${roundPixels(x(tick))},${MARGIN.top}V${bottom}`),
        drawLabel(x(tick), bottom + 18, 'middle', format(tick)),
      ]),
    ...categories.map(drawCategory),
  ]);
}
