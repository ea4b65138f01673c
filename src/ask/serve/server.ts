import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Config } from '../../config/config.ts';
import { readTimeZone } from '../../config/job.ts';
import type { Context } from '../../core/context.ts';
import { errorMessage } from '../../core/errors.ts';
import { overlayRoots } from '../../core/paths.ts';
import type { PlaybookSummary } from '../../tell/findings/guide.ts';
import { createTemplateEngine } from '../../tell/reports/templates.ts';
import { createSqlFiles } from '../../warehouse/sql-files.ts';
import { queryConfig } from '../query/protocol.ts';
import { createAnswer } from './answer.ts';
import { loadAssets } from './files.ts';
import { WorkerPool } from './pool.ts';
import type { AccessRules } from './security.ts';

interface ServeOptions extends AccessRules {
  readonly config: Config;
  readonly address: string;
  /** 0 selects a free one. */
  readonly port: number;
  readonly workers: number;
  /** What the page of a finding proposes. */
  readonly playbooks: () => Promise<readonly PlaybookSummary[]>;
}

const MAX_CONNECTIONS = 2_000;
const MAX_CONNECTIONS_PER_ADDRESS = 32;
const LIMITS = {
  /** The SQL of a page is in its address. */
  maxHeaderSize: 64 * 1024,
  /** A request whose headers take longer is closed; looked for each second. */
  headersTimeout: 10_000,
  connectionsCheckingInterval: 1_000,
};
/** A new connection asks within this time, also from far away. */
const ASK_MS = 1_000;
const FLUSH_MS = 1_000;

/** Serves pages and query results until `close`. */
export async function startServer(options: ServeOptions, context: Pick<Context, 'env' | 'log' | 'clock'>) {
  const { config, playbooks } = options;
  const roots = overlayRoots(config.directory);
  const pool = new WorkerPool(queryConfig(config), options.workers, context.env);
  const site = {
    config,
    pool,
    clock: context.clock,
    log: context.log,
    files: createSqlFiles(roots),
    templates: createTemplateEngine(roots, 'html'),
    assets: await loadAssets(roots),
    playbooks,
    readTimeZone: () => readTimeZone(config, context.env),
  };
  const server = createServer(LIMITS, createAnswer(site, options));
  server.maxConnections = MAX_CONNECTIONS;
  limitConnections(server);
  server.listen(options.port, options.address);
  await once(server, 'listening');
  // A connection that cannot be accepted, such as without a free file descriptor, must not end the server.
  server.on('error', (error) => context.log.error(`a connection failed: ${errorMessage(error)}`));
  return { url: serverUrl(server), close: () => closeServer(server, pool) };
}

/** Accepts nothing more, lets what runs end, and gives answers that are ready time to reach their readers. */
async function closeServer(server: Server, pool: WorkerPool): Promise<void> {
  const closed = new Promise((resolve) => server.close(resolve));
  const idle = setInterval(() => server.closeIdleConnections(), 20);
  await pool.close();
  await Promise.race([closed, sleep(FLUSH_MS, undefined, { ref: false })]);
  clearInterval(idle);
  server.closeAllConnections();
}

/**
 * Keeps an address from taking every connection. For each beyond its number, the oldest of the address that asks nothing is closed,
 * such as one whose request never ends: a reader who asks is answered, also from the same address. A new one has time to ask: a proxy
 * opens many at once.
 */
function limitConnections(server: Server): void {
  const open = new Map<string, Set<Socket>>();
  const asking = new WeakSet<Socket>();
  server.on('request', ({ socket }, response) => {
    asking.add(socket);
    response.once('close', () => asking.delete(socket));
  });
  server.on('connection', (socket) => {
    const address = socket.remoteAddress ?? '';
    const sockets = open.get(address) ?? new Set();
    open.set(address, sockets.add(socket));
    socket.once('close', () => {
      sockets.delete(socket);
      if (sockets.size === 0 && open.get(address) === sockets) open.delete(address);
    });
    if (sockets.size <= MAX_CONNECTIONS_PER_ADDRESS) return;
    const closeOldest = () => {
      const earlier = [...sockets].slice(0, [...sockets].indexOf(socket) + 1);
      if (sockets.size > MAX_CONNECTIONS_PER_ADDRESS) earlier.find((one) => !asking.has(one))?.destroy();
    };
    // A busy server reads what has come before it judges.
    setTimeout(() => setImmediate(closeOldest), ASK_MS).unref();
  });
}

function serverUrl(server: Server): string {
  const { address, port, family } = server.address() as AddressInfo;
  return `http://${family === 'IPv6' ? `[${address}]` : address}:${port}/`;
}
