import { createTask, parse } from 'node-cron';
import { type Job, splitCron } from '../../config/job.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../core/clock.ts';
import { createWallClock } from '../../core/wall-clock.ts';

/** 29 February is at most eight years away (1896 to 1904, 2096 to 2104). */
const MAX_DAYS = 8 * 366 + 2;
const MAX_CACHED_DAYS = 4;

/**
 * Due times of a cron expression of five fields in a time zone. node-cron decides about days, at UTC, where it is exact; the
 * changes of the clock are handled here, since node-cron's own search skips a time that the spring change skips (measured with
 * 4.6.0).
 *
 * A daily time runs once on both changes: a skipped time runs where it would have been (02:30 at 03:30), a repeated time runs the
 * first time only. A schedule of every hour follows elapsed hours instead: it skips none and repeats none.
 */
export function createCronSchedule(expression: string, timeZone: string) {
  const { hour: hours, minute: minutes } = parse(expression);
  const wall = createWallClock(timeZone);
  const isDueOn = createDayTest(expression);
  const cache = new Map<number, readonly number[]>();
  const computeInstants = (day: number): readonly number[] => {
    const times = hours.flatMap((hour) => minutes.map((minute) => day + hour * HOUR_MS + minute * MINUTE_MS));
    return times.flatMap((time) => wall.toInstants(time).slice(0, hours.length === 24 ? undefined : 1));
  };
  /** The due times of one day, in no order; one appears twice where two wall times are the same instant. */
  const instantsOn = (day: number): readonly number[] => {
    const instants = cache.get(day) ?? (isDueOn(day) ? computeInstants(day) : []);
    if (cache.size >= MAX_CACHED_DAYS) cache.clear();
    cache.set(day, instants);
    return instants;
  };
  /** The first due time later than this one; undefined where there is none within eight years. */
  return (instant: Date): Date | undefined => {
    const after = instant.getTime();
    const today = Math.floor(wall.toWall(after) / DAY_MS) * DAY_MS;
    // A skipped time may move past midnight: the day before still counts, and the day after a match may hold an earlier one.
    for (let day = today - DAY_MS; day < today + MAX_DAYS * DAY_MS; day += DAY_MS) {
      if (!instantsOn(day).some((due) => due > after)) continue;
      const candidates = [...instantsOn(day), ...instantsOn(day + DAY_MS)];
      return new Date(Math.min(...candidates.filter((due) => due > after)));
    }
    return undefined;
  };
}

/** Whether day of month, month and day of week all match a day, given as its midnight in wall time. */
function createDayTest(expression: string): (day: number) => boolean {
  const [, , ...dayFields] = splitCron(expression);
  const task = createTask(`0 0 ${dayFields.join(' ')}`, () => {}, { timezone: 'UTC' });
  void task.destroy(); // used for matching only: it need not remain in the library's registry
  return (day) => task.match(new Date(day));
}

/** A job's next due time, as `tidemark status` and the log of the scheduler show it. */
export type NextRun = Readonly<ReturnType<typeof listNextRuns>[number]>;

/** The next due time of each job that has a schedule, the earliest first. */
export function nextRuns(jobs: readonly Pick<Job, 'name' | 'schedule' | 'timezone'>[], now: Date): readonly NextRun[] {
  const entries = jobs.map((job) => {
    const { schedule, timezone } = job;
    return { job, next: schedule === undefined ? undefined : createCronSchedule(schedule, timezone)(now) };
  });
  return listNextRuns(entries);
}

/** Jobs that have a next time, in ISO 8601, by time, then by name. */
export function listNextRuns(
  entries: readonly { readonly job: Pick<Job, 'name' | 'timezone'>; readonly next: Date | undefined }[],
) {
  const upcoming = entries.flatMap(({ job: { name, timezone }, next }) =>
    next ? [{ job: name, timezone, next: next.toISOString() }] : [],
  );
  return upcoming.sort((a, b) => (a.next + a.job < b.next + b.job ? -1 : 1));
}
