import type { HttpTimeouts } from '../../../src/core/context.ts';

/** Backoffs of a millisecond; idle timeouts long enough for a busy machine. */
export const QUICK: Partial<HttpTimeouts> = {
  backoffMs: 1,
  maxBackoffMs: 2,
  attempts: 3,
  headersMs: 300_000,
  idleMs: 300_000,
};
