import { expect, test } from 'vitest';
import { createSecretScanner, Redactor } from '../../../src/core/redact/redactor.ts';

const SECRET = 'a-secret-with-ü-and-more';

function scan(bytes: Buffer, chunkBytes: number): boolean {
  const redactor = new Redactor();
  redactor.add(SECRET);
  const scanner = createSecretScanner(redactor);
  for (let from = 0; from < bytes.length; from += chunkBytes) scanner.push(bytes.subarray(from, from + chunkBytes));
  return scanner.matched();
}

test.each([1, 2, 5, 19, 20, 21, 63, 1000])(
  'a secret is found in chunks of %i bytes, and nothing else is',
  (chunkBytes) => {
    const before = 'x'.repeat(40);
    expect(scan(Buffer.from(`${before}${SECRET}${before}`), chunkBytes)).toBe(true);
    expect(scan(Buffer.from(`${before}${SECRET.slice(1)}${before}`), chunkBytes)).toBe(false);
  },
);

test('without a known secret nothing is found', () => {
  const scanner = createSecretScanner(new Redactor());
  scanner.push(Buffer.from('anything'));
  expect(scanner.matched()).toBe(false);
});
