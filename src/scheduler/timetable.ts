import { createTask, parse } from 'node-cron';
import { fieldsOf } from '../core/cron.ts';
import { type WallClock, wallClock } from './wall-clock.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
/** 29 February is at most eight years away (1896 to 1904, 2096 to 2104). */
const MOST_DAYS = 8 * 366 + 2;
const DAYS_KEPT = 4;

/** When a job is due. */
export interface Timetable {
  /** The first due instant later than this one; undefined where there is none within eight years. */
  nextAfter(instant: Date): Date | undefined;
}

/**
 * Due instants of a cron expression of five fields in a time zone. Days are node-cron's to judge, at UTC, where it is exact; the
 * clock's changes are ours, since its own search skips a time that the spring change skips (measured with 4.6.0).
 *
 * Both changes give one run: a time that is skipped runs where it would have been (02:30 at 03:30), a time that comes twice runs
 * the first time. A schedule of every hour follows the hours that pass instead: it leaves none out and repeats none.
 */
export function timetable(expression: string, zone: string): Timetable {
  const wall = wallClock(zone);
  const { hour, minute } = parse(expression);
  const onDay = dayTest(expression);
  const everyHour = hour.length === 24;
  const known = new Map<number, readonly number[]>();

  const instantsOfDay = (day: number): readonly number[] => {
    const cached = known.get(day);
    if (cached) return cached;
    const instants = onDay(day) ? instantsOn(day, { hour, minute, everyHour, wall }) : [];
    if (known.size >= DAYS_KEPT) known.clear();
    known.set(day, instants);
    return instants;
  };
  return {
    nextAfter(instant) {
      const after = instant.getTime();
      const today = Math.floor(wall.wallOf(after) / DAY_MS) * DAY_MS;
      // A skipped time may move past midnight: the day before still counts, and the day after a hit may hold an earlier one.
      for (let day = today - DAY_MS; day < today + MOST_DAYS * DAY_MS; day += DAY_MS) {
        if (!instantsOfDay(day).some((due) => due > after)) continue;
        const due = [...instantsOfDay(day), ...instantsOfDay(day + DAY_MS)].filter((candidate) => candidate > after);
        return new Date(Math.min(...due));
      }
      return undefined;
    },
  };
}

/** Whether days of month, months and days of week all allow a day, given as midnight of the wall. */
function dayTest(expression: string): (day: number) => boolean {
  const [, , ...dayFields] = fieldsOf(expression);
  const task = createTask(`0 0 ${dayFields.join(' ')}`, () => {}, { timezone: 'UTC' });
  task.destroy(); // only asked, never started: it need not stand in the library's list
  return (day) => task.match(new Date(day));
}

interface Times {
  readonly hour: readonly number[];
  readonly minute: readonly number[];
  readonly everyHour: boolean;
  readonly wall: WallClock;
}

/** In no order, and an instant twice where two times of the wall meet in it. */
function instantsOn(day: number, { hour, minute, everyHour, wall }: Times): readonly number[] {
  const walls = hour.flatMap((h) => minute.map((m) => day + h * HOUR_MS + m * MINUTE_MS));
  return walls.flatMap((time) => (everyHour ? wall.instantsOf(time) : wall.instantsOf(time).slice(0, 1)));
}

/** A job's next due time, as `tidemark status` and the log of the scheduler show it. */
export interface NextRun {
  readonly job: string;
  readonly timezone: string;
  /** ISO 8601, UTC. */
  readonly next: string;
}

/** When each job that has a schedule is next due, the soonest first. */
export function nextRuns(
  jobs: Iterable<{ readonly name: string; readonly schedule?: string | undefined; readonly timezone: string }>,
  now: Date,
): readonly NextRun[] {
  const upcoming = [...jobs].flatMap(({ name, schedule, timezone }) => {
    const next = schedule === undefined ? undefined : timetable(schedule, timezone).nextAfter(now);
    return next ? [{ job: name, timezone, next: next.toISOString() }] : [];
  });
  return upcoming.sort((a, b) => (a.next + a.job < b.next + b.job ? -1 : 1));
}
