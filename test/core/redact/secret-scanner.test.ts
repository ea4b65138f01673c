import { expect, test } from 'vitest';
import { createRedactor } from '../../../src/core/redact/redactor.ts';
import { createSecretScanner } from '../../../src/core/redact/secret-scanner.ts';

const SECRET = 'a-secret-with-ü-and-more';

function found(bytes: Buffer, piece: number): boolean {
  const redactor = createRedactor();
  redactor.add(SECRET);
  const watch = createSecretScanner(redactor);
  for (let from = 0; from < bytes.length; from += piece) watch.push(bytes.subarray(from, from + piece));
  return watch.matched();
}

test.each([1, 2, 5, 19, 20, 21, 63, 1000])(
  'in pieces of %i bytes a secret is seen, and none where there is none',
  (piece) => {
    const before = 'x'.repeat(40);
    expect(found(Buffer.from(`${before}${SECRET}${before}`), piece)).toBe(true);
    expect(found(Buffer.from(`${before}${SECRET.slice(1)}${before}`), piece)).toBe(false);
  },
);

test('where no secret is known, none is found', () => {
  const watch = createSecretScanner(createRedactor());
  watch.push(Buffer.from('anything'));
  expect(watch.matched()).toBe(false);
});
