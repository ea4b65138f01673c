import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { isKnownHost } from '../../ask/serve/security.ts';
import type { Config } from '../../config/config.ts';
import type { Context } from '../../core/context.ts';
import { catchKnown, errorMessage, formatError, TidemarkError } from '../../core/errors.ts';
import type { Log } from '../../core/log.ts';
import { isLoopback } from '../../core/loopback.ts';
import { isPresent } from '../../core/paths.ts';
import { warehouseFiles } from '../../warehouse/publish.ts';
import { withPublished } from '../../warehouse/session.ts';
import { createWarehouseMetrics, schedulerMetrics, toPrometheusText } from './metrics.ts';
import { createScheduler, type Scheduler, type SchedulerOptions } from './scheduler.ts';

export interface DaemonOptions extends Pick<SchedulerOptions, 'jobs' | 'runJob'> {
  readonly config: Config;
  readonly context: Pick<Context, 'clock' | 'log' | 'signal'>;
  /** Called once it is ready, with the port of the status pages if there are any. */
  readonly onReady?: (port: number | undefined) => void;
  /** How often due jobs are looked for. @default 10 seconds */
  readonly tickMs?: number;
}

const TICK_MS = 10_000;

/** Runs need file descriptors too. */
const MAX_CONNECTIONS = 200;
/** A connection that asks nothing is closed after this time; looked for each second. */
const LIMITS = { headersTimeout: 10_000, requestTimeout: 10_000, connectionsCheckingInterval: 1_000 };

/** Starts every job at its time until the signal; then waits for the active run and returns. */
export async function runDaemon(options: DaemonOptions): Promise<void> {
  const { config, context, jobs, runJob, tickMs = TICK_MS } = options;
  const { clock, log, signal } = context;
  const scheduler = createScheduler({
    jobs,
    runJob,
    log,
    signal,
    startedAt: clock.now(),
    lastStarts: await readLastStarts(config).catch((error: unknown) => {
      // The next run publishes a warehouse that is damaged again.
      log.warn(`missed starts are not made up for: ${formatError(catchKnown(error))}`);
      return new Map<string, Date>();
    }),
    catchUpHours: config.schedule.catchUpHours,
  });
  const server = await openServer(options, scheduler);
  for (const { job, next, timezone } of scheduler.nextRuns()) log.info(`${job}: next run ${next} (${timezone})`);
  const tick = () => scheduler.tick(clock.now());
  tick();
  const ticker = setInterval(tick, tickMs);
  options.onReady?.((server?.address() as AddressInfo | undefined)?.port);
  if (!signal.aborted) await once(signal, 'abort');
  clearInterval(ticker);
  log.info('stopping: waiting for the active run');
  await scheduler.whenIdle();
  server?.close();
  server?.closeAllConnections();
}

/** The start of each job's last finished run, from the published warehouse. */
async function readLastStarts(config: Config): Promise<ReadonlyMap<string, Date>> {
  if (!isPresent(warehouseFiles(config.data).published)) return new Map();
  return withPublished(config, async ({ database, files }) => {
    const rows = await database.rows(files.read('schedule/last_starts'));
    return new Map(rows.map(({ job, started_at }) => [String(job), new Date(String(started_at))]));
  });
}

/** Serves the status over HTTP, to GET and HEAD. @throws TidemarkError CONFIG when the address cannot be listened on */
async function openServer({ config, context: { log } }: DaemonOptions, scheduler: Scheduler) {
  const { listen } = config.schedule;
  if (listen === undefined) return undefined;
  const { host, port } = parseListenAddress(listen);
  const readMetrics = createWarehouseMetrics(config, log);
  const renderMetrics = async () => toPrometheusText([...(await readMetrics()), ...schedulerMetrics(scheduler)]);
  const pages: Pages = new Map([
    ['/healthz', { type: 'application/json', render: async () => formatHealth(scheduler) }],
    ['/metrics', { type: 'text/plain; version=0.0.4; charset=utf-8', render: renderMetrics }],
  ]);
  // A page of another site must not read what this machine alone may: its name may lead here.
  const isForeign = (header: string | undefined) => isLoopback(host) && !isKnownHost(header ?? host, []);
  const server = createServer(LIMITS, (request, response) => {
    if (isForeign(request.headers.host)) response.writeHead(421).end('this server does not have that name\n');
    else void answer(request, response, pages, log);
  });
  server.maxConnections = MAX_CONNECTIONS;
  server.listen(port, host);
  await once(server, 'listening').catch((cause: NodeJS.ErrnoException) => {
    throw new TidemarkError('CONFIG', `schedule.listen: cannot listen on ${host}:${port}: ${cause.code}`, { cause });
  });
  // A connection that cannot be accepted, such as without a free file descriptor, must not end the scheduler.
  server.on('error', (error) => log.error(`a connection failed: ${errorMessage(error)}`));
  log.info(`serving /healthz and /metrics at http://${listen.includes(':') ? listen : `127.0.0.1:${listen}`}`);
  return server;
}

/** The content type and the text of each path. */
type Pages = ReadonlyMap<string, { readonly type: string; readonly render: () => Promise<string> }>;

/** That the scheduler works; whether jobs succeed is the subject of the metrics and the heartbeat. */
function formatHealth(scheduler: Scheduler): string {
  const running = scheduler.counts().flatMap((counts) => (counts.running ? [counts.job] : []));
  return `${JSON.stringify({ status: 'ok', running, next: scheduler.nextRuns() }, null, 2)}\n`;
}

async function answer({ url = '/', method = '' }: IncomingMessage, response: ServerResponse, pages: Pages, log: Log) {
  const send = (status: number, body: string, type = 'text/plain; charset=utf-8', more = {}) => {
    const headers = { 'content-type': type, 'content-length': Buffer.byteLength(body), 'cache-control': 'no-store' };
    response.writeHead(status, { ...headers, ...more }).end(method === 'HEAD' ? undefined : body);
  };
  const [path = ''] = url.split('?', 1);
  const page = pages.get(path);
  if (!page) return send(404, `not found; the pages are ${[...pages.keys()].join(' and ')}\n`);
  if (!['GET', 'HEAD'].includes(method)) {
    return send(405, 'only GET and HEAD are allowed\n', undefined, { allow: 'GET, HEAD' });
  }
  try {
    send(200, await page.render(), page.type);
  } catch (error) {
    log.warn(`${path}: ${formatError(error)}`);
    send(500, 'internal error; see the log\n');
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
