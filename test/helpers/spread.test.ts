import { expect, test } from 'vitest';
import { spread } from './spread.ts';

const shown = (rounds: ReturnType<typeof spread>) => rounds.map((round) => Object.fromEntries(round));

test('every item has a place, and every place an item in each round', () => {
  expect(shown(spread([1, 2, 3, 4, 5], ['a', 'b']))).toEqual([
    { a: 1, b: 2 },
    { a: 3, b: 4 },
    { a: 5, b: 1 },
  ]);
  expect(shown(spread([1, 2], ['a', 'b', 'c']))).toEqual([{ a: 1, b: 2, c: 1 }]);
  expect(spread([], ['a'])).toEqual([]);
});

test('an item has only places that fit it, and comes before those that fit more', () => {
  const fits = (item: number, place: string) => item !== 3 || place === 'b';
  expect(shown(spread([1, 2, 3], ['a', 'b'], fits))).toEqual([
    { a: 1, b: 3 },
    { a: 2, b: 3 },
  ]);
});

test('an item that fits no place, and a place that no item fits, are errors', () => {
  expect(() => spread([1], ['a'], () => false)).toThrow('no place fits 1');
  expect(() => spread([1], ['a', 'b'], (_, place) => place === 'a')).toThrow('no item fits "b"');
});
