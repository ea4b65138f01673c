import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { schedule, setLogger } from 'node-cron';
import type { Config } from '../../config/config.ts';
import { MINUTE_MS } from '../../core/clock.ts';
import type { Context } from '../../core/context.ts';
import { errorMessage, formatError, TidemarkError } from '../../core/errors.ts';
import type { Log } from '../../core/log.ts';
import { warehouseFiles } from '../../warehouse/publish.ts';
import { withPublished } from '../../warehouse/session.ts';
import { createWarehouseMetrics, schedulerMetrics, toPrometheusText } from './metrics.ts';
import { type ScheduledJob, Scheduler } from './scheduler.ts';

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
  const onTick = ({ date }: { readonly date: Date }) => tick(date > clock.now() ? date : clock.now());
  const ticker = schedule(options.ticks ?? '* * * * *', onTick, {
    timezone: 'UTC',
    name: 'tidemark',
  });
  tick(clock.now());
  options.onReady?.((server?.address() as AddressInfo | undefined)?.port);
  if (!signal.aborted) await once(signal, 'abort');
  await ticker.destroy();
  log.info('stopping: waiting for the active run');
  await scheduler.whenIdle();
  if (!server) return;
  const closed = once(server, 'close');
  server.close();
  server.closeAllConnections();
  await closed;
}

/** The start of each job's last finished run, from the published warehouse. */
async function readLastStarts(config: Config): Promise<ReadonlyMap<string, Date>> {
  if (!existsSync(warehouseFiles(config.data).published)) return new Map();
  return withPublished(config, async ({ database, files }) => {
    const rows = await database.rows(files.read('schedule/last_starts'));
    return new Map(rows.map(({ job, started_at }) => [String(job), new Date(String(started_at))]));
  });
}

/** The ticker has failed if there is no tick for this long. */
const TICK_TIMEOUT_MS = 5 * MINUTE_MS;

/** Serves the status over HTTP, to GET and HEAD. @throws TidemarkError CONFIG when the address cannot be listened on */
async function openServer(
  { config, context: { clock, log } }: DaemonOptions,
  scheduler: Scheduler,
  tickedAt: () => Date,
): Promise<Server | undefined> {
  const { listen } = config.schedule;
  if (listen === undefined) return undefined;
  const { host, port } = parseListenAddress(listen);
  const readMetrics = createWarehouseMetrics(config, log);
  const pages: Pages = {
    '/healthz': async () => showHealth(scheduler, clock.now().getTime() - tickedAt().getTime() < TICK_TIMEOUT_MS),
    '/metrics': async () => ({
      status: 200,
      type: 'text/plain; version=0.0.4; charset=utf-8',
      body: toPrometheusText([...(await readMetrics()), ...schedulerMetrics(scheduler)]),
    }),
  };
  const server = createServer((request, response) => void answer(request, response, pages, log));
  server.requestTimeout = 10_000;
  server.listen(port, host);
  await once(server, 'listening').catch((cause: NodeJS.ErrnoException) => {
    throw new TidemarkError('CONFIG', `schedule.listen: cannot listen on ${host}:${port}: ${cause.code}`, { cause });
  });
  // A connection that cannot be accepted, such as without a free file descriptor, must not end the scheduler.
  server.on('error', (error) => log.error(`a connection failed: ${errorMessage(error)}`));
  log.info(`serving /healthz and /metrics at http://${listen.includes(':') ? listen : `127.0.0.1:${listen}`}`);
  return server;
}

interface StatusPage {
  readonly status: number;
  /** @default plain text */
  readonly type?: string;
  readonly body: string;
}

/** Renders the page of each path. */
type Pages = Readonly<Record<string, () => Promise<StatusPage>>>;

/** Whether the scheduler works; whether jobs succeed is the subject of the metrics and the heartbeat. */
function showHealth(scheduler: Scheduler, isAlive: boolean): StatusPage {
  const body = {
    status: isAlive ? 'ok' : 'dead',
    running: scheduler.counts().flatMap(({ job, running }) => (running ? [job] : [])),
    next: scheduler.nextRuns(),
  };
  return { status: isAlive ? 200 : 503, type: 'application/json', body: `${JSON.stringify(body, null, 2)}\n` };
}

async function answer(request: IncomingMessage, response: ServerResponse, pages: Pages, log: Log): Promise<void> {
  const { status, type = 'text/plain; charset=utf-8', body } = await renderPage(request, pages, log);
  const headers = { 'content-type': type, 'content-length': Buffer.byteLength(body), 'cache-control': 'no-store' };
  response.writeHead(status, status === 405 ? { ...headers, allow: 'GET, HEAD' } : headers);
  response.end(request.method === 'HEAD' ? undefined : body);
}

async function renderPage({ url = '/', method }: IncomingMessage, pages: Pages, log: Log): Promise<StatusPage> {
  const [path = ''] = url.split('?', 1);
  const render = Object.hasOwn(pages, path) ? pages[path] : undefined;
  if (!render) return { status: 404, body: `not found; the pages are ${Object.keys(pages).join(' and ')}\n` };
  if (method !== 'GET' && method !== 'HEAD') return { status: 405, body: 'only GET and HEAD are allowed\n' };
  try {
    return await render();
  } catch (error) {
    log.warn(`${path}: ${formatError(error)}`);
    return { status: 500, body: 'internal error; see the log\n' };
  }
}

/** `127.0.0.1:9464`, `[::1]:9464`, `:9464` (every interface) or `9464` (loopback). @throws TidemarkError CONFIG */
export function parseListenAddress(text: string): { readonly host: string; readonly port: number } {
  const match = /^(?:(?<host>\[[0-9a-f:.]+\]|[^:\s/]*)(?<colon>:))?(?<port>\d{1,5})$/iu.exec(text.trim());
  const port = Number(match?.groups?.port);
  if (!match || port > 65_535) {
    throw new TidemarkError('CONFIG', `tidemark.yaml: schedule.listen: ${text} is not an address`, {
      hint: 'for example 127.0.0.1:9464',
    });
  }
  if (!match.groups?.colon) return { host: '127.0.0.1', port };
  return { host: match.groups.host?.replace(/^\[|\]$/gu, '') || '::', port };
}
