import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Target, TargetKind } from '../../src/core/config.ts';
import { createLog } from '../../src/core/log.ts';
import { createRedactor } from '../../src/core/redact.ts';
import { createMeter, type Meter } from '../../src/http/meter.ts';
import { type ConnectOptions, connect, type Service } from '../../src/services/connect.ts';

export interface Served {
  readonly origin: string;
  readonly requests: { readonly method: string; readonly url: string; readonly headers: IncomingMessage['headers']; readonly atMs: number }[];
  close(): Promise<void>;
}

/** A server on 127.0.0.1 that records what it is asked; `answer` gets the number of the request, from 1. */
export async function serve(
  answer: (request: IncomingMessage, response: ServerResponse, count: number) => void,
  create: (listener: RequestListener) => ReturnType<typeof createServer> = createServer,
): Promise<Served> {
  const requests: Served['requests'] = [];
  const server = create((request, response) => {
    requests.push({ method: request.method ?? '', url: request.url ?? '', headers: request.headers, atMs: performance.now() });
    answer(request, response, requests.length);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    origin: `http://127.0.0.1:${port}`,
    requests,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

export interface Talk {
  readonly service: Service;
  readonly meter: Meter;
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

/** A service with waits of milliseconds. */
export function talk(target: Target, options: Partial<ConnectOptions> = {}): Talk {
  const redactor = createRedactor();
  redactor.add(TOKEN);
  const lines: string[] = [];
  const stop = new AbortController();
  const service = connect(target, {
    redactor,
    log: createLog({ write: (text) => lines.push(text), redactor, quiet: false }),
    signal: stop.signal,
    maxWaitMs: 60_000,
    ...options,
    timing: { backoffMs: 2, maxBackoffMs: 4, attempts: 4, ...options.timing },
  });
  return { service, meter: createMeter(), lines, stop };
}
