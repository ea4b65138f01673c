import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { type AddressInfo, createServer as createNetServer, type Socket } from 'node:net';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { answerAsk, type Intercept } from './answer.ts';
import { LIST_ALIAS, withListMethod } from './list-method.ts';
import { type Allowance, createRateWindow } from './rate-window.ts';
import { createRouter } from './router.ts';
import type { Ask, Flavor, Reply, RequestRecord, Service } from './types.ts';

/** Vault's bound, and more than any request of the documents needs. */
const MAX_BODY_BYTES = 32 * 1024 * 1024;
/** Rows are sent in pieces of about this size, so that a million of them neither stand in memory nor go out one by one. */
const STREAM_CHARS = 65_536;

export interface HostOptions {
  readonly service: Service;
  readonly flavor: Flavor;
  readonly port: number;
  readonly rate?: number | undefined;
  readonly rateHeaders: boolean;
  readonly latencyMs: number;
  readonly intercept?: Intercept | undefined;
  readonly now: () => Date;
  readonly log: RequestRecord[];
}

export interface Host {
  /** `http://127.0.0.1:PORT`, without the base path. */
  readonly url: string;
  close(): Promise<void>;
}

async function readBody(request: IncomingMessage): Promise<string | undefined> {
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const part of request as AsyncIterable<Buffer>) {
    bytes += part.length;
    if (bytes <= MAX_BODY_BYTES) parts.push(part);
  }
  return bytes <= MAX_BODY_BYTES ? Buffer.concat(parts).toString('utf8') : undefined;
}

function headersOf(request: IncomingMessage): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(request.headers)) {
    if (value !== undefined) headers[name] = Array.isArray(value) ? value.join(', ') : value;
  }
  return headers;
}

function* inPieces(lines: Iterable<string>): Generator<string> {
  let piece = '';
  for (const line of lines) {
    piece += line;
    if (piece.length >= STREAM_CHARS) {
      yield piece;
      piece = '';
    }
  }
  if (piece !== '') yield piece;
}

async function send(response: ServerResponse, reply: Reply, extra: Readonly<Record<string, string>>): Promise<void> {
  const headers: Record<string, string | number> = { ...extra, ...reply.headers };
  const body = reply.body ?? '';
  if (typeof body !== 'string') {
    response.writeHead(reply.status, headers);
    await pipeline(Readable.from(inPieces(body)), response);
    return;
  }
  if (reply.status !== 204) headers['content-length'] = Buffer.byteLength(body);
  response.writeHead(reply.status, headers);
  response.end(body);
}

/** HCP Terraform tells the seconds with fractions, Vault whole ones (live-services.md A2, B1); Nomad and Consul tell nothing. */
function rateHeaders({ service, flavor, rateHeaders }: HostOptions, window: Allowance): Record<string, string> {
  const silent = flavor === 'hashicorp' && service.kind !== 'platform' && service.kind !== 'secrets';
  if (!rateHeaders || silent) return {};
  const wholeSeconds = String(Math.ceil(window.resetSeconds));
  const vault = flavor === 'hashicorp' && service.kind === 'secrets';
  return {
    'x-ratelimit-limit': String(window.limit),
    'x-ratelimit-remaining': String(window.remaining),
    'x-ratelimit-reset': vault ? wholeSeconds : window.resetSeconds.toFixed(3),
    ...(service.kind === 'secrets' && !window.allowed ? { 'retry-after': wholeSeconds } : {}),
  };
}

/** Serves one service over HTTP on 127.0.0.1. */
export async function host(options: HostOptions): Promise<Host> {
  const { service, flavor } = options;
  const route = createRouter(service.routes);
  const takeSlot = options.rate === undefined ? undefined : createRateWindow(options.rate, () => performance.now());
  let url = '';

  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const [path = '/', ...queryParts] = (request.url ?? '/').split('?');
    const query = queryParts.join('?');
    const body = await readBody(request);
    const ask: Ask = {
      method: request.method === LIST_ALIAS ? 'LIST' : (request.method ?? 'GET'),
      path,
      params: {},
      query: new URLSearchParams(query),
      headers: headersOf(request),
      body: body ?? '',
      origin: url,
      now: options.now(),
    };
    const record: RequestRecord = { ...ask, kind: service.kind, query, status: 0 };
    options.log.push(record);
    const window = takeSlot?.();
    const reply =
      body === undefined
        ? service.error(413, 'request body too large')
        : answerAsk({
            service,
            flavor,
            route,
            ask,
            intercept: options.intercept,
            overLimit: window?.allowed === false,
          });
    if (options.latencyMs > 0) await sleep(options.latencyMs);
    record.status = reply.status;
    await send(response, reply, window ? rateHeaders(options, window) : {});
  };

  const http = createHttpServer((request, response) => {
    handle(request, response).catch((error: unknown) => response.destroy(error instanceof Error ? error : undefined));
  });
  const sockets = new Set<Socket>();
  const net = createNetServer((socket) => {
    sockets.add(socket);
    socket.setNoDelay(true);
    socket.on('close', () => sockets.delete(socket));
    http.emit('connection', withListMethod(socket));
  });
  await new Promise<void>((resolve, reject) => {
    net.once('error', reject);
    net.listen(options.port, '127.0.0.1', resolve);
  });
  url = `http://127.0.0.1:${(net.address() as AddressInfo).port}`;
  const close = (): Promise<void> =>
    new Promise((resolve, reject) => {
      net.close((error) => (error ? reject(error) : resolve()));
      for (const socket of sockets) socket.destroy();
    });
  return { url, close };
}
