import type { Redactor } from './redact.ts';

/** Watches bytes that pass by in pieces for known secrets, also where two pieces meet. */
export interface SecretWatch {
  see(piece: Buffer): void;
  /** Whether there was one in what has been seen. */
  found(): boolean;
}

/** Bytes of a character in UTF-8, at most. */
const MAX_BYTES = 4;

export function watchForSecrets(redactor: Redactor): SecretWatch {
  const overlap = MAX_BYTES * redactor.longest;
  let end: Buffer = Buffer.alloc(0);
  let found = false;
  return {
    found: () => found,
    see(piece) {
      found ||= redactor.holds(piece) || redactor.holds(Buffer.concat([end, piece.subarray(0, overlap)]));
      end = (piece.length < overlap ? Buffer.concat([end, piece]) : piece).subarray(-overlap);
    },
  };
}
