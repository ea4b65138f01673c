import { createLogUpdate } from 'log-update';
import type { Log } from '../core/log.ts';
import type { Meter } from '../http/meter.ts';
import { logOutcome, type Progress } from './progress.ts';

export interface TerminalOptions {
  readonly terminal: NodeJS.WriteStream;
  readonly log: Log;
  /** Pause between two drawings. @default 120 */
  readonly everyMs?: number;
  /** Milliseconds, from any beginning. @default performance.now */
  readonly now?: () => number;
}

interface Running {
  readonly name: string;
  readonly meter: Meter;
  readonly startedMs: number;
}

/** Lines that the drawing leaves to others, so that it never fills the screen. */
const SPARE_ROWS = 4;

/**
 * One line for each pull under way, redrawn in place; a pull that ends scrolls up as a plain line. Lines of the log go above the
 * drawing: that, and a stdout that may well be no terminal, is why a task runner such as listr2 would be in the way here.
 */
export function terminalProgress({
  terminal,
  log,
  everyMs = 120,
  now = () => performance.now(),
}: TerminalOptions): Progress {
  const draw = createLogUpdate(terminal, { showCursor: true });
  const running = new Set<Running>();
  const redraw = () => {
    const room = Math.max(1, (terminal.rows ?? 24) - SPARE_ROWS);
    const shown = [...running].slice(0, room).map((pull) => clip(lineOf(pull, now()), terminal.columns ?? 80));
    const more = running.size - shown.length;
    if (running.size > 0) draw([...shown, ...(more > 0 ? [`  and ${more} more`] : [])].join('\n'));
  };
  const above = (write: () => void) => {
    draw.clear();
    write();
    redraw();
  };
  const timer = setInterval(redraw, everyMs);
  timer.unref();
  return {
    log: {
      info: (line) => above(() => log.info(line)),
      warn: (line) => above(() => log.warn(line)),
      error: (line) => above(() => log.error(line)),
    },
    start(target, source, meter) {
      const pull = { name: `${target}: ${source}`, meter, startedMs: now() };
      running.add(pull);
      return (outcome) => {
        running.delete(pull);
        above(() => logOutcome(log, outcome));
      };
    },
    end() {
      clearInterval(timer);
      draw.clear();
    },
  };
}

/** `acme: agents  36 rows, 9 requests, 4.5/s, waited 1.2 s` */
function lineOf({ name, meter, startedMs }: Running, nowMs: number): string {
  const seconds = Math.max(0.001, (nowMs - startedMs) / 1000);
  const waited = meter.waitedMs >= 100 ? `, waited ${(meter.waitedMs / 1000).toFixed(1)} s` : '';
  const repeated = meter.retries > 0 ? `, ${meter.retries} repeated` : '';
  const rate = `${(meter.requests / seconds).toFixed(1)}/s`;
  return `  ${name}  ${meter.rows} rows, ${meter.requests} requests, ${rate}${repeated}${waited}`;
}

/** A line that wraps would be two: erasing then leaves one behind. */
function clip(line: string, columns: number): string {
  return line.length < columns ? line : `${line.slice(0, Math.max(0, columns - 2))}…`;
}
