import { scaleLinear } from 'd3-scale';
import { seriesClass } from './charts.ts';
import { escapeMarkup, roundPixels } from './markup.ts';

export interface BarChartSpec {
  /** The accessible name of the chart. */
  readonly title: string;
  /** Names of the values of a category. */
  readonly series: readonly string[];
  readonly categories: readonly Category[];
}

export interface Category {
  readonly name: string;
  /** One for each series; null draws no bar. */
  readonly values: readonly (number | null)[];
}

/** Pixels at which a variant is shown without scaling. */
const SIZES = [
  { name: 'wide', width: 800, labelWidth: 230, maxLabel: 34, maxTicks: 6 },
  { name: 'narrow', width: 360, labelWidth: 120, maxLabel: 17, maxTicks: 3 },
] as const;
const BAR_HEIGHT = 14;
const CATEGORY_GAP = 8;
const MARGIN = { top: 4, right: 28, bottom: 26 };

/** Horizontal bars as `<svg>` elements: one for wide and one for narrow screens, of which the stylesheet shows one. */
export function drawBars(spec: BarChartSpec): string {
  return SIZES.map((size) => drawVariant(spec, size)).join('\n');
}

function drawVariant({ title, series, categories }: BarChartSpec, size: (typeof SIZES)[number]): string {
  const { name, width, labelWidth, maxLabel, maxTicks } = size;
  const values = categories.flatMap((category) => category.values).filter((value) => value !== null);
  const x = scaleLinear([Math.min(0, ...values), Math.max(0, ...values)], [labelWidth, width - MARGIN.right]).nice(
    maxTicks,
  );
  const step = series.length * BAR_HEIGHT + CATEGORY_GAP;
  const bottom = MARGIN.top + categories.length * step;
  const height = bottom + MARGIN.bottom;
  const format = x.tickFormat(maxTicks);
  const drawCategory = (category: Category, index: number) => {
    const top = MARGIN.top + index * step + CATEGORY_GAP / 2;
    const middle = top + (step - CATEGORY_GAP) / 2;
    const label = `<text x="${labelWidth - 8}" y="${middle}" dy=".32em" text-anchor="end">${escapeMarkup(shorten(category.name, maxLabel))}</text>`;
    return `${label}${drawCategoryBars(category, series, top, x)}`;
  };
  return [
    `<svg class="${name}" xmlns="http://www.w3.org/2000/svg" role="img" viewBox="0 0 ${width} ${height}">`,
    `<title>${escapeMarkup(title)}</title>`,
    ...x.ticks(maxTicks).map((tick) => drawTick(format(tick), x(tick), bottom, tick === 0)),
    ...categories.map(drawCategory),
    '</svg>',
  ].join('');
}

function drawCategoryBars(
  { name, values }: Category,
  series: readonly string[],
  top: number,
  x: (value: number) => number,
): string {
  return values
    .map((value, index) => {
      if (value === null) return '';
      const [from, to] = [x(0), x(value)].sort((a, b) => a - b) as [number, number];
      const box = `x="${roundPixels(from)}" y="${top + index * BAR_HEIGHT}" width="${roundPixels(value === 0 ? 0 : Math.max(1, to - from))}" height="${BAR_HEIGHT - 1}"`;
      const tooltip = escapeMarkup(`${name}: ${series[index]} ${value.toLocaleString('en-US')}`);
      return `<rect class="bar ${seriesClass(index)}" ${box}><title>${tooltip}</title></rect>`;
    })
    .join('');
}

function drawTick(label: string, x: number, bottom: number, isZero: boolean): string {
  const rule = `<path class="${isZero ? 'axis' : 'grid-line'}" d="M${roundPixels(x)},${MARGIN.top}V${bottom}"/>`;
  return `${rule}<text x="${roundPixels(x)}" y="${bottom + 18}" text-anchor="middle">${escapeMarkup(label)}</text>`;
}

function shorten(text: string, maxLength: number): string {
  const characters = [...text];
  return characters.length > maxLength ? `${characters.slice(0, maxLength - 1).join('')}…` : text;
}
