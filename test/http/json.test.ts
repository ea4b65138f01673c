import { describe, expect, it } from 'vitest';
import { parseJson, parseLossless, printJson } from '../../src/http/json.ts';

describe('JSON that keeps its digits', () => {
  it('gives integers beyond 2^53 as bigint, others as numbers', () => {
    expect(
      parseJson('{"a": 9007199254740993, "b": -18446744073709551615, "c": 1, "d": 1.5e3, "e": "12345678901234567890"}'),
    ).toEqual({
      a: 9007199254740993n,
      b: -18446744073709551615n,
      c: 1,
      d: 1500,
      e: '12345678901234567890',
    });
    expect(parseJson('18446744073709551615')).toBe(18446744073709551615n);
    expect(parseJson('[1,9007199254740993]')).toEqual([1, 9007199254740993n]);
  });

  it('parses what has no large integers as JSON.parse does', () => {
    expect(parseJson('{"a": [1, 2.5, null, "x"]}')).toEqual({ a: [1, 2.5, null, 'x'] });
  });

  it('prints every number as it came', () => {
    const text = '{"a": 1.0, "b": 10000000000000001235667, "c": 1e400, "d": 0.10}';
    expect(printJson(parseLossless(text)).replaceAll(/\s+/gu, ' ')).toBe(
      '{ "a": 1.0, "b": 10000000000000001235667, "c": 1e400, "d": 0.10 }',
    );
    expect(printJson(parseJson('[9007199254740993]'))).toBe('[\n  9007199254740993\n]');
  });

  it('takes the last of two equal keys, with and without large integers', () => {
    expect(parseJson('{"a":1,"a":2}')).toEqual({ a: 2 });
    expect(parseJson('{"a":1,"a":9007199254740993}')).toEqual({ a: 9007199254740993n });
  });

  it('refuses hostile depth, and counts no brackets within strings', () => {
    expect(() => parseJson(`${'['.repeat(100_000)}${']'.repeat(100_000)}`)).toThrow('nested deeper than 200');
    expect(() => parseJson(`${'{"a":'.repeat(201)}1${'}'.repeat(201)}`)).toThrow(SyntaxError);
    expect(parseJson(`["${'[{'.repeat(500)}", "\\"${'['.repeat(500)}\\\\"]`)).toHaveLength(2);
    expect(parseJson(`${'['.repeat(200)}${']'.repeat(200)}`)).toBeDefined();
  });

  it('refuses what is not JSON', () => {
    for (const text of ['', '{', '"abc', '{"a":9007199254740993', 'nope'])
      expect(() => parseJson(text)).toThrow(SyntaxError);
  });
});
