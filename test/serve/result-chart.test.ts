import { describe, expect, test } from 'vitest';
import { chartResult } from '../../src/ask/serve/result-chart.ts';
import type { ResultPage } from '../../src/ask/serve/results.ts';

const NUMBERS = /^(?:BIGINT|DOUBLE|INTEGER)$/u;

/** A result from `name TYPE` columns and rows of texts. */
function result(columns: readonly string[], rows: ResultPage['rows'], isCut = false): ResultPage {
  return {
    columns: columns.map((column) => {
      const [name = '', type = ''] = column.split(' ');
      return { name, type, isNumber: NUMBERS.test(type) };
    }),
    rows,
    isCut,
  };
}

/** Tooltips of the wide variant. */
function tooltips({ svg }: { readonly svg: string }): readonly string[] {
  const wide = svg.split('<svg class="narrow"')[0] ?? '';
  return [...wide.matchAll(/<title>([^<]*)<\/title><\/(?:path|rect)>/gu)].map(([, text = '']) => text);
}

describe('lines', () => {
  test('have one series for each column of numbers, over the first column of times', () => {
    const chart = chartResult(
      result(
        ['name VARCHAR', 'day DATE', 'a BIGINT', 'b DOUBLE'],
        [
          ['x', '2026-11-02', '-3', null],
          ['y', '2026-11-01', '5', '0.25'],
        ],
      ),
    );
    expect(chart.legend.map(({ name }) => name)).toEqual(['a', 'b']);
    expect(tooltips(chart)).toEqual(['1 Nov: a 5, b 0.25', '2 Nov: a -3']);
    expect(chart.notes).toEqual([]);
  });

  test('have one series for each text where times repeat; seven of them, the largest', () => {
    const rows = Array.from({ length: 20 }, (_, index) => [
      `2026-11-0${1 + (index % 2)}T02:15:00Z`,
      `source-${index >> 1}`,
      String(index),
    ]);
    const chart = chartResult(result(['as_of TIMESTAMP_TZ', 'source VARCHAR', 'rows BIGINT'], rows));
    expect(chart.legend.map(({ name }) => name)).toEqual([9, 8, 7, 6, 5, 4, 3].map((index) => `source-${index}`));
    expect(chart.notes).toEqual(['The chart has 7 of 10 values of source, those with the largest rows.']);
  });

  test('read times without a zone as UTC, and leave out rows without a time', () => {
    const chart = chartResult(
      result(
        ['at TIMESTAMP', 'n INTEGER'],
        [
          ['2026-11-01 23:30:00', '1'],
          ['2026-11-02 00:30:00', '2'],
          ['infinity', '3'],
          [null, '4'],
        ],
      ),
    );
    expect(tooltips(chart)).toEqual(['1 Nov 23:30: n 1', '2 Nov 00:30: n 2']);
    expect(chart.notes).toEqual(['Rows without a time in at are left out.']);
  });
});

describe('bars', () => {
  test('stand for the rows, over the first column of texts', () => {
    const chart = chartResult(
      result(
        ['n BIGINT', 'project VARCHAR', 'm BIGINT'],
        [
          ['7', 'core', '12345678901234567890'],
          ['0', null, 'NaN'],
        ],
      ),
    );
    expect(tooltips(chart)).toEqual(['core: n 7', 'core: m 12,345,678,901,234,567,000', 'NULL: n 0']);
  });

  test('are forty at most', () => {
    const rows = Array.from({ length: 50 }, (_, index) => [`p${index}`, '1']);
    const chart = chartResult(result(['project VARCHAR', 'n BIGINT'], rows));
    expect(tooltips(chart)).toHaveLength(40);
    expect(chart.notes).toEqual(['The chart has 40 of 50 rows, the first ones.']);
  });

  test('escape names', () => {
    const { svg } = chartResult(result(['x VARCHAR', '<b>"n BIGINT'], [['</svg><script>alert(1)</script>', '1']]));
    expect(svg).not.toMatch(/<script|<b>/u);
    expect(svg).toContain('&lt;script&gt;');
  });
});

test.each([
  [['a VARCHAR', 'n BIGINT'], [], 'The result has no rows to chart.'],
  [['a VARCHAR', 'b DATE'], [['x', '2026-11-01']], 'A chart needs a column of numbers, such as count(*).'],
  [['n BIGINT', 'j JSON'], [['1', '{}']], 'A chart needs a column of times or texts beside the numbers.'],
  [['d DATE', 'n BIGINT'], [['2026-11-01', '1']], 'A chart over d needs at least two times.'],
  [
    ['d DATE', 'n BIGINT'],
    [
      ['2026-11-01', '1'],
      ['2026-11-01', '2'],
      ['2026-11-02', '3'],
    ],
    'Several rows have the same d: group by it, or add a column of texts to name the lines.',
  ],
])('says why %j cannot be charted', (columns, rows, reason) => {
  expect(chartResult(result(columns, rows))).toEqual({ svg: '', legend: [], notes: [reason] });
});
