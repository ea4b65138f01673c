import pLimit from 'p-limit';
import { DAY_MS, HOUR_MS } from '../../core/clock.ts';
import { formatError } from '../../core/errors.ts';
import type { Log } from '../../core/log.ts';
import { plural } from '../../core/plural.ts';
import { createCronSchedule, listNextRuns, type NextRun } from './cron-schedule.ts';

export type ScheduledJob = Readonly<Record<'name' | 'schedule' | 'timezone', string>>;

export interface SchedulerOptions {
  readonly jobs: readonly ScheduledJob[];
  /** When the scheduler starts. Only starts between a job's last run and this time are caught up. */
  readonly startedAt: Date;
  /** Per job, the start of its last finished run; a job that is not in it has nothing to catch up. */
  readonly lastStarts: ReadonlyMap<string, Date>;
  /** A start missed by more than this is skipped with a warning. */
  readonly catchUpHours: number;
  /** Runs a job as `tidemark run` does; resolves with whether it completed. */
  readonly runJob: (name: string) => Promise<boolean>;
  readonly log: Log;
  readonly signal: AbortSignal;
}

type Entry = ReturnType<typeof createEntry>;
/** What happened to a job since this scheduler started. `running`: it waits for other jobs, or runs. */
type JobCounts = Entry['counts'];

/** A start that is later than this was missed; a tick or two late is on time. */
const LATE_MS = 150_000;

/** Earlier starts are not looked at one by one: a clock that is not set yet begins in 1970. */
const LOOK_BACK_MS = 32 * DAY_MS;

export type Scheduler = Readonly<ReturnType<typeof createScheduler>>;

/**
 * Decides when jobs run. One job runs at a time, since there is one warehouse. A start is skipped if the job still runs or waits,
 * or if it was missed by more than `catchUpHours`. One run catches up any number of missed starts.
 */
export function createScheduler(options: SchedulerOptions) {
  const entries = options.jobs.map((job) => createEntry(job, options));
  const oneAtATime = pLimit(1);
  let pending: Promise<unknown> = Promise.resolve();
  let tickedAt = new Date(0);
  /** The clock was ahead, or is set back: starts that are passed there come again. */
  const followClock = (now: Date): void => {
    options.log.warn(`the clock went back from ${tickedAt.toISOString()} to ${now.toISOString()}`);
    for (const entry of entries) entry.next = entry.nextAfter(now);
  };
  return {
    /** Starts the jobs that are due; call it at least once a minute. */
    tick(now: Date): void {
      if (now.getTime() < tickedAt.getTime() - LATE_MS) followClock(now);
      tickedAt = now;
      for (const entry of entries.filter((one) => takeDue(one, now, options))) {
        entry.counts.running = true;
        pending = Promise.all([pending, oneAtATime(() => runEntry(entry, options))]);
      }
    },
    /** Resolves when no job runs or waits. */
    whenIdle: async () => void (await pending),
    nextRuns: (): readonly NextRun[] => listNextRuns(entries),
    counts: (): readonly Readonly<JobCounts>[] => entries.map(({ counts }) => counts),
  };
}

/** Whether this tick starts the job; advances the entry to its next time. */
function takeDue(entry: Entry, now: Date, { catchUpHours, log, signal }: SchedulerOptions): boolean {
  const oldest = new Date(now.getTime() - Math.max(2 * catchUpHours * HOUR_MS, LOOK_BACK_MS));
  if (entry.next && entry.next < oldest) entry.next = entry.nextAfter(oldest);
  const passed: Date[] = [];
  while (entry.next && entry.next <= now) {
    passed.push(entry.next);
    entry.next = entry.nextAfter(entry.next);
  }
  const due = passed.at(-1);
  if (!due || signal.aborted) return false;
  const { counts } = entry;
  const skip = (reason: keyof JobCounts['skipped'], explanation: string): false => {
    counts.skipped[reason] += 1;
    log.warn(`${counts.job}: start at ${due.toISOString()} skipped: ${explanation}`);
    return false;
  };
  const lateMs = now.getTime() - due.getTime();
  if (lateMs > Math.max(LATE_MS, catchUpHours * HOUR_MS)) {
    return skip('too late', `missed by more than ${plural(catchUpHours, 'hour')}`);
  }
  if (counts.running) return skip('overlap', 'the previous run has not finished');
  const missed = passed.length > 1 ? `, one run for ${passed.length} missed starts` : '';
  if (lateMs > LATE_MS) log.info(`${counts.job}: catching up the start at ${due.toISOString()}${missed}`);
  return true;
}

async function runEntry(entry: Entry, { log, runJob, signal }: SchedulerOptions): Promise<void> {
  const { counts } = entry;
  const { job } = counts;
  try {
    if (signal.aborted) return log.warn(`${job}: stopped before it was started`);
    log.info(`${job}: started`);
    const isComplete = await runJob(job);
    counts[isComplete ? 'succeeded' : 'failed'] += 1;
    const result = isComplete ? 'complete' : 'incomplete';
    log.info(`${job}: ${result}; next run ${entry.next?.toISOString() ?? 'never'}`);
  } catch (error) {
    counts.failed += 1;
    log.error(`${job}: ${formatError(error)}`);
  } finally {
    counts.running = false;
  }
}

function createEntry(job: ScheduledJob, { startedAt, lastStarts, catchUpHours }: SchedulerOptions) {
  const nextAfter = createCronSchedule(job.schedule, job.timezone);
  // Starts missed long ago are not considered at all: a warning for every day of last year is of no use.
  const earliest = new Date(startedAt.getTime() - 2 * catchUpHours * HOUR_MS);
  const lastStart = lastStarts.get(job.name) ?? startedAt;
  // A run under a clock that was ahead must not hold the job back until then.
  const after = Math.min(Math.max(lastStart.getTime(), earliest.getTime()), startedAt.getTime());
  const next = nextAfter(new Date(after));
  const counts = { job: job.name, running: false, succeeded: 0, failed: 0, skipped: { overlap: 0, 'too late': 0 } };
  return { job, nextAfter, next, counts };
}
