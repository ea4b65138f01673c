import { describe, expect, test } from 'vitest';
import { TidemarkError } from '../../src/core/errors.ts';
import type { Log } from '../../src/core/log.ts';
import { createScheduler, type ScheduledJob, type SchedulerOptions } from '../../src/scheduler/scheduler.ts';

const MINUTE_MS = 60_000;

function logOf() {
  const lines: string[] = [];
  const log: Log = {
    info: (line) => lines.push(line),
    warn: (line) => lines.push(`warning: ${line}`),
    error: (line) => lines.push(`error: ${line}`),
  };
  return { log, lines };
}

/** A scheduler in simulated time: `play` ticks it every minute (or as told), and lets each run take as many minutes as `takes` says. */
function simulate(
  jobs: readonly ScheduledJob[],
  startedAt: string,
  more: Partial<SchedulerOptions> & { readonly takes?: (job: string) => number } = {},
) {
  const { takes = () => 0, ...options } = more;
  const { log, lines } = logOf();
  const starts: { job: string; at: Date }[] = [];
  let now = new Date(startedAt);
  let under: { until: number; end: () => void } | undefined;
  let mostAtOnce = 0;
  let atOnce = 0;
  const scheduler = createScheduler({
    jobs,
    startedAt: now,
    lastStarts: new Map(),
    catchUpHours: 6,
    log,
    signal: new AbortController().signal,
    runJob: async (job) => {
      starts.push({ job, at: now });
      atOnce += 1;
      mostAtOnce = Math.max(mostAtOnce, atOnce);
      const minutes = takes(job);
      if (minutes > 0) {
        await new Promise<void>((end) => {
          under = { until: now.getTime() + minutes * MINUTE_MS, end };
        });
      }
      atOnce -= 1;
      return true;
    },
    ...options,
  });
  const settle = () => new Promise((resolve) => setImmediate(resolve));
  return {
    scheduler,
    starts,
    lines,
    most: () => mostAtOnce,
    async play(until: string, stepMinutes = 1) {
      for (; now <= new Date(until); now = new Date(now.getTime() + stepMinutes * MINUTE_MS)) {
        if (under && under.until <= now.getTime()) {
          const { end } = under;
          under = undefined;
          end();
          await settle();
        }
        const before = scheduler.next()[0]?.next ?? '';
        scheduler.tick(now);
        if (before !== '' && new Date(before) <= now) await settle();
      }
    },
    /** Nothing ticks in between: the machine sleeps. */
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

describe('overlaps', () => {
  test('a start that falls into its own run is left out, said and counted', async () => {
    const { play, starts, lines, scheduler } = simulate([HOURLY], '2026-11-20T00:30:00Z', { takes: () => 90 });
    await play('2026-11-20T04:20:00Z');
    expect(starts.map(({ at }) => at.toISOString().slice(11, 16))).toEqual(['01:00', '03:00']);
    expect(lines).toContain(
      'warning: hourly: the start at 2026-11-20T02:00:00.000Z is left out: the run before has not ended',
    );
    expect(scheduler.counts()[0]).toMatchObject({
      succeeded: 1,
      running: true,
      skipped: { overlap: 2, 'too late': 0 },
    });
  });

  test('two jobs due at the same time run one after the other', async () => {
    const other = { ...NIGHTLY, name: 'weekly' };
    const { play, starts, most } = simulate([NIGHTLY, other], '2026-11-20T00:00:00Z', { takes: () => 30 });
    await play('2026-11-20T04:00:00Z');
    expect(starts.map(({ job, at }) => [job, at.toISOString().slice(11, 16)])).toEqual([
      ['nightly', '02:15'],
      ['weekly', '02:45'],
    ]);
    expect(most()).toBe(1);
  });
});

describe('missed starts', () => {
  const startAt = async (startedAt: string, lastStart: string | undefined, more: Partial<SchedulerOptions> = {}) => {
    const lastStarts = new Map(lastStart === undefined ? [] : [['nightly', new Date(lastStart)]]);
    const played = simulate([NIGHTLY], startedAt, { lastStarts, ...more });
    await played.play(startedAt);
    return played;
  };

  test('one that was missed while down is made up for, once, at the start', async () => {
    const { starts, play, lines } = await startAt('2026-11-20T05:00:00Z', '2026-11-19T02:15:03Z');
    expect(starts).toHaveLength(1);
    expect(lines[0]).toBe('nightly: catches up the start at 2026-11-20T02:15:00.000Z');
    await play('2026-11-20T23:00:00Z');
    expect(starts).toHaveLength(1);
  });

  test('many nights missed are one run', async () => {
    const { starts } = await startAt('2026-11-20T05:00:00Z', '2026-10-01T02:15:03Z');
    expect(starts).toHaveLength(1);
  });

  test('one missed by more than catchUpHours is left out with a warning', async () => {
    const { starts, lines, scheduler } = await startAt('2026-11-20T08:16:00Z', '2026-11-19T02:15:03Z');
    expect(starts).toEqual([]);
    expect(lines[0]).toContain('missed by more than 6 hours');
    expect(scheduler.counts()[0]?.skipped['too late']).toBe(1);
    expect((await startAt('2026-11-20T08:15:00Z', '2026-11-19T02:15:03Z')).starts).toHaveLength(1);
  });

  test('nothing is made up for where the last run began at or after the due time, or where there never was one', async () => {
    expect((await startAt('2026-11-20T05:00:00Z', '2026-11-20T02:15:00Z')).starts).toEqual([]);
    expect((await startAt('2026-11-20T05:00:00Z', '2026-11-20T03:00:00Z')).starts).toEqual([]);
    expect((await startAt('2026-11-20T05:00:00Z', undefined)).starts).toEqual([]);
  });

  test('catchUpHours of 0 makes up for nothing', async () => {
    expect((await startAt('2026-11-20T02:16:00Z', '2026-11-19T02:15:03Z', { catchUpHours: 0 })).starts).toEqual([]);
  });

  test('a machine that slept through starts runs once when it wakes', async () => {
    const played = simulate([HOURLY], '2026-11-20T00:30:00Z');
    await played.play('2026-11-20T00:40:00Z');
    played.jump('2026-11-20T05:20:00Z');
    await played.play('2026-11-20T05:25:00Z');
    expect(played.starts.map(({ at }) => at.toISOString())).toEqual(['2026-11-20T05:20:00.000Z']);
    expect(played.lines[0]).toBe('hourly: catches up the start at 2026-11-20T05:00:00.000Z, once for 5 missed');
  });
});

describe('a run', () => {
  const due = new Date('2026-11-20T02:15:00Z');
  const scheduler = (runJob: SchedulerOptions['runJob'], more: Partial<SchedulerOptions> = {}) => {
    const { log, lines } = logOf();
    const made = createScheduler({
      jobs: [NIGHTLY],
      startedAt: new Date('2026-11-20T00:00:00Z'),
      lastStarts: new Map(),
      catchUpHours: 6,
      runJob,
      log,
      signal: new AbortController().signal,
      ...more,
    });
    return { made, lines };
  };

  test('that throws is said and counted, and the next night runs', async () => {
    let runs = 0;
    const { made, lines } = scheduler(async () => {
      runs += 1;
      if (runs === 1) throw new TidemarkError('UNREACHABLE', 'nobody there', { hint: 'look again' });
      return true;
    });
    made.tick(due);
    await made.idle();
    made.tick(new Date('2026-11-21T02:15:00Z'));
    await made.idle();
    expect(lines).toContain('error: nightly: nobody there: look again');
    expect(made.counts()[0]).toMatchObject({ succeeded: 1, failed: 1, running: false });
  });

  test('that ends incomplete counts as failed', async () => {
    const { made } = scheduler(async () => false);
    made.tick(due);
    await made.idle();
    expect(made.counts()[0]).toMatchObject({ succeeded: 0, failed: 1 });
  });

  test('that meets a lock waits until it is given back', async () => {
    let tries = 0;
    const locked = async () => {
      tries += 1;
      if (tries < 3) throw new TidemarkError('LOCKED', 'the warehouse is locked by pull');
      return true;
    };
    const { made, lines } = scheduler(locked, { lock: { waitMs: 60, everyMs: 2 } });
    made.tick(due);
    await made.idle();
    expect(tries).toBe(3);
    expect(lines.filter((line) => line.includes('waits: the warehouse is locked'))).toHaveLength(1);
    expect(made.counts()[0]?.succeeded).toBe(1);
  });

  test('that meets a lock for too long fails', async () => {
    const locked = async () => {
      throw new TidemarkError('LOCKED', 'the warehouse is locked by pull');
    };
    const { made } = scheduler(locked, { lock: { waitMs: 4, everyMs: 2 } });
    made.tick(due);
    await made.idle();
    expect(made.counts()[0]?.failed).toBe(1);
  });

  test('does not begin once the signal has come, and what waits does not either', async () => {
    const stop = new AbortController();
    const begun: string[] = [];
    const jobs = [NIGHTLY, { ...NIGHTLY, name: 'second' }];
    const { made } = scheduler(
      async (name) => {
        begun.push(name);
        stop.abort();
        return true;
      },
      { jobs, signal: stop.signal },
    );
    made.tick(due);
    await made.idle();
    made.tick(new Date('2026-11-21T02:15:00Z'));
    await made.idle();
    expect(begun).toEqual(['nightly']);
  });
});
