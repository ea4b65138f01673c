import { scaleLinear } from 'd3-scale';
import { shortenText } from '../../core/log.ts';
import { seriesClass } from './charts.ts';
import { drawLabel, drawRule, drawVariant, element, roundPixels, tooltip } from './markup.ts';

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

/** Pixels. */
const SIZES = [
  { name: 'wide', width: 800, labelWidth: 230, maxLabel: 34, maxTicks: 6 },
  { name: 'narrow', width: 360, labelWidth: 120, maxLabel: 17, maxTicks: 3 },
] as const;
const BAR_HEIGHT = 14;
const CATEGORY_GAP = 8;
const MARGIN = { top: 4, right: 28, bottom: 26 };

/** Horizontal bars as `<svg>` elements: one for wide and one for narrow screens, of which the stylesheet shows one. */
export function drawBars(spec: BarChartSpec): string {
  return SIZES.map((size) => drawSize(spec, size)).join('\n');
}

function drawSize({ title, series, categories }: BarChartSpec, size: (typeof SIZES)[number]): string {
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
