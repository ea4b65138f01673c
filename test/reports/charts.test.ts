import { describe, expect, it } from 'vitest';
import { drawChart, timeTicks } from '../../src/tell/reports/charts.ts';
import { buildSeries, splitAtGaps } from '../../src/tell/reports/series.ts';

const at = (day: number) => new Date(Date.UTC(2026, 10, day, 2, 15));
const points = (...values: number[]) => values.map((value, index) => ({ at: at(index + 1), value }));
const days = (count: number) => Array.from({ length: count }, (_, index) => new Date(Date.UTC(2026, 10, index + 1)));

describe('drawChart', () => {
  it('draws a variant for wide and one for narrow screens, without style or script', () => {
    const svg = drawChart({ title: 'Drifting per day', series: [{ name: 'Drifted', points: points(1, 4, 2) }] });
    expect([...svg.matchAll(/^<svg class="(\w+)"/gmu)].map(([, name]) => name)).toEqual(['wide', 'narrow']);
    expect(svg).not.toMatch(/<style|<script|\sstyle=/u);
  });

  it('has the role of an image, a title, and a description with the values', () => {
    const svg = drawChart({ title: 'Drifting per day', series: [{ name: 'Drifted', points: points(1, 4, 2) }] });
    expect(svg).toMatch(/^<svg [^>]*role="img"[^>]*><title>Drifting per day<\/title>/u);
    expect(svg).toContain('<desc>Drifted: 1 on 1 Nov, 2 on 3 Nov, between 1 and 4.</desc>');
  });

  it('of more points than a call has arguments is drawn', () => {
    const long = Array.from({ length: 200_000 }, (_, minute) => ({ at: new Date(minute * 60_000), value: minute }));
    expect(drawChart({ title: 't', series: [{ name: 'a', points: long }] })).toContain('between 0 and 199,999.');
  });

  it('escapes names', () => {
    const svg = drawChart({ title: '<b>&"', kind: 'area', series: [{ name: '</svg><script>', points: points(1, 2) }] });
    expect(svg).not.toContain('<script>');
    expect(svg).toContain('<title>&lt;b&gt;&amp;&quot;</title>');
  });

  it('interrupts lines and areas where a night is missing, and names the gap', () => {
    const withGap = points(1, 4, 2, 5, 3).filter((_, index) => index !== 2);
    for (const kind of ['line', 'area'] as const) {
      const [wide = ''] = drawChart({ title: 't', kind, series: [{ name: 'a', points: withGap }] }).split('\n');
      const path = new RegExp(`class="${kind} s1" d="([^"]+)"`, 'u').exec(wide)?.[1] ?? '';
      expect(path.match(/M/gu), kind).toHaveLength(2);
      expect(wide).toContain('<title>No complete pull between 2 Nov and 4 Nov</title>');
    }
  });

  it('shows the values of a time in a tooltip', () => {
    const series = [
      { name: '<a>', points: points(1, 1200) },
      { name: 'b', points: points(3) },
    ];
    const [wide = ''] = drawChart({ title: 't', series }).split('\n');
    const tooltips = [...wide.matchAll(/class="hit" d="[^"]+"><title>([^<]+)/gu)].map(([, text]) => text);
    expect(tooltips).toEqual(['1 Nov: &lt;a&gt; 1, b 3', '2 Nov: &lt;a&gt; 1,200']);
  });

  it('shows the newest 60 days on a narrow screen, and all on a wide one', () => {
    const series = [{ name: 'a', points: points(...Array.from({ length: 90 }, (_, index) => index)) }];
    const [wide = '', narrow = ''] = drawChart({ title: 't', series }).split('\n');
    expect(wide.match(/class="hit"/gu)).toHaveLength(90);
    expect(narrow.match(/class="hit"/gu)).toHaveLength(60);
    expect(narrow).toContain(': a 89<');
    expect(narrow).not.toContain(': a 29<');
  });

  it('shows negative values and fractions on its axis', () => {
    const [wide = ''] = drawChart({ title: 't', series: [{ name: 'a', points: points(-0.5, 0.25) }] }).split('\n');
    const ticks = [...wide.matchAll(/text-anchor="end">([^<]+)/gu)].map(([, text]) => text);
    expect(ticks).toEqual(['-0.6', '-0.4', '-0.2', '0', '0.2', '0.4']);
    const lowest = Math.max(...[...wide.matchAll(/cy="([\d.]+)"/gu)].map(([, y]) => Number(y)));
    expect(lowest, 'within the frame').toBeLessThan(240 - 26);
  });

  it('shows a small change in a range of its own, and a large one from 0', () => {
    const ticks = (...values: number[]) => {
      const [wide = ''] = drawChart({ title: 't', series: [{ name: 'a', points: points(...values) }] }).split('\n');
      return [...wide.matchAll(/text-anchor="end">([^<]+)/gu)].map(([, text]) => text);
    };
    expect(ticks(27_900, 27_400)[0]).toBe('27,400');
    expect(ticks(20, 10)[0]).toBe('0');
    expect(ticks(5, 5)[0]).toBe('0');
  });

  it('crosses gaps where the times are not those of pulls', () => {
    const withGap = points(1, 4, 2, 5, 3).filter((_, index) => index !== 2);
    const [wide = ''] = drawChart({ title: 't', series: [{ name: 'a', points: withGap }], joinsGaps: true }).split(
      '\n',
    );
    expect(wide).not.toContain('No complete pull');
    expect(/class="line s1" d="([^"]+)"/u.exec(wide)?.[1]?.match(/M/gu)).toHaveLength(1);
  });

  it('has ticks of hours within two days', () => {
    const times = [22, 23, 25, 26].map((hour) => new Date(Date.UTC(2026, 10, 1, hour)));
    expect(timeTicks(times, 9).map(({ label }) => label)).toEqual(['22:00', '23:00', '2 Nov', '01:00', '02:00']);
  });

  it('has the same output for the same input', () => {
    const spec = { title: 't', series: [{ name: 'a', points: points(3, 1, 2) }] };
    expect(drawChart(spec)).toBe(drawChart(spec));
  });

  it('stacks the series of an area chart', () => {
    const series = [
      { name: 'a', points: points(3, 1) },
      { name: 'b', points: points(1, 3) },
    ];
    const svg = drawChart({ title: 't', kind: 'area', series });
    const [wide = ''] = svg.split('\n');
    const [a = '', b = ''] = [...wide.matchAll(/class="area s\d" d="([^"]+)"/gu)].map(([, path = '']) => path);
    const top = (path: string) => path.slice(0, path.length / 2).match(/,([\d.]+)/gu);
    expect(top(b)?.[0]).toBe(top(b)?.[1]); // 3 + 1 and 1 + 3
    expect(a).toContain(top(b)?.[0] === undefined ? 'missing' : 'Z');
  });

  it('draws a stacked bar for each day, downwards where the series says so, and names a day without a value', () => {
    const day = (number: number) => new Date(Date.UTC(2026, 10, number));
    const onDays = (values: Readonly<Record<number, number>>) =>
      Object.entries(values).map(([number, value]) => ({ at: day(Number(number)), value }));
    const series = [
      { name: 'Still', points: onDays({ 1: 3, 3: 1 }), color: 'up2' },
      { name: 'New', points: onDays({ 1: 1, 3: 0 }), color: 'up3' },
      { name: 'Resolved', points: onDays({ 1: 2, 3: 0 }), color: 'down1', isDown: true },
    ];
    const days = [1, 2, 3, 4].map(day);
    const [wide = ''] = drawChart({ title: 't', series, days }).split('\n');
    const bars = [...wide.matchAll(/<rect class="(\w+)" x="[\d.]+" y="([\d.]+)" width="[\d.]+" height="([\d.]+)"/gu)];
    const [still, later, fresh, down] = bars.map(([, color, y, height]) => ({
      color,
      y: Number(y),
      height: Number(height),
    }));
    expect([still?.color, later?.color, fresh?.color, down?.color]).toEqual(['up2', 'up2', 'up3', 'down1']);
    expect(still?.height).toBeCloseTo(3 * (later?.height ?? 0), 0);
    expect((fresh?.y ?? 0) + (fresh?.height ?? 0)).toBeCloseTo(still?.y ?? 0, 0);
    expect(down?.y).toBeCloseTo((still?.y ?? 0) + (still?.height ?? 0), 0);
    expect([...wide.matchAll(/class="(?:gap|hit)" d="[^"]+"><title>([^<]+)/gu)].map(([, text]) => text)).toEqual([
      '1 Nov: Still 3, New 1, Resolved 2',
      '2 Nov: not assessed',
      '3 Nov: Still 1, New 0, Resolved 0',
      '4 Nov: not assessed',
    ]);
  });

  it('draws series without a variation, and values of zero', () => {
    const svg = drawChart({ title: 't', series: [{ name: 'a', points: points(0, 0, 0) }] });
    expect(svg).not.toContain('NaN');
  });
});

