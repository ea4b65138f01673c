import { DAY_MS, formatTimestamp, HOUR_MS, MINUTE_MS, parseTimestamp } from '../core/clock.ts';
import { TidemarkError } from '../core/errors.ts';
import { createWallClock } from '../core/wall-clock.ts';
import type { SqlFiles } from './sql-files.ts';
import type { Row } from './values.ts';

/** A time that a person named, and the run whose state it has: the last one at or before it. */
export type Moment = Readonly<Awaited<ReturnType<typeof resolveMoment>>>;

interface MomentOptions {
  /** Reads the published warehouse, or the working copy. */
  readonly rows: (sql: string, params?: Readonly<Record<string, string>>) => Promise<readonly Row[]>;
  readonly files: Pick<SqlFiles, 'read'>;
  readonly now: Date;
  /** The zone of days (`readTimeZone`). */
  readonly timeZone: string;
}

const EXAMPLES = 'yesterday, last monday, -7d, 2026-11-20, 2026-11-20T02:15:00Z or a run such as 20261120T021500Z';

/**
 * The moment that a text names: `now`, `today`, `yesterday`, `last monday`, `-7d` (w, d, h, m), a date, a timestamp, or the ID of a
 * run or its unique beginning. A day means its end.
 * @throws TidemarkError USAGE if the text is none of them, or names a time before the first pull.
 */
export async function resolveMoment(text: string, options: MomentOptions) {
  const { rows, files } = options;
  const at = readInstant(text.trim().toLowerCase(), options) ?? (await findRun(text.trim(), options));
  const [row] = await rows(files.read('warehouse/moment'), { at: at.toISOString() });
  const { first_pull, run_id, as_of } = row ?? {};
  if (typeof first_pull !== 'string') throw new TidemarkError('USAGE', `${text}: nothing was pulled yet`);
  const start = await readHistoryStart(rows, files);
  const first = new Date(Math.max(Date.parse(first_pull), Date.parse(start ?? first_pull)));
  if (at >= first) return { at, run: { run_id: String(run_id), as_of: new Date(String(as_of)) } };
  const time = formatTimestamp(at);
  throw beforeFirstPull(time === text ? time : `${text}: ${time}`, first);
}

/** Since when the history is whole; undefined where nothing was removed, as in a warehouse of a version that removes nothing. */
export async function readHistoryStart(rows: (sql: string) => Promise<readonly Row[]>, files: Pick<SqlFiles, 'read'>) {
  const [{ has_start } = { has_start: false }] = await rows(files.read('warehouse/has_history_start'));
  if (String(has_start) !== 'true') return undefined; // of a page, all values are texts
  const [row] = await rows(files.read('warehouse/history_start'));
  return typeof row?.starts_at === 'string' ? row.starts_at : undefined;
}

export function beforeFirstPull(time: string, first: Date): TidemarkError {
  return new TidemarkError('USAGE', `${time} is before the first pull, ${formatTimestamp(first)}`);
}

const UNIT_MS: Readonly<Record<string, number>> = { w: 7 * DAY_MS, d: DAY_MS, h: HOUR_MS, m: MINUTE_MS };

function readInstant(text: string, options: Pick<MomentOptions, 'now' | 'timeZone'>): Date | undefined {
  if (text === 'now') return options.now;
  const [, amount, unit = ''] = /^-(\d{1,5})([wdhm])$/u.exec(text) ?? [];
  if (amount !== undefined) return new Date(options.now.getTime() - Number(amount) * (UNIT_MS[unit] ?? 0));
  return readDay(text, options) ?? (/^\d{4}-\d\d-\d\d./u.test(text) ? parseTimestamp(text.toUpperCase()) : undefined);
}

const WEEKDAYS = ['sunday', 'monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday'];

/** The end of a day; of a day that has not ended, now. */
function readDay(text: string, { now, timeZone }: Pick<MomentOptions, 'now' | 'timeZone'>): Date | undefined {
  const wall = createWallClock(timeZone);
  const today = Math.floor(wall.toWall(now.getTime()) / DAY_MS) * DAY_MS;
  const weekday = WEEKDAYS.indexOf(text.replace(/^last\s+/u, ''));
  const named = new Map(Object.entries({ today, yesterday: today - DAY_MS }));
  const daysAgo = ((new Date(today).getUTCDay() - weekday + 6) % 7) + 1;
  const day = named.get(text) ?? (weekday >= 0 && text.startsWith('last') ? today - daysAgo * DAY_MS : readDate(text));
  if (day === undefined) return undefined;
  const end = (wall.toInstants(day + DAY_MS)[0] ?? 0) - 1;
  return day === today && end > now.getTime() ? now : new Date(end);
}

/** The last year has a day that ends after it, and years before 1000 have fewer digits on a wall clock. */
function readDate(text: string): number | undefined {
  return /^(?!0|9999)\d{4}-\d\d-\d\d$/u.test(text) ? parseTimestamp(text)?.getTime() : undefined;
}

async function findRun(text: string, { rows, files }: MomentOptions): Promise<Date> {
  const runs = /^\d{4}[\w-]*$/u.test(text) ? await rows(files.read('warehouse/named_runs'), { prefix: text }) : [];
  const [first, ...others] = runs;
  if (!first) throw new TidemarkError('USAGE', `${text} names no moment`, { hint: `give ${EXAMPLES}` });
  if (others.length === 0) return new Date(String(first.started_at));
  const names = runs.slice(0, 3).map(({ run_id }) => String(run_id));
  const more = runs.length > 3 ? ', …' : '';
  throw new TidemarkError('USAGE', `several runs begin with ${text}: ${names.join(', ')}${more}`);
}
