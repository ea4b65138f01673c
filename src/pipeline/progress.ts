import type { Context } from '../core/context.ts';
import type { Log } from '../core/log.ts';
import type { Meter } from '../http/meter.ts';
import type { PullOutcome } from './outcome.ts';

/** Told of every pull as it starts and ends; draws on a terminal, writes plain lines elsewhere. */
export interface Progress {
  /** @returns what to call with the outcome. */
  start(target: string, source: string, meter: Meter): (outcome: PullOutcome) => void;
  /** Where lines go meanwhile: on a terminal above what is drawn. */
  readonly log: Log;
  /** Leaves the screen as plain text. */
  end(): void;
}

/** Drawn where there is a terminal to draw on, which alone needs what draws; plain lines elsewhere. */
export async function createProgress({ terminal, log }: Pick<Context, 'terminal' | 'log'>): Promise<Progress> {
  if (!terminal) return plainProgress(log);
  const { terminalProgress } = await import('./terminal-progress.ts');
  return terminalProgress({ terminal, log });
}

/** A line for each pull when it is done. */
export function plainProgress(log: Log): Progress {
  return { log, start: () => (outcome) => logOutcome(log, outcome), end: () => {} };
}

export function logOutcome(log: Log, outcome: PullOutcome): void {
  (outcome.status === 'complete' ? log.info : log.warn)(formatOutcome(outcome));
}

/** `acme: workspaces: 240 rows (+3 ~12 -1), 2 requests` and what went wrong, if anything did. */
function formatOutcome(outcome: PullOutcome): string {
  const { target, source, status, rows, inserted, changed, deleted, requests, retries, throttle_wait_ms } = outcome;
  const repeats = retries > 0 ? `, ${retries} repeated` : '';
  const waits = throttle_wait_ms >= 1000 ? `, waited ${(throttle_wait_ms / 1000).toFixed(1)} s` : '';
  const traffic = `${requests} request${requests === 1 ? '' : 's'}${repeats}${waits}`;
  if (status !== 'complete') return `${target}: ${source}: ${status}: ${outcome.error} (${traffic})`;
  return `${target}: ${source}: ${rows} rows (+${inserted} ~${changed} -${deleted}), ${traffic}`;
}
