import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, TidemarkError } from '../core/errors.ts';
import type { Log } from '../core/log.ts';
import type { ListenAddress } from './listen.ts';

/** An answer of the status server. */
export interface Page {
  readonly status: number;
  readonly type: string;
  readonly body: string;
}

export interface StatusServerOptions {
  readonly listen: ListenAddress;
  /** Path → what it answers. */
  readonly pages: Readonly<Record<string, () => Promise<Page>>>;
  readonly log: Log;
}

/**
 * Serves a few pages over HTTP, to GET and HEAD.
 * @throws TidemarkError CONFIG when the address cannot be listened on.
 */
export async function serveStatus({ listen, pages, log }: StatusServerOptions) {
  const server = createServer((request, response) => {
    answer(request, pages, log).then((page) => send(request, response, page));
  });
  server.requestTimeout = 10_000;
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      const place = `${listen.host}:${listen.port}`;
      reject(
        new TidemarkError('CONFIG', `schedule.listen: cannot listen on ${place}: ${error.code}`, { cause: error }),
      );
    });
    server.listen(listen.port, listen.host, resolve);
  });
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

async function answer(request: IncomingMessage, pages: StatusServerOptions['pages'], log: Log): Promise<Page> {
  const path = (request.url ?? '/').split('?', 1)[0] ?? '/';
  const page = pages[path];
  if (!page) return text(404, `there is ${Object.keys(pages).join(' and ')}\n`);
  if (request.method !== 'GET' && request.method !== 'HEAD') return text(405, 'GET or HEAD\n');
  try {
    return await page();
  } catch (error) {
    log.warn(`${path}: ${describe(error)}`);
    return text(500, 'see the log\n');
  }
}

function text(status: number, body: string): Page {
  return { status, type: 'text/plain; charset=utf-8', body };
}

function send(request: IncomingMessage, response: ServerResponse, { status, type, body }: Page): void {
  const headers = { 'content-type': type, 'content-length': Buffer.byteLength(body), 'cache-control': 'no-store' };
  response.writeHead(status, status === 405 ? { ...headers, allow: 'GET, HEAD' } : headers);
  response.end(request.method === 'HEAD' ? undefined : body);
}
