import type { Timing } from '../core/timing.ts';

export type { Timing };

export const DEFAULT_TIMING: Timing = {
  backoffMs: 500,
  maxBackoffMs: 10_000,
  attempts: 5,
  connectMs: 10_000,
  headersMs: 90_000,
  idleMs: 60_000,
  answerMs: 300_000,
  downloadMs: 3_600_000,
  maxAnswerBytes: 64 * 1024 * 1024,
  maxDownloadBytes: 16 * 1024 ** 3,
};

/** A duration for a message: `0.5 s`, `90 s`. */
export function seconds(ms: number): string {
  return ms < 10_000 ? `${(ms / 1000).toFixed(1)} s` : `${Math.round(ms / 1000)} s`;
}
