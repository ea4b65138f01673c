import { beforeAll, describe, expect, it } from 'vitest';
import { type DrawChart, loadCharts, seriesOf } from '../../src/render/charts.ts';

const at = (day: number) => new Date(Date.UTC(2026, 10, day));
const points = (...values: number[]) => values.map((value, index) => ({ at: at(index + 1), value }));

describe('charts', () => {
  let draw: DrawChart;
  beforeAll(async () => {
    draw = await loadCharts();
  });

  it('are pictures with a title for those who do not see them, and bring no style or script', () => {
    const svg = draw({ title: 'Drifting, by night', series: [{ name: 'Drifted', points: points(1, 4, 2) }] });
    expect(svg).toMatch(/^<svg [^>]*role="img"/u);
    expect(svg).toContain('aria-label="Drifting, by night"');
    expect(svg).toContain('<title>Drifting, by night</title>');
    expect(svg).not.toMatch(/<style|<script|\sstyle=/u);
  });

  it('escape whatever stands in names', () => {
    const svg = draw({ title: '<b>&"', kind: 'area', series: [{ name: '</svg><script>', points: points(1, 2) }] });
    expect(svg).not.toContain('<script>');
    expect(svg).toContain('aria-label="&lt;b&gt;&amp;&quot;"');
    expect(svg).toContain('<title>&lt;b&gt;&amp;&quot;</title>');
  });

  it('are the same each time', () => {
    const spec = { title: 't', series: [{ name: 'a', points: points(3, 1, 2) }] };
    expect(draw(spec)).toBe(draw(spec));
  });

  it('take plain colours, for readers that know no variables', () => {
    const svg = draw({ title: 't', series: [{ name: 'a', points: points(1, 2) }], colors: ['#123456'] });
    expect(svg).toContain('#123456');
    expect(svg).not.toContain('var(');
  });

  it('draw rows by column or by group, in the order of time whatever the order of the rows', () => {
    const rows = [
      { night: '2026-11-02T00:00:00Z', version: 'a', n: 2, m: null },
      { night: '2026-11-01T00:00:00Z', version: 'a', n: 1, m: 5 },
      { night: '2026-11-01T00:00:00Z', version: 'b', n: 9, m: 6 },
    ];
    const grouped = seriesOf(rows, 'night', ['n'], 'version');
    expect(grouped.map(({ name, points: p }) => [name, p.map(({ value }) => value)])).toEqual([
      ['a', [1, 2]],
      ['b', [9]],
    ]);
    expect(seriesOf(rows.slice(0, 2), 'night', ['n', 'm']).map(({ points: p }) => p.length)).toEqual([2, 1]);
  });
});
