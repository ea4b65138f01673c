import { describe, expect, it } from 'vitest';
import { type ReportData, toJsonParts, toJsonText } from '../../src/tell/reports/data.ts';

const HEAD = {
  report: 'drift',
  as_of: '2026-11-20T02:15:00Z',
  generated_at: '2026-11-20T02:15:00Z',
  sources: [],
  state: null,
  summary: { open: 3, headline: 'line one\nline two' },
} satisfies ReportData;

const toRows = (count: number) =>
  Array.from({ length: count }, (_, index) => ({ index, name: 'a\n]\n', tags: ['x', { y: [] }], parent: null }));

describe('the JSON of a report in parts', () => {
  it.each([
    ['no rows', { rows: [] }],
    ['one row', { rows: toRows(1) }],
    ['as many rows as one part', { rows: toRows(1000) }],
    ['rows of several parts, and what follows them', { rows: toRows(2001), count: 2001, more: toRows(1) }],
    ['64-bit integers in one part alone', { rows: [...toRows(1000), { index: 18446744073709551615n }] }],
    ['lists, empty objects, null and absent values', { rows: [[], {}, null, [1]], none: undefined, nothing: null }],
  ])('is the same text for %s', (_, datasets) => {
    const data: ReportData = { ...HEAD, ...datasets };
    expect([...toJsonParts(data)].join('')).toBe(toJsonText(data));
  });
});
