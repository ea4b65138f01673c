import { existsSync } from 'node:fs';
import { schedule, setLogger } from 'node-cron';
import type { Config } from '../core/config.ts';
import type { Context } from '../core/context.ts';
import { messageOf } from '../core/errors.ts';
import { warehouseFiles } from '../warehouse/publish.ts';
import { openPublished } from '../warehouse/session.ts';
import { listenAddress } from './listen.ts';
import { expose, schedulerMetrics, warehouseMetrics } from './metrics.ts';
import { createScheduler, type ScheduledJob, type Scheduler } from './scheduler.ts';
import { type Page, serveStatus } from './status-server.ts';

export interface ServeOptions {
  readonly config: Config;
  readonly context: Pick<Context, 'clock' | 'log' | 'signal'>;
  readonly jobs: readonly ScheduledJob[];
  /** Runs a job to its end as `tidemark run` does; resolves with whether all of it was done. */
  readonly runJob: (name: string) => Promise<boolean>;
  /** Told when it is up: the port of the status pages, where there are any. */
  readonly onReady?: (port: number | undefined) => void;
  /** How often it looks for what is due, as a cron expression in UTC. @default every minute */
  readonly ticks?: string;
}

/** Stays up and starts every job at its time, until the signal; then lets what runs end, and leaves. */
export async function serveSchedule(options: ServeOptions): Promise<void> {
  const { config, context, jobs, runJob } = options;
  const { clock, log, signal } = context;
  const scheduler = createScheduler({
    jobs,
    runJob,
    log,
    signal,
    startedAt: clock.now(),
    lastStarts: await lastStarts(config),
    catchUpHours: config.schedule.catchUpHours,
  });
  let tickedAt = clock.now();
  const tick = (now: Date) => {
    tickedAt = now;
    scheduler.tick(now);
  };
  const server = await openServer(options, scheduler, () => tickedAt);
  setLogger({ info: () => {}, debug: () => {}, warn: (line) => log.warn(line), error: (e) => log.error(messageOf(e)) });
  for (const { job, next, timezone } of scheduler.next()) log.info(`${job}: next run ${next} (${timezone})`);
  // Every minute of UTC, which no change of the clock touches; what is due by then is the timetables' to say. A timer that
  // fires a moment early must not leave its own minute out, hence the later of the two times.
  const ticker = schedule(options.ticks ?? '* * * * *', ({ date }) => tick(later(date, clock.now())), {
    timezone: 'UTC',
    name: 'tidemark',
  });
  tick(clock.now());
  options.onReady?.(server?.port);
  await aborted(signal);
  await ticker.destroy();
  log.info('stopping: what runs is brought to an end');
  await scheduler.idle();
  await server?.close();
}

function later(a: Date, b: Date): Date {
  return a > b ? a : b;
}

function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}

/** When each job's last run that counts began, from the published warehouse. */
async function lastStarts(config: Config): Promise<ReadonlyMap<string, Date>> {
  if (!existsSync(warehouseFiles(config.data).published)) return new Map();
  const { database, files } = await openPublished(config);
  try {
    const rows = await database.rows(await files.text('schedule/last_starts'));
    return new Map(rows.map(({ job, started_at }) => [String(job), new Date(String(started_at))]));
  } finally {
    database.close();
  }
}

/** Without a tick for this long, the timer is dead and so is the schedule. */
const DEAD_AFTER_MS = 5 * 60_000;

async function openServer({ config, context, jobs }: ServeOptions, scheduler: Scheduler, tickedAt: () => Date) {
  const { listen } = config.schedule;
  if (listen === undefined) return undefined;
  const { clock, log } = context;
  const readWarehouse = warehouseMetrics(config, log);
  const server = await serveStatus({
    listen: listenAddress(listen),
    log,
    pages: {
      '/healthz': async () => healthPage(scheduler, clock.now().getTime() - tickedAt().getTime() < DEAD_AFTER_MS),
      '/metrics': async () => ({
        status: 200,
        type: 'text/plain; version=0.0.4; charset=utf-8',
        body: expose([...(await readWarehouse()), ...schedulerMetrics(scheduler)]),
      }),
    },
  });
  log.info(
    `status of ${jobs.length} jobs at http://${listen.includes(':') ? listen : `127.0.0.1:${listen}`}/healthz and /metrics`,
  );
  return server;
}

/** Whether the scheduler lives; whether the jobs succeed is for the metrics and the heartbeat to tell. */
function healthPage(scheduler: Scheduler, alive: boolean): Page {
  const body = {
    status: alive ? 'ok' : 'dead',
    running: scheduler.counts().flatMap(({ job, running }) => (running ? [job] : [])),
    next: scheduler.next(),
  };
  return { status: alive ? 200 : 503, type: 'application/json', body: `${JSON.stringify(body, null, 2)}\n` };
}
