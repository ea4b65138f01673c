import { existsSync } from 'node:fs';
import { schedule, setLogger } from 'node-cron';
import type { Config } from '../config/config.ts';
import { MINUTE_MS } from '../core/clock.ts';
import type { Context } from '../core/context.ts';
import { errorMessage } from '../core/errors.ts';
import { warehouseFiles } from '../warehouse/publish.ts';
import { openPublished } from '../warehouse/session.ts';
import { schedulerMetrics, toPrometheusText, WarehouseMetrics } from './metrics.ts';
import { type ScheduledJob, Scheduler } from './scheduler.ts';
import { parseListenAddress, type StatusPage, type StatusServer, serveStatus } from './status-server.ts';

export interface DaemonOptions {
  readonly config: Config;
  readonly context: Pick<Context, 'clock' | 'log' | 'signal'>;
  readonly jobs: readonly ScheduledJob[];
  /** Runs a job as `tidemark run` does; resolves with whether it completed. */
  readonly runJob: (name: string) => Promise<boolean>;
  /** Called once it is ready, with the port of the status pages if there are any. */
  readonly onReady?: (port: number | undefined) => void;
  /** How often due jobs are looked for, as a cron expression in UTC. @default every minute */
  readonly ticks?: string;
}

/** Starts every job at its time until the signal; then waits for the active run and returns. */
export async function runDaemon(options: DaemonOptions): Promise<void> {
  const { config, context, jobs, runJob } = options;
  const { clock, log, signal } = context;
  const scheduler = new Scheduler({
    jobs,
    runJob,
    log,
    signal,
    startedAt: clock.now(),
    lastStarts: await readLastStarts(config),
    catchUpHours: config.schedule.catchUpHours,
  });
  let tickedAt = clock.now();
  const tick = (now: Date) => {
    tickedAt = now;
    scheduler.tick(now);
  };
  const server = await openServer(options, scheduler, () => tickedAt);
  setLogger({
    info: () => {},
    debug: () => {},
    warn: (line) => log.warn(line),
    error: (error) => log.error(errorMessage(error)),
  });
  for (const { job, next, timezone } of scheduler.nextRuns()) log.info(`${job}: next run ${next} (${timezone})`);
  // Every minute of UTC, which no change of the clock affects; the schedules of the jobs decide what is due. A timer that fires
  // early must not miss its own minute, hence the later of the two times.
  const ticker = schedule(options.ticks ?? '* * * * *', ({ date }) => tick(latest(date, clock.now())), {
    timezone: 'UTC',
    name: 'tidemark',
  });
  tick(clock.now());
  options.onReady?.(server?.port);
  await whenAborted(signal);
  await ticker.destroy();
  log.info('stopping: waiting for the active run');
  await scheduler.whenIdle();
  await server?.close();
}

function latest(a: Date, b: Date): Date {
  return a > b ? a : b;
}

function whenAborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}

/** The start of each job's last finished run, from the published warehouse. */
async function readLastStarts(config: Config): Promise<ReadonlyMap<string, Date>> {
  if (!existsSync(warehouseFiles(config.data).published)) return new Map();
  const { database, files } = await openPublished(config);
  try {
    const rows = await database.rows(await files.read('schedule/last_starts'));
    return new Map(rows.map(({ job, started_at }) => [String(job), new Date(String(started_at))]));
  } finally {
    database.close();
  }
}

/** The ticker has failed if there is no tick for this long. */
const TICK_TIMEOUT_MS = 5 * MINUTE_MS;

async function openServer(
  { config, context: { clock, log } }: DaemonOptions,
  scheduler: Scheduler,
  tickedAt: () => Date,
): Promise<StatusServer | undefined> {
  const { listen } = config.schedule;
  if (listen === undefined) return undefined;
  const metrics = new WarehouseMetrics(config, log);
  const isAlive = (): boolean => clock.now().getTime() - tickedAt().getTime() < TICK_TIMEOUT_MS;
  const server = await serveStatus({
    listen: parseListenAddress(listen),
    log,
    pages: {
      '/healthz': async () => healthPage(scheduler, isAlive()),
      '/metrics': async () => ({
        status: 200,
        type: 'text/plain; version=0.0.4; charset=utf-8',
        body: toPrometheusText([...(await metrics.read()), ...schedulerMetrics(scheduler)]),
      }),
    },
  });
  const address = listen.includes(':') ? listen : `127.0.0.1:${listen}`;
  log.info(`serving /healthz and /metrics at http://${address}`);
  return server;
}

/** Whether the scheduler works; whether jobs succeed is the subject of the metrics and the heartbeat. */
function healthPage(scheduler: Scheduler, isAlive: boolean): StatusPage {
  const body = {
    status: isAlive ? 'ok' : 'dead',
    running: scheduler.counts().flatMap(({ job, running }) => (running ? [job] : [])),
    next: scheduler.nextRuns(),
  };
  return { status: isAlive ? 200 : 503, type: 'application/json', body: `${JSON.stringify(body, null, 2)}\n` };
}
