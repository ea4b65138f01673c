import { describe, expect, it } from 'vitest';
import {
  findContradiction,
  parseJson,
  parseLossless,
  printJson,
  sliceElements,
  sliceFields,
} from '../../src/core/json.ts';

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

  it('finds an object that has a name twice, with two values', () => {
    const find = (text: string) => findContradiction(text, parseJson(text));
    const texts = [
      '{"a":1,"b":{"a":2,"c":":"}}',
      '[{"a":1},{"a":2}]',
      '{"a":1,"a":1}',
      '"a:b"',
      '{"__proto__":{"a":1}}',
    ];
    expect(texts.map(find)).toEqual(texts.map(() => undefined));
    expect(find('{"a":1,"a":2}')).toBe(8);
    expect(find('[{"b":[{"\\u0061":1,"x":9007199254740993,"a":2}]}]')).toBeGreaterThan(0);
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

describe('the text of parts of JSON', () => {
  it('has the elements of a list as they were sent', () => {
    expect(
      sliceElements(' [ {"a": 1.0, "b": "],{\\"}"} , [1, {"data": [2]}],"x", 10000000000000000001,\n1e400 ] '),
    ).toEqual(['{"a": 1.0, "b": "],{\\"}"}', '[1, {"data": [2]}]', '"x"', '10000000000000000001', '1e400']);
    expect(sliceElements('[ ]')).toEqual([]);
  });

  it('has the fields of an object as they were sent, by the names that parsing finds', () => {
    const text = '{"a" : 1.50, "b":{"a": [1, 2]} , "c\\u0061\\"": "x:,}", "": null, "a":"last"}';
    expect([...sliceFields(text)]).toEqual([
      ['a', '"last"'],
      ['b', '{"a": [1, 2]}'],
      ['ca"', '"x:,}"'],
      ['', 'null'],
    ]);
    expect([...sliceFields(text).keys()]).toEqual(Object.keys(JSON.parse(text) as object));
    expect([...sliceFields(' { } ')]).toEqual([]);
  });

  it('is the same for objects that look like the one before, and for those that nearly do', () => {
    const objects = [
      '{"id":"a","b-c":1.50,"d":{"e":[1,{"}":"]"}]}}',
      '{"id":"\\"}\\\\","b-c":-1E+400,"d":[]}',
      '{"id":null,"b-c":true,"d":"x,\\"d\\":1"}',
      '{"id":"a" ,"b-c":1,"d":2}',
      '{"id":"a","b-c":1 ,"d":2}',
      '{"id": "a,b","b-c":1,"d":2}',
      '{"id":"a","b-c":1,"d":2 }',
      '{"id":"a","b-c":1}',
      '{"id":"a","b-c":1,"d":2,"e":3}',
      '{"b-c":1,"id":"a","d":2}',
      '{"id":"a","b-c":1,"d":2,"d":3}',
      '{}',
    ];
    const usual = '{"id":"first","b-c":0,"d":0}';
    for (const text of objects) {
      // Often enough to be learned again after other shapes.
      for (let times = 0; times < 100; times++) {
        expect([...sliceFields(usual).keys()]).toEqual(['id', 'b-c', 'd']);
      }
      const parsed = parseLossless(text) as object;
      const fields = [...sliceFields(text)].map(([name, value]) => [name, parseLossless(value)]);
      expect(Object.fromEntries(fields), text).toEqual(parsed);
      expect([...sliceFields(text).values()].every((value) => value === value.trim())).toBe(true);
    }
  });
});
