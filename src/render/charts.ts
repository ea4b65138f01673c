import Handlebars from 'handlebars';
import type { Plain, Row } from '../warehouse/values.ts';

/** One line of a chart: its name and its number at each time. */
export interface Series {
  readonly name: string;
  readonly points: readonly { readonly at: Date; readonly value: number }[];
}

export interface ChartSpec {
  /** What the picture says, for those who do not see it. */
  readonly title: string;
  readonly series: readonly Series[];
  /** `line` for numbers beside each other, `area` for parts of a whole. @default line */
  readonly kind?: 'line' | 'area';
  /** One colour a series, CSS variables of the page by default; mail needs plain colours. */
  readonly colors?: readonly string[];
  readonly widthPixels?: number;
  readonly heightPixels?: number;
}

/** Draws a chart as the text of an `<svg>` element. */
export type DrawChart = (spec: ChartSpec) => string;

const COLORS = ['var(--s1)', 'var(--s2)', 'var(--s3)', 'var(--s4)', 'var(--s5)', 'var(--s6)', 'var(--s7)'];
/** Lines differ in more than their colour. */
export const DASHES = ['none', '6 3', '2 3', '8 3 2 3', '12 4', '1 4', '4 2'] as const;
const DAY = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', timeZone: 'UTC' });
const MOST_TICKS = 7;

/** Loads the drawing library, which takes a quarter of a second: only who draws pays for it. */
export async function loadCharts(): Promise<DrawChart> {
  const [Plot, { parseHTML }] = await Promise.all([import('@observablehq/plot'), import('linkedom')]);
  const { document } = parseHTML('<html></html>');
  return (spec) => {
    const svg = Plot.plot({ ...frameOf(spec), document, marks: marksOf(Plot, spec) });
    return standalone(svg, spec.title);
  };
}

type PlotLibrary = typeof import('@observablehq/plot');
type Drawn = ReturnType<PlotLibrary['plot']>;

function frameOf({ series, widthPixels = 720, heightPixels = 220, colors = COLORS }: ChartSpec) {
  const highest = Math.max(1, ...series.flatMap(({ points }) => points.map(({ value }) => value)));
  return {
    width: widthPixels,
    height: heightPixels,
    marginLeft: 16 + 8 * highest.toFixed(0).length,
    marginRight: 24,
    marginTop: 12,
    x: { type: 'utc' },
    y: { nice: true, zero: true },
    color: { domain: series.map(({ name }) => name), range: colors.slice(0, series.length) },
  } as const;
}

function marksOf(Plot: PlotLibrary, { series, kind = 'line', colors = COLORS }: ChartSpec) {
  const rows = series.flatMap(({ name, points }) => points.map((point) => ({ name, ...point })));
  const times = [...new Set(rows.map(({ at }) => at.getTime()))].sort((a, b) => a - b).map((time) => new Date(time));
  const colorOf = (index: number) => colors[index % colors.length] ?? 'currentColor';
  const lines = series.map(({ points }, index) =>
    Plot.lineY(points, {
      x: 'at',
      y: 'value',
      stroke: colorOf(index),
      strokeWidth: 2,
      strokeDasharray: DASHES[index % DASHES.length] ?? 'none',
    }),
  );
  const dots =
    times.length > 40
      ? []
      : series.map(({ points }, index) => Plot.dotY(points, { x: 'at', y: 'value', fill: colorOf(index), r: 2.5 }));
  const range = series.map(({ name }) => name);
  const areas = Plot.areaY(rows, Plot.stackY({ x: 'at', y: 'value', fill: 'name', order: range }));
  return [
    Plot.axisX({ ticks: ticksOf(times), tickFormat: (time: Date) => DAY.format(time), label: null }),
    Plot.axisY({ ticks: 4, tickFormat: integerOrNothing, label: null, tickSize: 0 }),
    Plot.gridY({ ticks: 4, strokeOpacity: 0.15 }),
    ...(kind === 'area' ? [areas] : [...lines, ...dots]),
    Plot.ruleY([0]),
  ];
}

function integerOrNothing(value: number): string {
  return Number.isInteger(value) ? value.toLocaleString('en-US') : '';
}

/** Ticks stand at nights that there were, evenly over them. */
function ticksOf(times: readonly Date[]): readonly Date[] {
  if (times.length <= MOST_TICKS) return times;
  const step = (times.length - 1) / (MOST_TICKS - 1);
  return Array.from({ length: MOST_TICKS }, (_, index) => times[Math.round(index * step)]).filter(
    (time) => time !== undefined,
  );
}

/**
 * The page's own stylesheet and policy rule: the library's styles go, the title comes. It is put in as text, since the DOM that
 * the library draws in does not escape every place.
 */
function standalone(svg: Drawn, title: string): string {
  svg.querySelector('style')?.remove();
  for (const name of ['class', 'height', 'width']) svg.removeAttribute(name);
  for (const part of svg.querySelectorAll('[aria-label]')) part.removeAttribute('aria-label'); // the parts of a picture have no names
  const escaped = Handlebars.escapeExpression(title);
  const head = `<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="${escaped}"`;
  return svg.outerHTML.replace(
    /^<svg([^>]*)>/u,
    (_: string, rest: string) => `${head}${rest}><title>${escaped}</title>`,
  );
}

/** Series out of rows, each in the order of time: one for each of `columns`, or, with `by`, one for each value of that column. */
export function seriesOf(rows: readonly Row[], x: string, columns: readonly string[], by?: string): readonly Series[] {
  const point = (row: Row, column: string) => ({ at: new Date(String(row[x])), value: Number(row[column]) });
  const known = (column: string) => (row: Row) => row[column] !== null && row[x] !== null;
  const inTime = (members: readonly Row[], column: string) =>
    members.map((row) => point(row, column)).sort((a, b) => a.at.getTime() - b.at.getTime());
  if (by === undefined) {
    return columns.map((name) => ({ name, points: inTime(rows.filter(known(name)), name) }));
  }
  const [column = ''] = columns;
  const groups = new Map<Plain, Row[]>();
  for (const row of rows.filter(known(column))) {
    const name = row[by] ?? null;
    const group = groups.get(name);
    if (group) group.push(row);
    else groups.set(name, [row]);
  }
  return [...groups].map(([name, members]) => ({ name: String(name), points: inTime(members, column) }));
}
