import type { createLogUpdate } from 'log-update';
import type { Context } from '../core/context.ts';
import type { Log } from '../core/log.ts';
import type { RequestMetrics } from '../http/request-metrics.ts';
import type { PullOutcome } from './run.ts';

/** Shows the pulls of a run: a live display on a terminal, plain lines elsewhere. */
export interface Progress {
  /** @returns a function to call with the outcome. */
  start(target: string, source: string, metrics: RequestMetrics): (outcome: PullOutcome) => void;
  /** On a terminal, writes above the live display. */
  readonly log: Log;
  /** Removes the live display. */
  end(): void;
}

/** Loads the drawing library only if there is a terminal. */
export async function createProgress({ terminal, log }: Pick<Context, 'terminal' | 'log'>): Promise<Progress> {
  if (terminal) return createTerminalProgress({ terminal, log });
  return { log, start: () => (outcome) => logOutcome(log, outcome), end: () => {} };
}

export interface TerminalOptions {
  readonly terminal: NodeJS.WriteStream;
  readonly log: Log;
  /** Milliseconds between two updates. @default 120 */
  readonly intervalMs?: number;
  /** A monotonic clock in milliseconds. @default performance.now */
  readonly now?: () => number;
}

export async function createTerminalProgress(options: TerminalOptions): Promise<Progress> {
  const library = await import('log-update');
  return new TerminalProgress(options, library.createLogUpdate(options.terminal, { showCursor: true }));
}

interface DisplayedPull {
  readonly name: string;
  readonly metrics: RequestMetrics;
  readonly startedMs: number;
}

/** Rows of the terminal that the display leaves free. */
const SPARE_ROWS = 4;

/**
 * One line per pull in progress, redrawn in place; the line of a pull that ends stays above. Log lines go above the display, and stdout
 * may be a file: that is why a task runner such as listr2 does not fit.
 */
class TerminalProgress implements Progress {
  readonly log: Log;
  readonly #terminal: NodeJS.WriteStream;
  readonly #plainLog: Log;
  readonly #now: () => number;
  readonly #draw: ReturnType<typeof createLogUpdate>;
  readonly #timer: NodeJS.Timeout;
  readonly #pulls = new Set<DisplayedPull>();

  constructor(
    { terminal, log, intervalMs = 120, now = () => performance.now() }: TerminalOptions,
    draw: ReturnType<typeof createLogUpdate>,
  ) {
    this.#terminal = terminal;
    this.#plainLog = log;
    this.#now = now;
    this.#draw = draw;
    this.#timer = setInterval(() => this.#redraw(), intervalMs);
    this.#timer.unref();
    this.log = {
      info: (line) => this.#above(() => log.info(line)),
      warn: (line) => this.#above(() => log.warn(line)),
      error: (line) => this.#above(() => log.error(line)),
    };
  }

  start(target: string, source: string, metrics: RequestMetrics): (outcome: PullOutcome) => void {
    const pull = { name: `${target}: ${source}`, metrics, startedMs: this.#now() };
    this.#pulls.add(pull);
    return (outcome) => {
      this.#pulls.delete(pull);
      this.#above(() => logOutcome(this.#plainLog, outcome));
    };
  }

  end(): void {
    clearInterval(this.#timer);
    this.#draw.clear();
  }

  #redraw(): void {
    if (this.#pulls.size === 0) return;
    const { rows = 24, columns = 80 } = this.#terminal;
    const shown = [...this.#pulls].slice(0, Math.max(1, rows - SPARE_ROWS));
    const lines = shown.map((pull) => clip(formatProgress(pull, this.#now()), columns));
    const hidden = this.#pulls.size - shown.length;
    this.#draw([...lines, ...(hidden > 0 ? [`  and ${hidden} more`] : [])].join('\n'));
  }

  #above(write: () => void): void {
    this.#draw.clear();
    write();
    this.#redraw();
  }
}

/** `acme: agents  36 rows, 9 requests, 4.5/s, waited 1.2 s` */
function formatProgress({ name, metrics, startedMs }: DisplayedPull, nowMs: number): string {
  const { rows, requests, retries, throttleWaitMs } = metrics;
  const seconds = Math.max(0.001, (nowMs - startedMs) / 1000);
  const waited = throttleWaitMs >= 100 ? `, waited ${(throttleWaitMs / 1000).toFixed(1)} s` : '';
  const retried = retries > 0 ? `, ${retries} retried` : '';
  return `  ${name}  ${rows} rows, ${requests} requests, ${(requests / seconds).toFixed(1)}/s${retried}${waited}`;
}

/** A line that wraps would take two rows, and clearing would leave one of them. */
function clip(line: string, columns: number): string {
  return line.length < columns ? line : `${line.slice(0, Math.max(0, columns - 2))}…`;
}

function logOutcome(log: Log, outcome: PullOutcome): void {
  (outcome.status === 'complete' ? log.info : log.warn)(formatOutcome(outcome));
}

/** `acme: workspaces: 240 rows (+3 ~12 -1), 2 requests`, or the error. */
function formatOutcome(outcome: PullOutcome): string {
  const { target, source, status, rows, inserted, changed, deleted, requests, retries, throttle_wait_ms } = outcome;
  const retried = retries > 0 ? `, ${retries} retried` : '';
  const waited = throttle_wait_ms >= 1000 ? `, waited ${(throttle_wait_ms / 1000).toFixed(1)} s` : '';
  const traffic = `${requests} request${requests === 1 ? '' : 's'}${retried}${waited}`;
  if (status !== 'complete') return `${target}: ${source}: ${status}: ${outcome.error} (${traffic})`;
  const note = outcome.note === null ? '' : `; note: ${outcome.note}`;
  return `${target}: ${source}: ${rows} rows (+${inserted} ~${changed} -${deleted}), ${traffic}${note}`;
}
