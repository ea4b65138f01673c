import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { formatError, TidemarkError } from '../core/errors.ts';
import type { Log } from '../core/log.ts';

export interface ListenAddress {
  readonly host: string;
  readonly port: number;
}

/** `127.0.0.1:9464`, `[::1]:9464`, `:9464` (every interface) or `9464` (loopback). @throws TidemarkError CONFIG */
export function parseListenAddress(text: string): ListenAddress {
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

export interface StatusPage {
  readonly status: number;
  readonly type: string;
  readonly body: string;
}

export interface StatusServerOptions {
  readonly listen: ListenAddress;
  /** Renders the page of each path. */
  readonly pages: Readonly<Record<string, () => Promise<StatusPage>>>;
  readonly log: Log;
}

/** A server in operation, with the port that it listens on. */
export interface StatusServer {
  readonly port: number;
  close(): Promise<void>;
}

/** Serves a few pages over HTTP, to GET and HEAD. @throws TidemarkError CONFIG when the address cannot be listened on */
export async function serveStatus({ listen, pages, log }: StatusServerOptions): Promise<StatusServer> {
  const server = createServer((request, response) => {
    renderPage(request, pages, log).then((page) => send(request, response, page));
  });
  server.requestTimeout = 10_000;
  await startListening(server, listen);
  const { port } = server.address() as AddressInfo;
  return {
    port,
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function startListening(server: Server, { host, port }: ListenAddress): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      const message = `schedule.listen: cannot listen on ${host}:${port}: ${error.code}`;
      reject(new TidemarkError('CONFIG', message, { cause: error }));
    });
    server.listen(port, host, resolve);
  });
}

async function renderPage(
  request: IncomingMessage,
  pages: StatusServerOptions['pages'],
  log: Log,
): Promise<StatusPage> {
  const path = (request.url ?? '/').split('?', 1)[0] ?? '/';
  const render = Object.hasOwn(pages, path) ? pages[path] : undefined;
  if (!render) return textPage(404, `not found; the pages are ${Object.keys(pages).join(' and ')}\n`);
  if (request.method !== 'GET' && request.method !== 'HEAD') return textPage(405, 'only GET and HEAD are allowed\n');
  try {
    return await render();
  } catch (error) {
    log.warn(`${path}: ${formatError(error)}`);
    return textPage(500, 'internal error; see the log\n');
  }
}

function textPage(status: number, body: string): StatusPage {
  return { status, type: 'text/plain; charset=utf-8', body };
}

function send(request: IncomingMessage, response: ServerResponse, { status, type, body }: StatusPage): void {
  const headers = { 'content-type': type, 'content-length': Buffer.byteLength(body), 'cache-control': 'no-store' };
  response.writeHead(status, status === 405 ? { ...headers, allow: 'GET, HEAD' } : headers);
  response.end(request.method === 'HEAD' ? undefined : body);
}
