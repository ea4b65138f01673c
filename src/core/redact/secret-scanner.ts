import type { Redactor } from './redactor.ts';

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
