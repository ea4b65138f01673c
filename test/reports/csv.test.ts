import { parse } from 'csv-parse/sync';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { toSpreadsheetCsv } from '../../src/tell/reports/format.ts';

const cell = (value: string) => (parse(toSpreadsheetCsv([{ value }])) as string[][])[1]?.[0];

describe('toSpreadsheetCsv', () => {
  it('puts an apostrophe before a formula, also after spaces and in full width', () => {
    for (const formula of ['=1+1', '+1', '-1', '@SUM(A1)', '\t=1', '\r=1', '  =1', '\u00a0=1', 'a\n=1', '＝1', '\n']) {
      expect(cell(formula)).toBe(`'${formula}`);
    }
  });

  it('detects formulas after control and invisible characters', () => {
    for (const formula of ['\u0000=1', '\u001b+1', '\u202e=1', '\ufeff@SUM(A1)', '\u200b-1']) {
      expect(cell(formula)).toBe(`'${formula.replace(/\p{Cc}/u, '\ufffd')}`);
    }
  });

  it('replaces every control character but tab and line breaks, which could control a terminal', () => {
    const controls = Array.from({ length: 0xa0 }, (_, code) => String.fromCharCode(code)).filter((c) =>
      /\p{Cc}/u.test(c),
    );
    const left = controls.filter((control) => cell(`a${control}b`) !== 'a\ufffdb');
    expect(left).toEqual(['\t', '\n', '\r']);
    expect(cell('\u001b]0;title\u0007')).toBe('\ufffd]0;title\ufffd');
    expect(toSpreadsheetCsv([{ value: { a: ['\u009b31m'] } }])).toContain('\ufffd31m');
  });

  it('leaves other text and numbers unchanged, including negative ones', () => {
    expect(cell('a=b')).toBe('a=b');
    expect(cell('5-3')).toBe('5-3');
    expect(toSpreadsheetCsv([{ a: -3, b: 18446744073709551615n, c: null, d: true }])).toBe(
      'a,b,c,d\r\n-3,18446744073709551615,,true\r\n',
    );
  });

  it('reads a text of line breaks once', () => {
    const start = performance.now();
    expect(cell(`a${'\n'.repeat(100_000)}x`)).toHaveLength(100_002);
    expect(cell(`a${'\n '.repeat(100_000)}=1`)).toMatch(/^'a/u);
    expect(performance.now() - start).toBeLessThan(2_000);
  });

  it('is valid CSV for any name', () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: 'grapheme', minLength: 1 }), { minLength: 1 }), (values) => {
        const records = parse(toSpreadsheetCsv(values.map((value) => ({ value, n: 1 })))) as string[][];
        expect(records.slice(1).map(([value]) => value?.replace(/^'/u, ''))).toEqual(
          values.map((value) => value.replace(/^'/u, '')),
        );
      }),
    );
  });
});
