import { describe, expect, test } from 'vitest';
import { TidemarkError } from '../../src/core/errors.ts';
import type { Log } from '../../src/core/log.ts';
import { createScheduler, type ScheduledJob, type SchedulerOptions } from '../../src/run/schedule/scheduler.ts';

const MINUTE_MS = 60_000;

function createLog() {
  const lines: string[] = [];
  const log: Log = {
    info: (line) => lines.push(line),
    warn: (line) => lines.push(`warning: ${line}`),
    error: (line) => lines.push(`error: ${line}`),
  };
  return { log, lines };
}

/** A scheduler in simulated time: `play` ticks it every `stepMinutes`, and each run takes the minutes that `takes` returns. */
function simulate(
  jobs: readonly ScheduledJob[],
  startedAt: string,
  more: Partial<SchedulerOptions> & { readonly takes?: (job: string) => number } = {},
) {
  const { takes = () => 0, ...options } = more;
  const { log, lines } = createLog();
  const starts: { job: string; at: Date }[] = [];
  let now = new Date(startedAt);
  let active: { until: number; end: () => void } | undefined;
  let maxActive = 0;
  let activeCount = 0;
  const scheduler = createScheduler({
    jobs,
    startedAt: now,
    lastStarts: new Map(),
    catchUpHours: 6,
    log,
    signal: new AbortController().signal,
    runJob: async (job) => {
      starts.push({ job, at: now });
      activeCount += 1;
      maxActive = Math.max(maxActive, activeCount);
      const minutes = takes(job);
      if (minutes > 0) {
        await new Promise<void>((end) => {
          active = { until: now.getTime() + minutes * MINUTE_MS, end };
        });
      }
      activeCount -= 1;
      return true;
    },
    ...options,
  });
  const settle = () => new Promise((resolve) => setImmediate(resolve));
  return {
    scheduler,
    starts,
    lines,
    maxActive: () => maxActive,
    async play(until: string, stepMinutes = 1) {
      for (; now <= new Date(until); now = new Date(now.getTime() + stepMinutes * MINUTE_MS)) {
        if (active && active.until <= now.getTime()) {
          const { end } = active;
          active = undefined;
          end();
          await settle();
        }
        const before = scheduler.nextRuns()[0]?.next ?? '';
        scheduler.tick(now);
        if (before !== '' && new Date(before) <= now) await settle();
      }
    },
    /** Without ticks in between: the machine sleeps. */
    jump(to: string) {
      now = new Date(to);
    },
  };
}

const localDay = (at: Date, zone: string) => new Intl.DateTimeFormat('en-CA', { timeZone: zone }).format(at);

describe.each(['Europe/Berlin', 'America/New_York'])('a simulated year in %s', (zone) => {
  test('starts a nightly job once on each of its 365 days, both changes of the clock included', async () => {
    const nightly = { name: 'nightly', schedule: '30 2 * * *', timezone: zone };
    const { play, starts } = simulate([nightly], '2026-12-31T12:00:00Z');
    await play('2027-12-31T12:00:00Z', 5);
    const days = starts.map(({ at }) => localDay(at, zone));
    expect(days).toHaveLength(365);
    expect(new Set(days).size).toBe(365);
  });
});

const NIGHTLY: ScheduledJob = { name: 'nightly', schedule: '15 2 * * *', timezone: 'UTC' };
const HOURLY: ScheduledJob = { name: 'hourly', schedule: '0 * * * *', timezone: 'UTC' };

