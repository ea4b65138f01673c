import { describe, expect, test } from 'vitest';
import { createTextMasker, Redactor } from '../../../src/core/redact/redactor.ts';
import { findForms, secretForms } from '../../helpers/secret-forms.ts';

const SECRET = 'tok/en+with"quotes&more-9f3c';
const FORMS = Object.entries(secretForms(SECRET));

describe('a secret in a text that arrives in two pieces is masked, wherever they meet', () => {
  test.each(FORMS)('%s', (_, form) => {
    const text = `before ${form} after`;
    for (let cut = 0; cut <= text.length; cut++) {
      const redactor = new Redactor();
      redactor.add(SECRET);
      const masker = createTextMasker(redactor);
      const masked = masker.push(text.slice(0, cut)) + masker.push(text.slice(cut)) + masker.end();
      expect(findForms(masked, SECRET), `cut at ${cut}`).toEqual([]);
      expect(masked).toMatch(/^before .*\*\*\*.* after$/u);
    }
  });
});

test('a snapshot does not know later secrets', () => {
  const redactor = new Redactor();
  redactor.add('secret-of-before');
  const snapshot = redactor.snapshot();
  redactor.add('secret-of-after');
  expect(snapshot.text('secret-of-before secret-of-after')).toBe('*** secret-of-after');
});
