import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createMatcher } from '../../../src/core/redact/multi-matcher.ts';

/** Few letters, so that parts of what is searched for turn up everywhere. */
const word = (minLength: number) => fc.string({ unit: fc.constantFrom('a', 'b', 'é', '名'), minLength, maxLength: 9 });

test('a text is found wherever it stands, and nothing else is', () => {
  fc.assert(
    fc.property(
      fc.array(word(4), { minLength: 1, maxLength: 4 }),
      word(0),
      fc.option(fc.nat(3)),
      word(0),
      (needles, before, place, after) => {
        const text = `${before}${needles[place ?? -1] ?? ''}${after}`;
        const stands = needles.some((needle) => text.includes(needle));
        expect(createMatcher(needles).inText(text)).toBe(stands);
        expect(createMatcher(needles).inBytes(Buffer.from(text))).toBe(stands);
      },
    ),
    { numRuns: 2000 },
  );
});

test.each([0, 1, 2, 3, 7, 30])('a long text is found %i characters into another', (from) => {
  const find = createMatcher(['a-secret-of-some-length', 'another']).inText;
  expect(find(`${'x'.repeat(from)}a-secret-of-some-length`)).toBe(true);
  expect(find(`${'x'.repeat(from)}a-secret-of-some-lengt`)).toBe(false);
});
