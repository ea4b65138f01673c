import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { LIST_ALIAS, listen } from '../../sandbox/http.ts';
import type { Target, TargetKind } from '../../src/config/config.ts';
import { createLog } from '../../src/core/log.ts';
import { Redactor } from '../../src/core/redact/redactor.ts';
import { createLimiter } from '../../src/http/rate-limiter.ts';
import { createRequestMetrics, type RequestMetrics } from '../../src/http/response-body.ts';
import { createServiceClient, type ServiceClient, type ServiceClientOptions } from '../../src/services/client.ts';

export interface TestServer {
  readonly origin: string;
  readonly requests: {
    readonly method: string;
    readonly url: string;
    readonly headers: IncomingMessage['headers'];
    readonly atMs: number;
  }[];
  close(): Promise<void>;
}

export type Handler = (request: IncomingMessage, response: ServerResponse, count: number) => void;

/** A server on 127.0.0.1 that records its requests. The handler receives the number of the request, from 1. */
export async function startServer(handle: Handler): Promise<TestServer> {
  const requests: TestServer['requests'] = [];
  const http = createServer((request, response) => {
    const method = request.method === LIST_ALIAS ? 'LIST' : (request.method ?? '');
    requests.push({ method, url: request.url ?? '', headers: request.headers, atMs: performance.now() });
    handle(request, response, requests.length);
  });
  const { port, close } = await listen(http);
  return { origin: `http://127.0.0.1:${port}`, requests, close };
}

export interface TestClient {
  readonly client: ServiceClient;
  readonly metrics: RequestMetrics;
  /** Lines on stderr. */
  readonly lines: string[];
  readonly abort: AbortController;
}

export const TOKEN = 'token-that-is-secret';

export function createTarget(kind: TargetKind, origin: string, changes: Partial<Target> = {}): Target {
  return {
    name: kind,
    kind,
    url: `${origin}${kind === 'platform' ? '/api/v2' : '/v1'}`,
    organization: 'acme',
    token: TOKEN,
    tokenHeader: kind === 'secrets' ? 'X-Store-Token' : 'Authorization',
    mounts: { keymgmt: 'keymgmt', mesh: 'mesh' },
    services: [],
    without: [],
    missingColumns: [],
    flavor: 'spec',
    explorer: 'csv',
    limits: { concurrency: 8, share: 1 },
    lag: 30,
    ...changes,
  };
}

/** A client whose waits take milliseconds, without the documented rate of the platform. */
export function createTestClient(target: Target, options: Partial<ServiceClientOptions> = {}): TestClient {
  const redactor = new Redactor();
  redactor.add(TOKEN);
  const lines: string[] = [];
  const abort = new AbortController();
  const client = createServiceClient(target, {
    redactor,
    log: createLog({ write: (text) => lines.push(text), redactor, quiet: false }),
    signal: abort.signal,
    maxWaitMs: 60_000,
    limiter: createLimiter({ share: 1 }),
    ...options,
    timeouts: { backoffMs: 2, maxBackoffMs: 4, attempts: 4, ...options.timeouts },
  });
  return { client, metrics: createRequestMetrics(), lines, abort };
}
