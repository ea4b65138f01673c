import type { Context } from '../core/context.ts';
import { groupBy } from '../core/group-by.ts';
import type { Log } from '../core/log.ts';
import { plural } from '../core/plural.ts';
import { isLoaded } from '../extract/run-context.ts';
import type { RequestMetrics } from '../http/response-body.ts';
import type { PullOutcome } from '../load/record-pulls.ts';

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

/** Retries, and waits that are not shorter than `leastMs`. */
export function formatTraffic(retries: number, waitMs: number, leastMs: number): string {
  const waited = waitMs >= leastMs ? `, waited ${(waitMs / 1000).toFixed(1)} s` : '';
  return `${retries > 0 ? `, ${retries} retried` : ''}${waited}`;
}

const MAX_PERMISSIONS = 4;

/** The failures of a target by their reason, apart from what was asked for. */
export function groupByReason<T extends Pick<PullOutcome, 'error' | 'failure'>>(
  failures: readonly T[],
): ReadonlyMap<string, readonly [T, ...T[]]> {
  return groupBy(failures, ({ failure, error }) => failure?.reason ?? error ?? '');
}

/** The reason with the permissions that may be missing for these failures. */
export function formatReason(reason: string, failures: readonly Pick<PullOutcome, 'failure'>[]): string {
  const permissions = [...new Set(failures.flatMap(({ failure }) => failure?.permission ?? []))];
  if (permissions.length === 0) return reason;
  const more = permissions.length - MAX_PERMISSIONS;
  const listed = permissions.slice(0, MAX_PERMISSIONS).map((permission) => `"${permission}"`);
  const named = `${listed.join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
  return `${reason}: the token lacks the permission${permissions.length === 1 ? '' : 's'} ${named}, or is not valid`;
}

/** `acme: 8 sources failed: 401 unauthorized: … (agents, workspaces, …; 8 requests)` */
export function formatFailures(reason: string, outcomes: readonly [PullOutcome, ...PullOutcome[]]): string {
  const [first] = outcomes;
  if (outcomes.length === 1) return formatOutcome(first);
  const names = outcomes.map(({ source }) => source).sort();
  const requests = outcomes.reduce((sum, outcome) => sum + outcome.requests, 0);
  const path = first.failure?.path;
  const example = path ? `, such as ${path}` : '';
  return `${first.target}: ${names.length} sources failed: ${formatReason(reason, outcomes)}${example} (${names.join(', ')}; ${plural(requests, 'request')})`;
}

/** `acme: workspaces: 240 rows (+3 ~12 -1), 2 requests`, or the error. */
export function formatOutcome(outcome: PullOutcome): string {
  const { target, source, status, rows, inserted, changed, deleted, requests, retries, throttle_wait_ms } = outcome;
  const traffic = `${plural(requests, 'request')}${formatTraffic(retries, throttle_wait_ms, 1000)}`;
  if (!isLoaded(status)) return `${target}: ${source}: ${status}: ${outcome.error} (${traffic})`;
  const note = outcome.note === null ? '' : `; note: ${outcome.note}`;
  const partial = status === 'partial' ? 'partial: ' : '';
  return `${target}: ${source}: ${partial}${plural(Number(rows), 'row')} (+${inserted} ~${changed} -${deleted}), ${traffic}${note}`;
}
