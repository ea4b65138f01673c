import pLimit from 'p-limit';
import { describe, TidemarkError } from '../core/errors.ts';
import type { Log } from '../core/log.ts';
import { type NextRun, type Timetable, timetable } from './timetable.ts';

const HOUR_MS = 60 * 60_000;

export interface ScheduledJob {
  readonly name: string;
  readonly schedule: string;
  readonly timezone: string;
}

export interface SchedulerOptions {
  readonly jobs: readonly ScheduledJob[];
  /** Where the scheduler begins: times up to here are nobody's to catch up. */
  readonly startedAt: Date;
  /** Per job, when the last run that counts began; a job that is not here has nothing to catch up. */
  readonly lastStarts: ReadonlyMap<string, Date>;
  /** A start missed by more than this is left out, with a warning. */
  readonly catchUpHours: number;
  /** Runs a job to its end; the same as `tidemark run`. Resolves with whether all of it was done. */
  readonly runJob: (name: string) => Promise<boolean>;
  readonly log: Log;
  readonly signal: AbortSignal;
  /** How long a job waits for somebody else's lock, and how often it tries. @default 30 minutes, every 15 seconds */
  readonly lock?: { readonly waitMs: number; readonly everyMs: number };
}

export type SkipReason = 'overlap' | 'too late';

/** What became of a job since this scheduler began. */
export interface JobCounts {
  readonly job: string;
  readonly running: boolean;
  readonly succeeded: number;
  readonly failed: number;
  readonly skipped: Readonly<Record<SkipReason, number>>;
}

export interface Scheduler {
  /** Starts what is due; to be called at least once a minute. */
  tick(now: Date): void;
  /** Resolves when nothing runs or waits to run. */
  idle(): Promise<void>;
  next(): readonly NextRun[];
  counts(): readonly JobCounts[];
}

interface Entry {
  readonly job: ScheduledJob;
  readonly times: Timetable;
  next: Date | undefined;
  /** Waiting for its turn, or under way. */
  busy: boolean;
  succeeded: number;
  failed: number;
  readonly skipped: Record<SkipReason, number>;
}

/**
 * Decides what runs when. One job at a time, since there is one warehouse; a job that is due while it still runs or waits is
 * left out, and so is what was missed by more than `catchUpHours`. Any number of missed starts are caught up by one run.
 */
export function createScheduler(options: SchedulerOptions): Scheduler {
  const turns = pLimit(1);
  const entries = options.jobs.map((job) => entryOf(job, options));
  let last: Promise<unknown> = Promise.resolve();
  return {
    tick(now) {
      for (const entry of entries) {
        if (!isDue(entry, now, options)) continue;
        entry.busy = true;
        last = Promise.all([last, turns(() => take(entry, options))]);
      }
    },
    async idle() {
      await last;
    },
    next: () => entries.flatMap(nextOf).sort((a, b) => (a.next + a.job < b.next + b.job ? -1 : 1)),
    counts: () =>
      entries.map(({ job, busy, succeeded, failed, skipped }) => ({
        job: job.name,
        running: busy,
        succeeded,
        failed,
        skipped: { ...skipped },
      })),
  };
}

function entryOf(job: ScheduledJob, { startedAt, lastStarts, catchUpHours }: SchedulerOptions): Entry {
  const times = timetable(job.schedule, job.timezone);
  // What was missed long ago is not even looked at: a warning about every night of last year helps nobody.
  const earliest = new Date(startedAt.getTime() - 2 * catchUpHours * HOUR_MS);
  const lastStart = lastStarts.get(job.name) ?? startedAt;
  const next = times.nextAfter(lastStart > earliest ? lastStart : earliest);
  return { job, times, next, busy: false, succeeded: 0, failed: 0, skipped: { overlap: 0, 'too late': 0 } };
}

/** Whether a start that this tick reaches is to be made; moves the entry on to its next time. */
function isDue(entry: Entry, now: Date, { catchUpHours, log, signal }: SchedulerOptions): boolean {
  const passed: Date[] = [];
  while (entry.next && entry.next <= now) {
    passed.push(entry.next);
    entry.next = entry.times.nextAfter(entry.next);
  }
  const due = passed.at(-1);
  if (!due || signal.aborted) return false;
  const skip = (reason: SkipReason, words: string) => {
    entry.skipped[reason] += 1;
    log.warn(`${entry.job.name}: the start at ${due.toISOString()} is left out: ${words}`);
    return false;
  };
  const lateMs = now.getTime() - due.getTime();
  if (lateMs > catchUpHours * HOUR_MS) return skip('too late', `missed by more than ${catchUpHours} hours`);
  if (entry.busy) return skip('overlap', 'the run before has not ended');
  const missed = passed.length > 1 ? `, once for ${passed.length} missed` : '';
  if (lateMs > LATE_MS) log.info(`${entry.job.name}: catches up the start at ${due.toISOString()}${missed}`);
  return true;
}

/** A tick or two late is on time. */
const LATE_MS = 150_000;

async function take(entry: Entry, options: SchedulerOptions): Promise<void> {
  const { log, signal } = options;
  const { name } = entry.job;
  try {
    if (signal.aborted) return;
    log.info(`${name}: starts`);
    const done = await whenUnlocked(name, options);
    if (done) entry.succeeded += 1;
    else entry.failed += 1;
    log.info(`${name}: ${done ? 'done' : 'ended incomplete'}; next run ${entry.next?.toISOString() ?? 'never'}`);
  } catch (error) {
    entry.failed += 1;
    log.error(`${name}: ${describe(error)}`);
  } finally {
    entry.busy = false;
  }
}

/** A lock that somebody holds for a moment must not cost a night. */
async function whenUnlocked(name: string, { runJob, log, signal, lock }: SchedulerOptions): Promise<boolean> {
  const { waitMs, everyMs } = lock ?? { waitMs: 30 * 60_000, everyMs: 15_000 };
  for (let waitedMs = 0; ; waitedMs += everyMs) {
    try {
      return await runJob(name);
    } catch (error) {
      const locked = error instanceof TidemarkError && error.code === 'LOCKED';
      if (!locked || waitedMs >= waitMs || signal.aborted) throw error;
      if (waitedMs === 0) log.warn(`${name}: waits: ${describe(error)}`);
      await pause(everyMs, signal);
    }
  }
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal.addEventListener('abort', end);
  });
}

function nextOf({ job, next }: Entry): readonly NextRun[] {
  return next ? [{ job: job.name, timezone: job.timezone, next: next.toISOString() }] : [];
}
