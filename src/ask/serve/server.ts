import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Config } from '../../config/config.ts';
import { readTimeZone } from '../../config/job.ts';
import type { Context } from '../../core/context.ts';
import { errorMessage } from '../../core/errors.ts';
import { overlayRoots } from '../../core/paths.ts';
import type { PlaybookSummary } from '../../tell/findings/guide.ts';
import { createSqlFiles } from '../../warehouse/sql-files.ts';
import { createAnswer } from './answer.ts';
import { loadAssets } from './assets.ts';
import { limitConnections } from './connections.ts';
import { WorkerPool } from './pool.ts';
import type { AccessRules } from './security.ts';
import { createPageTemplates } from './templates.ts';

export interface ServeOptions extends AccessRules {
  readonly config: Config;
  readonly address: string;
  /** 0 selects a free one. */
  readonly port: number;
  readonly workers: number;
  /** What the page of a finding proposes. @default none */
  readonly playbooks?: () => Promise<readonly PlaybookSummary[]>;
}

export interface RunningServer {
  readonly url: string;
  /** Accepts nothing more, lets queries that run end within a few seconds, and ends. */
  close(): Promise<void>;
}

const MAX_WAITING = 1_000;
const MAX_CONNECTIONS = 2_000;
const MAX_CONNECTIONS_PER_ADDRESS = 32;
/** A request whose headers take longer is closed; looked for each second. */
const HEADERS_TIMEOUT_MS = 10_000;
const CHECK_MS = 1_000;
/** The SQL of a page is in its address. */
const MAX_HEADER_BYTES = 64 * 1024;
/** Queries may run for so long when the server ends; a command has 4.5 s after a signal. */
const DRAIN_SECONDS = 3;
const FLUSH_MS = 1_000;

/** Serves pages and query results until `close`. */
export async function startServer(
  options: ServeOptions,
  context: Pick<Context, 'env' | 'log' | 'clock'>,
): Promise<RunningServer> {
  const { config } = options;
  const roots = overlayRoots(config.directory);
  const [templates, assets] = await Promise.all([createPageTemplates(roots), loadAssets(roots)]);
  const { data, directory, sql } = config;
  const pool = new WorkerPool({
    config: { data, directory, sql },
    workers: options.workers,
    maxWaiting: MAX_WAITING,
    env: context.env,
  });
  const site = {
    config,
    pool,
    clock: context.clock,
    files: createSqlFiles(roots),
    templates,
    assets,
    playbooks: options.playbooks ?? (async () => []),
    cancellable: new Map(),
    readTimeZone: () => readTimeZone(config, context.env),
  };
  const limits = {
    maxHeaderSize: MAX_HEADER_BYTES,
    headersTimeout: HEADERS_TIMEOUT_MS,
    connectionsCheckingInterval: CHECK_MS,
  };
  const server = createServer(limits, createAnswer(site, options, context.log));
  server.maxConnections = MAX_CONNECTIONS;
  limitConnections(server, MAX_CONNECTIONS_PER_ADDRESS);
  server.listen(options.port, options.address);
  await once(server, 'listening');
  // A connection that cannot be accepted, such as without a free file descriptor, must not end the server.
  server.on('error', (error) => context.log.error(`a connection failed: ${errorMessage(error)}`));
  return {
    url: serverUrl(server),
    close: () => closeServer(server, pool),
  };
}

/** Accepts nothing more, lets what runs end, and gives answers that are ready time to reach their readers. */
async function closeServer(server: Server, pool: WorkerPool): Promise<void> {
  const closed = new Promise((resolve) => server.close(resolve));
  const idle = setInterval(() => server.closeIdleConnections(), 20);
  await pool.close(DRAIN_SECONDS);
  await Promise.race([closed, sleep(FLUSH_MS, undefined, { ref: false })]);
  clearInterval(idle);
  server.closeAllConnections();
}

function serverUrl(server: Server): string {
  const { address, port, family } = server.address() as AddressInfo;
  return `http://${family === 'IPv6' ? `[${address}]` : address}:${port}/`;
}