describe('a clock', () => {
  test('that was ahead does not hold back a job whose last run it dated', async () => {
    const lastStarts = new Map([['nightly', new Date('2031-01-01T00:00:00Z')]]);
    const { play, starts } = simulate([NIGHTLY], '2026-11-20T12:00:00Z', { lastStarts });
    await play('2026-11-21T12:00:00Z');
    expect(starts.map(({ at }) => at.toISOString())).toEqual(['2026-11-21T02:15:00.000Z']);
  });

  test('that is set back does not hold back a job, and the log says so', async () => {
    const { play, jump, starts, lines } = simulate([NIGHTLY], '2026-11-20T12:00:00Z');
    jump('2027-03-01T12:00:00Z');
    await play('2027-03-01T12:10:00Z');
    jump('2026-11-20T12:20:00Z');
    await play('2026-11-22T12:00:00Z');
    expect(starts.map(({ at }) => at.toISOString())).toEqual(['2026-11-21T02:15:00.000Z', '2026-11-22T02:15:00.000Z']);
    expect(lines).toContain('warning: the clock went back from 2027-03-01T12:10:00.000Z to 2026-11-20T12:20:00.000Z');
  });

  test('that was behind by decades, as before it is set, makes no start for each hour of them', async () => {
    const { play, jump, starts, lines } = simulate([HOURLY], '1970-01-01T00:05:00Z');
    jump('2026-11-20T12:20:00Z');
    await play('2026-11-20T12:30:00Z');
    expect(starts).toHaveLength(1);
    expect(lines[0]).toBe(
      `hourly: catching up the start at 2026-11-20T12:00:00.000Z, one run for ${32 * 24} missed starts`,
    );
  });

  test('that shows an hour again, as the summer time ends, was not ahead', async () => {
    const { play, lines } = simulate([{ ...NIGHTLY, timezone: 'Europe/Berlin' }], '2026-10-24T20:00:00Z');
    await play('2026-10-25T06:00:00Z');
    expect(lines.filter((line) => line.includes('clock'))).toEqual([]);
  });
});

describe('overlaps', () => {
  test('a start during a run of the same job is skipped, logged and counted', async () => {
    const { play, starts, lines, scheduler } = simulate([HOURLY], '2026-11-20T00:30:00Z', { takes: () => 90 });
    await play('2026-11-20T04:20:00Z');
    expect(starts.map(({ at }) => at.toISOString().slice(11, 16))).toEqual(['01:00', '03:00']);
    expect(lines).toContain(
      'warning: hourly: start at 2026-11-20T02:00:00.000Z skipped: the previous run has not finished',
    );
    expect(scheduler.counts()[0]).toMatchObject({
      succeeded: 1,
      running: true,
      skipped: { overlap: 2, 'too late': 0 },
    });
  });

  test('two jobs due at the same time run one after the other', async () => {
    const other = { ...NIGHTLY, name: 'weekly' };
    const { play, starts, maxActive } = simulate([NIGHTLY, other], '2026-11-20T00:00:00Z', { takes: () => 30 });
    await play('2026-11-20T04:00:00Z');
    expect(starts.map(({ job, at }) => [job, at.toISOString().slice(11, 16)])).toEqual([
      ['nightly', '02:15'],
      ['weekly', '02:45'],
    ]);
    expect(maxActive()).toBe(1);
  });
});

