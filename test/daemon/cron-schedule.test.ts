import { describe, expect, test } from 'vitest';
import { createCronSchedule, nextRuns } from '../../src/run/schedule/cron-schedule.ts';

const YEAR = { from: '2026-12-31T12:00:00Z', to: '2027-12-31T12:00:00Z' };

function dues(expression: string, zone: string, { from, to }: { from: string; to: string } = YEAR): readonly string[] {
  const nextAfter = createCronSchedule(expression, zone);
  const end = new Date(to);
  const found: string[] = [];
  for (let due = nextAfter(new Date(from)); due && due <= end; due = nextAfter(due)) {
    found.push(due.toISOString());
  }
  return found;
}

const formats = new Map<string, Intl.DateTimeFormat>();

/** A format is expensive to create. */
function format(iso: string, locale: string, options: Intl.DateTimeFormatOptions & { readonly timeZone: string }) {
  const key = `${locale} ${options.timeZone}`;
  const known = formats.get(key) ?? new Intl.DateTimeFormat(locale, options);
  formats.set(key, known);
  return known.format(new Date(iso));
}

const wallDay = (iso: string, timeZone: string) => format(iso, 'en-CA', { timeZone });
const wallTime = (iso: string, timeZone: string) => format(iso, 'en-GB', { timeZone, timeStyle: 'short' });

describe.each(['Europe/Berlin', 'America/New_York'])('a year in %s', (zone) => {
  test.each(['15 2 * * *', '30 2 * * *', '30 1 * * *', '0 3 * * *', '59 2 * * *', '0 0 * * *'])(
    'with `%s` has exactly one due time a day, both changes of the clock included',
    (expression) => {
      const days = dues(expression, zone).map((due) => wallDay(due, zone));
      expect(days).toHaveLength(365);
      expect(new Set(days).size).toBe(365);
    },
  );

  test('with `30 2 * * *` shows 02:30 on every day but that of the spring change, which shows 03:30', () => {
    const odd = dues('30 2 * * *', zone).filter((due) => wallTime(due, zone) !== '02:30');
    expect(odd.map((due) => [wallDay(due, zone), wallTime(due, zone)])).toEqual([
      [zone === 'Europe/Berlin' ? '2027-03-28' : '2027-03-14', '03:30'],
    ]);
  });

  test('with `15 * * * *` comes every hour that passes, 8,760 times', () => {
    const times = dues('15 * * * *', zone).map((due) => Date.parse(due));
    expect(times).toHaveLength(8760);
    expect(new Set(times.slice(1).map((time, index) => time - (times[index] ?? 0)))).toEqual(new Set([3_600_000]));
  });

  test('with two times in the skipped hour and two after it runs each instant once', () => {
    const day = zone === 'Europe/Berlin' ? '2027-03-28' : '2027-03-14';
    const onDay = dues('0,30 2,3 * * *', zone).filter((due) => wallDay(due, zone) === day);
    expect(onDay.map((due) => wallTime(due, zone))).toEqual(['03:00', '03:30']);
  });
});

describe('the autumn change', () => {
  test('runs a repeated time the first time only', () => {
    const range = { from: '2027-10-30T12:00:00Z', to: '2027-10-31T12:00:00Z' };
    expect(dues('30 2 * * *', 'Europe/Berlin', range)).toEqual(['2027-10-31T00:30:00.000Z']);
  });

  test('keeps a schedule of every half hour regular', () => {
    const range = { from: '2027-10-31T00:00:00Z', to: '2027-10-31T02:00:00Z' };
    expect(dues('*/30 * * * *', 'Europe/Berlin', range)).toEqual([
      '2027-10-31T00:30:00.000Z',
      '2027-10-31T01:00:00.000Z',
      '2027-10-31T01:30:00.000Z',
      '2027-10-31T02:00:00.000Z',
    ]);
  });
});

describe('other zones and days', () => {
  test('half-hour changes (Lord Howe) keep one due time a day', () => {
    expect(dues('15 2 * * *', 'Australia/Lord_Howe')).toHaveLength(365);
  });

  test('a change at midnight (Cairo) keeps one due time a day', () => {
    const days = dues('30 0 * * *', 'Africa/Cairo').map((due) => wallDay(due, 'Africa/Cairo'));
    expect(new Set(days).size).toBe(365);
    expect(days).toHaveLength(365);
  });

  test('the last day of each month, and 29 February years ahead', () => {
    expect(dues('0 6 L * *', 'UTC').map((due) => due.slice(0, 10))).toContain('2027-02-28');
    const nextAfter = createCronSchedule('0 6 29 2 *', 'UTC');
    expect(nextAfter(new Date('2026-01-01T00:00:00Z'))?.toISOString()).toBe('2028-02-29T06:00:00.000Z');
  });

  test('weekdays are those of the zone, not of UTC', () => {
    const [first] = dues('30 0 * * 1', 'Asia/Tokyo', { from: '2026-11-20T00:00:00Z', to: '2026-11-30T00:00:00Z' });
    expect(first).toBe('2026-11-22T15:30:00.000Z'); // Monday 00:30 in Tokyo
  });

  test('a due time is not after itself', () => {
    const nextAfter = createCronSchedule('15 2 * * *', 'UTC');
    expect(nextAfter(new Date('2026-11-20T02:15:00Z'))?.toISOString()).toBe('2026-11-21T02:15:00.000Z');
    expect(nextAfter(new Date('2026-11-20T02:14:59.999Z'))?.toISOString()).toBe('2026-11-20T02:15:00.000Z');
  });
});

test('next runs are in the order of time, without jobs that have no schedule', () => {
  const jobs = [
    { name: 'weekly', schedule: '0 7 * * 1', timezone: 'Europe/Berlin' },
    { name: 'by-hand', timezone: 'UTC' },
    { name: 'nightly', schedule: '15 2 * * *', timezone: 'Europe/Berlin' },
  ];
  expect(nextRuns(jobs, new Date('2026-11-20T12:00:00Z'))).toEqual([
    { job: 'nightly', timezone: 'Europe/Berlin', next: '2026-11-21T01:15:00.000Z' },
    { job: 'weekly', timezone: 'Europe/Berlin', next: '2026-11-23T06:00:00.000Z' },
  ]);
});
