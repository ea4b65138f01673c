import { expect, test } from 'vitest';
import { diffValues } from '../../src/core/diff.ts';
import { parseJson, parseLossless } from '../../src/core/json.ts';

const lines = (before: unknown, after: unknown) => diffValues(before, after).map(({ sign, text }) => `${sign} ${text}`);

test('names fields by their paths, and leaves out what is equal', () => {
  expect(
    lines(
      { name: 'a', scope: { all: true, gone: 1 }, same: [1] },
      { name: 'a', scope: { all: false, more: 'x' }, same: [1] },
    ),
  ).toEqual(['~ scope.all: true -> false', '- scope.gone: 1', '+ scope.more: "x"']);
});

test('a subject that does not exist before or after has only additions or removals', () => {
  expect(lines(null, { id: 'v', size: 1 })).toEqual(['+ id: "v"', '+ size: 1']);
  expect(lines({ id: 'v', ping: null }, null)).toEqual(['- id: "v"', '- ping: null']);
  expect(lines({ a: 1 }, { a: 1 })).toEqual([]);
});

test('lists show the items that only one of them has, or their order', () => {
  expect(lines({ ids: ['a', 'b'] }, { ids: ['b', { c: 1 }] })).toEqual(['~ ids:', '-   "a"', '+   {"c":1}']);
  expect(lines({ ids: ['a', 'b'] }, { ids: ['b', 'a'] })).toEqual(['~ ids:', '~   ["a","b"] -> ["b","a"]']);
});

test('texts of several lines are compared line by line', () => {
  const before = 'namespace "*" {\n  policy = "write"\n}\nnode {\n}';
  expect(lines({ rules: before }, { rules: before.replace('write', 'read') })).toEqual([
    '~ rules:',
    '    namespace "*" {',
    '-     policy = "write"',
    '+     policy = "read"',
    '    }',
    '    node {',
    '    }',
  ]);
});

test('the order of keys is no difference, and long values are cut', () => {
  expect(lines({ a: [{ x: 1, y: 2 }] }, { a: [{ y: 2, x: 1 }] })).toEqual([]);
  expect(lines(null, { a: 'x'.repeat(1000) })[0]).toHaveLength(206);
  const long = (text: string) => Array.from({ length: 2000 }, () => text).join('\n');
  expect(lines({ a: long('x') }, { a: long('y') })).toHaveLength(4001);
});

test('a number is one value, also where its text is kept', () => {
  const [before, after] = ['{"a":{"n":1,"i":[{"x":1}]}}', '{"a":{"n":9007199254740993,"i":[{"x":1.0}],"m":2}}'];
  const number = '~ a.n: 1 -> 9007199254740993';
  expect(lines(parseLossless(before), parseLossless(after))).toEqual([
    number,
    '~ a.i:',
    '-   {"x":1}',
    '+   {"x":1.0}',
    '+ a.m: 2',
  ]);
  expect(lines(parseJson(before), parseJson(after))).toEqual([number, '+ a.m: 2']);
});
