import { describe, expect, it } from 'vitest';
import { formatValue, kindOf } from '../../src/render/format.ts';
import { ageOf } from '../../src/render/page.ts';

describe('values on a page', () => {
  it('shows what there is none of as a dash, never as an empty place or a zero', () => {
    expect(formatValue(null, 'number')).toBe('—');
    expect(formatValue([], 'text')).toBe('—');
    expect(formatValue(0, 'number')).toBe('0');
    expect(formatValue(false, 'text')).toBe('no');
  });

  it('shows 64-bit integers whole, bytes in binary units, times without seconds', () => {
    expect(formatValue(18446744073709551615n, 'number')).toBe('18,446,744,073,709,551,615');
    expect(formatValue(1023, 'bytes')).toBe('1,023 B');
    expect(formatValue(1536, 'bytes')).toBe('1.5 KiB');
    expect(formatValue(0, 'bytes')).toBe('0 B');
    expect(formatValue('2026-11-20T02:15:59Z', 'time')).toBe('2026-11-20 02:15');
  });

  it('takes control characters and direction overrides out, and cuts what is endless without halving a character', () => {
    expect(formatValue('a\u0000b\u001b[31m\u202ec', 'text')).toBe('ab[31mc');
    const long = formatValue(`${'x'.repeat(299)}😀 and more`, 'text');
    expect(long).toBe(`${'x'.repeat(299)}…`);
  });

  it('tells the kind from the unit in the name, and from the values', () => {
    expect(kindOf('capacity_bytes', [1])).toBe('bytes');
    expect(kindOf('share_percent', [1])).toBe('percent');
    expect(kindOf('since', [null, '2026-11-20T02:15:00Z'])).toBe('time');
    expect(kindOf('since', ['2026-11-20T02:15:00Z', 'yesterday'])).toBe('text');
    expect(kindOf('days', [null, 3])).toBe('number');
    expect(kindOf('severity', ['critical'])).toBe('tag');
    expect(kindOf('anything', [null])).toBe('text');
  });

  it('tells an age in the largest unit that it has twice', () => {
    expect(ageOf(119 * 60_000)).toBe('119 minutes');
    expect(ageOf(120 * 60_000)).toBe('2 hours');
    expect(ageOf(48 * 60 * 60_000)).toBe('2 days');
    expect(ageOf(-5)).toBe('0 minutes');
  });
});
