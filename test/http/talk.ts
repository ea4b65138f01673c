import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { type AddressInfo, createServer as createNetServer, type Socket } from 'node:net';
import type { Target, TargetKind } from '../../src/config/config.ts';
import { createLog } from '../../src/core/log.ts';
import { createRedactor } from '../../src/core/redact/redactor.ts';
import { TargetLimiter } from '../../src/http/rate-limiter.ts';
import { createRequestMetrics, type RequestMetrics } from '../../src/http/request-metrics.ts';
import { LIST_ALIAS, withListMethod } from '../../src/sandbox/list-method.ts';
import { createServiceClient, type ServiceClient, type ServiceClientOptions } from '../../src/services/client.ts';

export interface Served {
  readonly origin: string;
  readonly requests: {
    readonly method: string;
    readonly url: string;
    readonly headers: IncomingMessage['headers'];
    readonly atMs: number;
  }[];
  close(): Promise<void>;
}

export type Answerer = (request: IncomingMessage, response: ServerResponse, count: number) => void;

/** A server on 127.0.0.1 that records what it is asked; `answer` gets the number of the request, from 1. */
export async function serve(answer: Answerer): Promise<Served> {
  const requests: Served['requests'] = [];
  const http = createServer((request, response) => {
    const method = request.method === LIST_ALIAS ? 'LIST' : (request.method ?? '');
    requests.push({ method, url: request.url ?? '', headers: request.headers, atMs: performance.now() });
    answer(request, response, requests.length);
  });
  // Node's parser refuses LIST: the request line is renamed before it.
  const sockets = new Set<Socket>();
  const server = createNetServer((socket) => {
    sockets.add(socket.on('close', () => sockets.delete(socket)).on('error', () => socket.destroy()));
    http.emit('connection', withListMethod(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
}

export interface Talk {
  readonly service: ServiceClient;
  readonly metrics: RequestMetrics;
  /** Lines on stderr. */
  readonly lines: string[];
  readonly stop: AbortController;
}

export const TOKEN = 'token-that-is-secret';

export function targetFor(kind: TargetKind, origin: string, changes: Partial<Target> = {}): Target {
  return {
    name: kind,
    kind,
    url: `${origin}${kind === 'platform' ? '/api/v2' : '/v1'}`,
    organization: 'acme',
    token: TOKEN,
    tokenHeader: kind === 'secrets' ? 'X-Store-Token' : 'Authorization',
    mounts: { keymgmt: 'keymgmt', mesh: 'mesh' },
    services: [],
    flavor: 'documents',
    explorer: 'csv',
    limits: { concurrency: 8, share: 1 },
    ...changes,
  };
}

/** A service with waits of milliseconds, and without the platform's documented rate. */
export function talk(target: Target, options: Partial<ServiceClientOptions> = {}): Talk {
  const redactor = createRedactor();
  redactor.add(TOKEN);
  const lines: string[] = [];
  const stop = new AbortController();
  const service = createServiceClient(target, {
    redactor,
    log: createLog({ write: (text) => lines.push(text), redactor, quiet: false }),
    signal: stop.signal,
    maxWaitMs: 60_000,
    limiter: new TargetLimiter({ share: 1 }),
    ...options,
    timeouts: { backoffMs: 2, maxBackoffMs: 4, attempts: 4, ...options.timeouts },
  });
  return { service, metrics: createRequestMetrics(), lines, stop };
}
