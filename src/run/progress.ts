import type { Context } from '../core/context.ts';
import type { Log } from '../core/log.ts';
import { plural } from '../core/plural.ts';
import { isLoaded } from '../extract/run-context.ts';
import type { RequestMetrics } from '../http/response-body.ts';
import type { PullOutcome } from '../load/record-pulls.ts';
import { formatFailures, formatOutcome, formatTraffic, groupByReason } from './outcome-text.ts';

export type Progress = Readonly<Awaited<ReturnType<typeof createProgress>>>;

interface ProgressOptions extends Pick<Context, 'terminal' | 'log'> {
  /** Milliseconds between two updates. @default 120 */
  readonly intervalMs?: number;
  /** A monotonic clock in milliseconds. @default performance.now */
  readonly now?: () => number;
}

/** Shows the pulls of a run: a live display on a terminal, plain lines elsewhere. */
export async function createProgress(options: ProgressOptions) {
  const { log } = options;
  const display = options.terminal && (await createDisplay(options.terminal, options));
  const above = display?.above ?? ((write: () => void) => write());
  let hasCounts = false;
  return {
    /** On a terminal, writes above the live display. */
    log: {
      info: (line) => above(() => log.info(line)),
      warn: (line) => above(() => log.warn(line)),
      error: (line) => above(() => log.error(line)),
    } satisfies Log,
    start: (target: string, source: string, metrics: RequestMetrics) => display?.start(`${target}: ${source}`, metrics),
    /** Logs how a pull that was started has ended; a failure is logged with those of its target. */
    done(outcome: PullOutcome) {
      const { target, source, status } = outcome;
      display?.done(`${target}: ${source}`);
      hasCounts ||= isLoaded(status);
      if (status !== 'failed') above(() => log[status === 'complete' ? 'info' : 'warn'](formatOutcome(outcome)));
    },
    /** Logs the failures of a target. Those with the same reason are one line: a token that is refused fails every source. */
    fail(failures: readonly PullOutcome[]) {
      for (const [reason, same] of groupByReason(failures)) above(() => log.warn(formatFailures(reason, same)));
    },
    /** Removes the live display. */
    end() {
      display?.end();
      if (hasCounts) log.info('rows of a source: + new, ~ changed, - gone');
    },
  };
}

interface DisplayedPull {
  readonly metrics: RequestMetrics;
  readonly startedMs: number;
}

/** Rows of the terminal that the display leaves free. */
const SPARE_ROWS = 4;

/**
 * One line per pull in progress, redrawn in place; the line of a pull that ends stays above. Log lines go above the display, and stdout
 * may be a file: that is why a task runner such as listr2 does not fit.
 */
async function createDisplay(
  terminal: NodeJS.WriteStream,
  { intervalMs = 120, now = () => performance.now() }: ProgressOptions,
) {
  const { createLogUpdate } = await import('log-update');
  const draw = createLogUpdate(terminal, { showCursor: true });
  const pulls = new Map<string, DisplayedPull>();
  const redraw = (): void => {
    if (pulls.size === 0) return;
    const { rows = 24, columns = 80 } = terminal;
    const shown = [...pulls].slice(0, Math.max(1, rows - SPARE_ROWS));
    const lines = shown.map(([name, pull]) => clip(formatProgress(name, pull, now()), columns));
    const hidden = pulls.size - shown.length;
    draw([...lines, ...(hidden > 0 ? [`  and ${hidden} more`] : [])].join('\n'));
  };
  const timer = setInterval(redraw, intervalMs);
  timer.unref();
  return {
    above(write: () => void) {
      draw.clear();
      write();
      redraw();
    },
    start: (name: string, metrics: RequestMetrics) => void pulls.set(name, { metrics, startedMs: now() }),
    done: (name: string) => void pulls.delete(name),
    end() {
      clearInterval(timer);
      draw.clear();
    },
  };
}

/** `acme: agents  36 rows, 9 requests, 4.5/s, waited 1.2 s` */
function formatProgress(name: string, { metrics, startedMs }: DisplayedPull, nowMs: number): string {
  const { rows, requests, retries, throttleWaitMs } = metrics;
  const seconds = Math.max(0.001, (nowMs - startedMs) / 1000);
  const traffic = formatTraffic(retries, throttleWaitMs, 100);
  return `  ${name}  ${plural(rows, 'row')}, ${plural(requests, 'request')}, ${(requests / seconds).toFixed(1)}/s${traffic}`;
}

/** A line that wraps would take two rows, and clearing would leave one of them. */
function clip(line: string, columns: number): string {
  return line.length < columns ? line : `${line.slice(0, Math.max(0, columns - 2))}…`;
}
