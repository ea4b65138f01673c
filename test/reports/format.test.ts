import { describe, expect, it } from 'vitest';
import { formatAge, formatValue, inferKind } from '../../src/tell/reports/format.ts';

describe('formatting of values', () => {
  it('shows an absent value as a dash', () => {
    expect(formatValue(null, 'number')).toBe('—');
    expect(formatValue([], 'text')).toBe('—');
    expect(formatValue(0, 'number')).toBe('0');
    expect(formatValue(false, 'text')).toBe('no');
  });

  it('shows 64-bit integers exactly and without separators, bytes in binary units, times without seconds', () => {
    expect(formatValue(18446744073709551615n, 'number')).toBe('18446744073709551615');
    const english = new Intl.NumberFormat('en-US');
    for (const value of [1, 99, 999, 1000, 12_345, 100_000, 999_999, 1_000_000, Number.MAX_SAFE_INTEGER]) {
      expect(formatValue(value, 'number')).toBe(english.format(value));
    }
    expect(formatValue(1023, 'bytes')).toBe('1,023 B');
    expect(formatValue(1536, 'bytes')).toBe('1.5 KiB');
    expect(formatValue(0, 'bytes')).toBe('0 B');
    expect(formatValue('2026-11-20T02:15:59Z', 'time')).toBe('2026-11-20 02:15');
  });

  it('removes control characters and direction overrides, and cuts long text between characters', () => {
    expect(formatValue('a\u0000b\u001b[31m\u202ec', 'text')).toBe('ab[31mc');
    const long = formatValue(`${'x'.repeat(299)}😀 and more`, 'text');
    expect(long).toBe(`${'x'.repeat(299)}…`);
  });

  it('infers the kind from the unit in the name and from the values', () => {
    expect(inferKind('capacity_bytes', [1])).toBe('bytes');
    expect(inferKind('share_percent', [1])).toBe('percent');
    expect(inferKind('since', [null, '2026-11-20T02:15:00Z'])).toBe('time');
    expect(inferKind('since', ['2026-11-20T02:15:00Z', 'yesterday'])).toBe('text');
    expect(inferKind('days', [null, 3])).toBe('number');
    expect(inferKind('severity', ['critical'])).toBe('tag');
    expect(inferKind('anything', [null])).toBe('text');
  });

  it('shows an age in the largest unit of which there are two', () => {
    expect(formatAge(119 * 60_000)).toBe('119 minutes');
    expect(formatAge(120 * 60_000)).toBe('2 hours');
    expect(formatAge(48 * 60 * 60_000)).toBe('2 days');
    expect(formatAge(60_000)).toBe('1 minute');
    expect(formatAge(-5)).toBe('0 minutes');
  });
});
