import { describe, expect, test } from 'vitest';
import { Redactor } from '../../../src/core/redact/redactor.ts';
import { cutText, maskPieces } from '../../helpers/mask-pieces.ts';
import { findForms, secretForms } from '../../helpers/secret-forms.ts';

const SECRET = 'tok/en+with"quotes&more-9f3c';
const FORMS = Object.entries(secretForms(SECRET));

const redactorOf = (secret: string) => {
  const redactor = new Redactor();
  redactor.add(secret);
  return redactor;
};

describe('a secret in a text that arrives in two blocks is masked, wherever they meet', () => {
  test.each(FORMS)('%s', async (_, form) => {
    const text = `before ${form} after`;
    for (let cut = 0; cut <= text.length; cut++) {
      const masked = await maskPieces([text.slice(0, cut), text.slice(cut)], redactorOf(SECRET));
      expect(findForms(masked, SECRET), `cut at ${cut}`).toEqual([]);
      expect(masked).toMatch(/^before .*\*\*\*.* after$/u);
    }
  });
});

describe('a secret with a letter of two bytes', () => {
  const secret = 'a-secret-with-ü-and-more';
  const before = 'xé'.repeat(20);

  test.each([1, 2, 5, 19, 20, 21, 63, 1000])(
    'is masked in blocks of %i characters, and nothing else is',
    async (size) => {
      const redactor = redactorOf(secret);
      expect(await maskPieces(cutText(`${before}${secret}${before}`, size), redactor)).toBe(`${before}***${before}`);
      const other = `${before}${secret.slice(1)}${before}`;
      expect(await maskPieces(cutText(other, size), redactor)).toBe(other);
    },
  );
});

test.each([1, 2, 3, 700, 701])(
  'a long text of letters of two and three bytes is as it was, but for the secret: blocks of %i',
  async (size) => {
    const around = `x${'é…'.repeat(800)}`; // longer than any form of the secret
    const pieces = cutText(`${around}${SECRET}${around}${SECRET}`, size);
    expect(await maskPieces(pieces, redactorOf(SECRET))).toBe(`${around}***${around}***`);
  },
);

test('without a known secret a text is as it was', async () => {
  expect(await maskPieces(['any', 'thing'], new Redactor())).toBe('anything');
});

test('a snapshot does not know later secrets', () => {
  const redactor = redactorOf('secret-of-before');
  const snapshot = redactor.snapshot();
  redactor.add('secret-of-after');
  expect(snapshot.text('secret-of-before secret-of-after')).toBe('*** secret-of-after');
});
