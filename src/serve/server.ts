import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Config } from '../config/config.ts';
import type { Context } from '../core/context.ts';
import { errorMessage, TidemarkError } from '../core/errors.ts';
import { BusyError, WorkerPool } from './pool.ts';
import { NotFoundError } from './route.ts';
import { routes } from './routes.ts';
import { type AccessRules, checkAccess, securityHeaders } from './security.ts';

export interface ServeOptions extends AccessRules {
  readonly config: Config;
  readonly address: string;
  /** 0 selects a free one. */
  readonly port: number;
  readonly workers: number;
}

export interface RunningServer {
  readonly url: string;
  readonly pool: WorkerPool;
  close(): Promise<void>;
}

const MAX_WAITING = 1_000;
const MAX_CONNECTIONS = 2_000;
/** Above the time limit of a query: the worker ends it by itself. */
const GRACE_SECONDS = 15;

/** Serves pages and query results until `close`. */
export async function startServer(
  options: ServeOptions,
  context: Pick<Context, 'env' | 'log'>,
): Promise<RunningServer> {
  const pool = new WorkerPool({
    workers: options.workers,
    maxWaiting: MAX_WAITING,
    maxSilentSeconds: options.config.sql.timeout + GRACE_SECONDS,
    env: workerEnvironment(context.env),
  });
  const server = createServer((request, response) => {
    void answer(request, response, options, pool, context);
  });
  server.maxConnections = MAX_CONNECTIONS;
  server.listen(options.port, options.address);
  await once(server, 'listening');
  return {
    url: serverUrl(server),
    pool,
    async close() {
      server.close();
      server.closeAllConnections();
      await pool.close();
    },
  };
}

function serverUrl(server: Server): string {
  const { address, port, family } = server.address() as AddressInfo;
  return `http://${family === 'IPv6' ? `[${address}]` : address}:${port}/`;
}

/** Workers get no token. */
function workerEnvironment(env: Context['env']): Context['env'] {
  const { PATH, HOME, TMPDIR, TEMP, TMP, SystemRoot } = env;
  return Object.fromEntries(Object.entries({ PATH, HOME, TMPDIR, TEMP, TMP, SystemRoot }).filter(([, value]) => value));
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  options: ServeOptions,
  pool: WorkerPool,
  { log }: Pick<Context, 'log'>,
): Promise<void> {
  const nonce = randomBytes(16).toString('base64');
  for (const [name, value] of Object.entries(securityHeaders(nonce))) response.setHeader(name, value);
  const gone = new AbortController();
  response.once('close', () => gone.abort(new TidemarkError('INTERRUPTED', 'the reader is gone')));
  try {
    const refusal = checkAccess(request, options);
    if (refusal) {
      response.writeHead(refusal.status, { 'content-type': 'text/plain; charset=utf-8', ...refusal.headers });
      response.end(`${refusal.message}\n`);
      return;
    }
    const url = new URL(request.url ?? '/', 'http://localhost');
    const route = routes.find(({ pattern }) => pattern.test(url.pathname));
    if (!route) throw new NotFoundError(url.pathname);
    const name = decodeURIComponent(route.pattern.exec(url.pathname)?.[1] ?? '');
    await route.answer({ config: options.config, pool, url, name, response, signal: gone.signal, nonce });
  } catch (error) {
    if (gone.signal.aborted) return;
    if (!(error instanceof TidemarkError || error instanceof URIError))
      log.error(`${request.url}: ${errorMessage(error)}`);
    sendError(response, error);
  }
}

/** Errors are plain text. A response that has begun is broken off, so that its reader sees that it is not whole. */
function sendError(response: ServerResponse, error: unknown): void {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  const hint = error instanceof TidemarkError && error.hint ? `\n${error.hint}` : '';
  const status = errorStatus(error);
  response.writeHead(status, {
    'content-type': 'text/plain; charset=utf-8',
    ...(status === 503 && { 'retry-after': '5' }),
  });
  response.end(`${status === 500 ? 'internal error' : errorMessage(error)}${hint}\n`);
}

function errorStatus(error: unknown): number {
  if (error instanceof NotFoundError) return 404;
  if (error instanceof BusyError) return 503;
  if (error instanceof URIError) return 400;
  if (!(error instanceof TidemarkError)) return 500;
  return error.code === 'UNREACHABLE' ? 503 : 400;
}
