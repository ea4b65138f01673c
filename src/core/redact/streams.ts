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

/** Searches bytes that arrive in chunks for known secrets, also across two chunks. */
export interface SecretScanner {
  push(chunk: Buffer): void;
  /** Whether any chunk so far contained a secret. */
  matched(): boolean;
}

/** Maximum bytes of a character in UTF-8. */
const MAX_CHARACTER_BYTES = 4;

export function createSecretScanner(redactor: Redactor): SecretScanner {
  const overlap = MAX_CHARACTER_BYTES * redactor.maxPatternLength;
  let end: Buffer = Buffer.alloc(0);
  let hasMatched = false;
  return {
    matched: () => hasMatched,
    push(chunk) {
      hasMatched ||= redactor.matches(chunk) || redactor.matches(Buffer.concat([end, chunk.subarray(0, overlap)]));
      end = (chunk.length < overlap ? Buffer.concat([end, chunk]) : chunk).subarray(-overlap);
    },
  };
}
