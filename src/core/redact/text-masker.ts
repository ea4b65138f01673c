import type { Redactor } from './redactor.ts';

/** Masks known secrets in a text that arrives in pieces, also where two pieces share one. */
export interface TextMasker {
  /** @returns what can be passed on: the end is held back while it may be the beginning of a secret */
  push(piece: string): string;
  /** @returns the rest */
  end(): string;
}

export function createTextMasker(redactor: Pick<Redactor, 'text' | 'maxPatternLength'>): TextMasker {
  let held = '';
  return {
    push(piece) {
      const masked = redactor.text(held + piece);
      const end = Math.max(0, masked.length - redactor.maxPatternLength + 1);
      held = masked.slice(end);
      return masked.slice(0, end);
    },
    end: () => held,
  };
}
