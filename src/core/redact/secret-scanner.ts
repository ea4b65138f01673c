import type { Redactor } from './redactor.ts';

/** Watches bytes that pass by in pieces for known secrets, also where two pieces meet. */
export interface SecretScanner {
  push(piece: Buffer): void;
  /** Whether there was one in what has been seen. */
  matched(): boolean;
}

/** Bytes of a character in UTF-8, at most. */
const MAX_BYTES = 4;

export function createSecretScanner(redactor: Redactor): SecretScanner {
  const overlap = MAX_BYTES * redactor.maxPatternLength;
  let end: Buffer = Buffer.alloc(0);
  let found = false;
  return {
    matched: () => found,
    push(piece) {
      found ||= redactor.matches(piece) || redactor.matches(Buffer.concat([end, piece.subarray(0, overlap)]));
      end = (piece.length < overlap ? Buffer.concat([end, piece]) : piece).subarray(-overlap);
    },
  };
}
