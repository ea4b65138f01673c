import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Redactor } from '../../../src/core/redact/redactor.ts';
import { cutText, maskPieces } from '../../helpers/mask-pieces.ts';
import { type Encoding, encodeMixed } from '../../helpers/secret-forms.ts';

/** What encoders escape, and what looks like an escape itself. */
const secret = fc
  .array(
    fc.constantFrom('a', 'b', 'n', '7', '"', '/', '\\', '&', '<', "'", '%', '%41', '&amp;', '\\u0041', ' ', 'ü', '…'),
    {
      minLength: 10,
      maxLength: 24,
    },
  )
  .map((parts) => `s${parts.join('')}t`);
const choices = fc.array(fc.nat(11), { minLength: 1, maxLength: 7 });
const TWO_LAYERS: readonly (readonly Encoding[])[] = [
  ['JSON'],
  ['URL'],
  ['HTML'],
  ['JSON', 'JSON'],
  ['URL', 'JSON'],
  ['HTML', 'JSON'],
];
const twoLayers = fc.constantFrom(...TWO_LAYERS);
const layers = fc.constantFrom(...TWO_LAYERS, ['JSON', 'JSON', 'JSON'] as const);

function redactorOf(known: string): Redactor {
  const redactor = new Redactor();
  redactor.add(known);
  return redactor;
}

describe('a secret is masked, and nothing beside it, whichever characters an encoder escapes', () => {
  test('as a text', () => {
    fc.assert(
      fc.property(secret, layers, choices, (known, encodings, chosen) => {
        const encoded = encodings.reduce((text, encoding) => encodeMixed(text, encoding, chosen), known);
        expect(redactorOf(known).text(`"before":"${encoded}","x":"after"`)).toBe('"before":"***","x":"after"');
      }),
      { numRuns: 3000 },
    );
  });

  test('in a text that arrives in pieces', async () => {
    const size = fc.integer({ min: 1, max: 60 });
    await fc.assert(
      fc.asyncProperty(secret, twoLayers, choices, size, async (known, encodings, chosen, characters) => {
        const encoded = encodings.reduce((text, encoding) => encodeMixed(text, encoding, chosen), known);
        const pieces = cutText(`before ${encoded} after`, characters);
        expect(await maskPieces(pieces, redactorOf(known))).toBe('before *** after');
      }),
      { numRuns: 1000 },
    );
  });
});

test('JSON stays JSON where a secret is masked in it', () => {
  fc.assert(
    fc.property(secret, choices, (known, chosen) => {
      const inner = `{"a":"${encodeMixed(`x ${known} y`, 'JSON', chosen)}","n":1}`;
      const outer = `{"body":"${encodeMixed(inner, 'JSON', chosen)}"}`;
      const masked = JSON.parse(redactorOf(known).text(outer)) as { body: string };
      expect(JSON.parse(masked.body)).toEqual({ a: 'x *** y', n: 1 });
    }),
    { numRuns: 1000 },
  );
});

test('a quote of a secret is masked where CSV doubles it, also in JSON in CSV', () => {
  const known = 'a"secret"with-quotes';
  for (const text of [known.replaceAll('"', '""'), JSON.stringify(known).slice(1, -1).replaceAll('"', '""')]) {
    expect(redactorOf(known).text(`1,"${text}",2`)).toBe('1,"***",2');
  }
});