describe('timeTicks', () => {
  it.each([2, 5, 9, 14, 31, 60, 120, 200, 366])('has ticks in equal steps for %i days', (count) => {
    for (const maxTicks of [5, 9]) {
      const ticks = timeTicks(days(count), maxTicks);
      expect(ticks.length).toBeGreaterThanOrEqual(2);
      expect(ticks.length).toBeLessThanOrEqual(maxTicks);
      const steps = ticks.slice(1).map((tick, index) => tick.at.getTime() - (ticks[index]?.at.getTime() ?? 0));
      const monthly = ticks.every(({ at: time }) => time.getUTCDate() === 1) && count > 120;
      if (!monthly) expect(new Set(steps).size).toBe(1);
    }
  });

  it('includes the last day where the step is days', () => {
    expect(timeTicks(days(14), 5).at(-1)).toEqual({ at: new Date(Date.UTC(2026, 10, 14)), label: '14 Nov' });
  });
});

describe('splitAtGaps', () => {
  it('takes a time as a gap that is longer than the usual one', () => {
    const weekly = [1, 8, 15, 29].map(at);
    expect(splitAtGaps(weekly).map((run) => run.length)).toEqual([3, 1]);
    expect(splitAtGaps(days(5)).map((run) => run.length)).toEqual([5]);
    expect(splitAtGaps([])).toEqual([]);
  });
});

describe('buildSeries', () => {
  const rows = [
    { as_of: '2026-11-02T00:00:00Z', version: 'a', n: 2, m: null },
    { as_of: '2026-11-01T00:00:00Z', version: 'a', n: 1, m: 5 },
    { as_of: '2026-11-01T00:00:00Z', version: 'b', n: 9, m: 6 },
  ];

  it('makes a series of each group, ordered by time', () => {
    const grouped = buildSeries(rows, 'as_of', ['n'], 'version');
    expect(grouped.map(({ name, points: group }) => [name, group.map(({ value }) => value)])).toEqual([
      ['a', [1, 2]],
      ['b', [9]],
    ]);
  });

  it('makes a series of each column, without NULL', () => {
    const series = buildSeries(rows.slice(0, 2), 'as_of', ['n', 'm']);
    expect(series.map(({ points: column }) => column.length)).toEqual([2, 1]);
  });
});