describe('missed starts', () => {
  const startAt = async (startedAt: string, lastStart: string | undefined, more: Partial<SchedulerOptions> = {}) => {
    const lastStarts = new Map(lastStart === undefined ? [] : [['nightly', new Date(lastStart)]]);
    const played = simulate([NIGHTLY], startedAt, { lastStarts, ...more });
    await played.play(startedAt);
    return played;
  };

  test('a start missed while the scheduler was down is caught up once', async () => {
    const { starts, play, lines } = await startAt('2026-11-20T05:00:00Z', '2026-11-19T02:15:03Z');
    expect(starts).toHaveLength(1);
    expect(lines[0]).toBe('nightly: catching up the start at 2026-11-20T02:15:00.000Z');
    await play('2026-11-20T23:00:00Z');
    expect(starts).toHaveLength(1);
  });

  test('one run catches up many missed starts', async () => {
    const { starts } = await startAt('2026-11-20T05:00:00Z', '2026-10-01T02:15:03Z');
    expect(starts).toHaveLength(1);
  });

  test('a start missed by more than catchUpHours is skipped with a warning', async () => {
    const { starts, lines, scheduler } = await startAt('2026-11-20T08:16:00Z', '2026-11-19T02:15:03Z');
    expect(starts).toEqual([]);
    expect(lines[0]).toContain('missed by more than 6 hours');
    expect(scheduler.counts()[0]?.skipped['too late']).toBe(1);
    expect((await startAt('2026-11-20T08:15:00Z', '2026-11-19T02:15:03Z')).starts).toHaveLength(1);
  });

  test('nothing is caught up if the last run began at or after the due time, or if there is none', async () => {
    expect((await startAt('2026-11-20T05:00:00Z', '2026-11-20T02:15:00Z')).starts).toEqual([]);
    expect((await startAt('2026-11-20T05:00:00Z', '2026-11-20T03:00:00Z')).starts).toEqual([]);
    expect((await startAt('2026-11-20T05:00:00Z', undefined)).starts).toEqual([]);
  });

  test('with catchUpHours 0 nothing is caught up', async () => {
    expect((await startAt('2026-11-20T02:16:00Z', '2026-11-19T02:15:03Z', { catchUpHours: 0 })).starts).toEqual([]);
  });

  test('with catchUpHours 0 a start is not too late because the timer fired some milliseconds after it', async () => {
    const { play, starts } = await startAt('2026-11-20T02:14:00.005Z', undefined, { catchUpHours: 0 });
    await play('2026-11-20T02:20:00Z');
    expect(starts.map(({ at }) => at.toISOString())).toEqual(['2026-11-20T02:15:00.005Z']);
  });

  test('a machine that slept through starts runs once when it wakes', async () => {
    const played = simulate([HOURLY], '2026-11-20T00:30:00Z');
    await played.play('2026-11-20T00:40:00Z');
    played.jump('2026-11-20T05:20:00Z');
    await played.play('2026-11-20T05:25:00Z');
    expect(played.starts.map(({ at }) => at.toISOString())).toEqual(['2026-11-20T05:20:00.000Z']);
    expect(played.lines[0]).toBe(
      'hourly: catching up the start at 2026-11-20T05:00:00.000Z, one run for 5 missed starts',
    );
  });
});

describe('a run', () => {
  const due = new Date('2026-11-20T02:15:00Z');
  const create = (runJob: SchedulerOptions['runJob'], more: Partial<SchedulerOptions> = {}) => {
    const { log, lines } = createLog();
    const scheduler = createScheduler({
      jobs: [NIGHTLY],
      startedAt: new Date('2026-11-20T00:00:00Z'),
      lastStarts: new Map(),
      catchUpHours: 6,
      runJob,
      log,
      signal: new AbortController().signal,
      ...more,
    });
    return { scheduler, lines };
  };

  test('that throws is logged and counted, and the next start runs', async () => {
    let runs = 0;
    const { scheduler, lines } = create(async () => {
      runs += 1;
      if (runs === 1) throw new TidemarkError('UNREACHABLE', 'nobody there', { hint: 'look again' });
      return true;
    });
    scheduler.tick(due);
    await scheduler.whenIdle();
    scheduler.tick(new Date('2026-11-21T02:15:00Z'));
    await scheduler.whenIdle();
    expect(lines).toContain('error: nightly: nobody there: look again');
    expect(scheduler.counts()[0]).toMatchObject({ succeeded: 1, failed: 1, running: false });
  });

  test('that ends incomplete counts as failed', async () => {
    const { scheduler } = create(async () => false);
    scheduler.tick(due);
    await scheduler.whenIdle();
    expect(scheduler.counts()[0]).toMatchObject({ succeeded: 0, failed: 1 });
  });

  test('does not start after the signal, nor does a job that waits', async () => {
    const stop = new AbortController();
    const started: string[] = [];
    const jobs = [NIGHTLY, { ...NIGHTLY, name: 'second' }];
    const { scheduler, lines } = create(
      async (name) => {
        started.push(name);
        stop.abort();
        return true;
      },
      { jobs, signal: stop.signal },
    );
    scheduler.tick(due);
    await scheduler.whenIdle();
    scheduler.tick(new Date('2026-11-21T02:15:00Z'));
    await scheduler.whenIdle();
    expect(started).toEqual(['nightly']);
    expect(lines).toContain('warning: second: stopped before it was started');
  });
});
