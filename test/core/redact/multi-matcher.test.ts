import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createMatcher } from '../../../src/core/redact/matcher.ts';

/** Few letters, so that parts of the patterns are everywhere. */
const word = (minLength: number) => fc.string({ unit: fc.constantFrom('a', 'b', 'é', '名'), minLength, maxLength: 9 });

test('a pattern is found wherever it is, and nothing else is', () => {
  fc.assert(
    fc.property(
      fc.array(word(4), { minLength: 1, maxLength: 4 }),
      word(0),
      fc.option(fc.nat(3)),
      word(0),
      (patterns, before, place, after) => {
        const text = `${before}${patterns[place ?? -1] ?? ''}${after}`;
        const isIn = patterns.some((pattern) => text.includes(pattern));
        expect(createMatcher(patterns)(text)).toBe(isIn);
        expect(createMatcher(patterns)(Buffer.from(text).toString('latin1'))).toBe(isIn);
      },
    ),
    { numRuns: 2000 },
  );
});

test.each([0, 1, 2, 3, 7, 30])('a long pattern is found %i characters into a text', (from) => {
  const isIn = createMatcher(['a-secret-of-some-length', 'another']);
  expect(isIn(`${'x'.repeat(from)}a-secret-of-some-length`)).toBe(true);
  expect(isIn(`${'x'.repeat(from)}a-secret-of-some-lengt`)).toBe(false);
});

test('each of many long patterns is found', () => {
  const patterns = Array.from({ length: 500 }, (_, index) => createHash('sha512').update(`${index}`).digest('hex'));
  const isIn = createMatcher(patterns);
  for (const [index, pattern] of patterns.entries()) {
    const before = 'x'.repeat(index);
    expect(isIn(`${before}${pattern}`), `${index}`).toBe(true);
    expect(isIn(`${before}${pattern.slice(0, -1)}`), `${index}`).toBe(false);
  }
});
