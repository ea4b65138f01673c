import {
  createServer as createHttpServer,
  type Server as HttpServer,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { Duplex, Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { type FaultHook, READS, Router } from './router.ts';
import type { Flavor, Request, RequestRecord, Response, SandboxChange, Service } from './types.ts';

/** Vault's limit, and more than any request of the API documents needs. */
const MAX_BODY_BYTES = 32 * 1024 * 1024;
/** Streamed lines are sent in chunks of about this size: a million of them neither fill the memory nor go out one by one. */
const CHUNK_CHARS = 65_536;

export interface ServiceServerOptions {
  readonly service: Service;
  readonly flavor: Flavor;
  readonly port: number;
  readonly rate?: number | undefined;
  readonly rateHeaders: boolean;
  readonly latencyMs: number;
  readonly faultHook?: FaultHook | undefined;
  readonly now: () => Date;
  /** Called after each request that changed something. */
  readonly onChange?: ((change: SandboxChange) => void) | undefined;
  /** Every request is appended to it. */
  readonly log: RequestRecord[];
}

/** Serves one service over HTTP on 127.0.0.1. */
export class ServiceServer {
  readonly #options: ServiceServerOptions;
  readonly #router: Router;
  readonly #rateWindow: RateWindow | undefined;
  readonly #http: HttpServer;
  #listening: Awaited<ReturnType<typeof listen>> | undefined;

  constructor(options: ServiceServerOptions) {
    this.#options = options;
    this.#router = new Router(options.service, options.flavor);
    if (options.rate !== undefined) this.#rateWindow = new RateWindow(options.rate, () => performance.now());
    this.#http = createHttpServer((request, response) => {
      this.#respond(request, response).catch((error: unknown) =>
        response.destroy(error instanceof Error ? error : undefined),
      );
    });
  }

  /** `http://127.0.0.1:PORT`, without the base path; still known after `close`. */
  get url(): string {
    return `http://127.0.0.1:${this.#listening?.port}`;
  }

  async listen(): Promise<this> {
    this.#listening = await listen(this.#http, this.#options.port);
    return this;
  }

  async close(): Promise<void> {
    await this.#listening?.close();
  }

  /** The response to a request that comes from the sandbox itself. */
  handle(
    request: Pick<Request, 'method' | 'path' | 'body' | 'headers' | 'now'> & { readonly query: string },
  ): Response {
    const complete = { ...request, params: {}, query: new URLSearchParams(request.query), origin: this.url };
    return this.#router.route(complete, false);
  }

  async #respond(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const { service, now, log, faultHook, latencyMs } = this.#options;
    const [path = '/', ...queryParts] = (incoming.url ?? '/').split('?');
    const query = queryParts.join('?');
    const body = await readBody(incoming);
    const request: Request = {
      method: incoming.method === LIST_ALIAS ? 'LIST' : (incoming.method ?? 'GET'),
      path,
      params: {},
      query: new URLSearchParams(query),
      headers: Object.fromEntries(Object.entries(incoming.headers).map(([name, value]) => [name, String(value)])),
      body: body ?? '',
      origin: this.url,
      now: now(),
    };
    const record: RequestRecord = { ...request, kind: service.kind, query, status: 0 };
    log.push(record);
    const allowance = this.#rateWindow?.take();
    const response =
      body === undefined
        ? service.error(413, 'request body too large')
        : this.#router.route(request, allowance?.isAllowed === false, faultHook);
    if (latencyMs > 0) await sleep(latencyMs);
    record.status = response.status;
    if (!READS.has(request.method) && response.status < 300) {
      const { kind, method } = record;
      this.#options.onChange?.({ kind, method, path, query, body: request.body, at: request.now.toISOString() });
    }
    await send(outgoing, response, allowance ? this.#rateHeaders(allowance) : {});
  }

  /**
   * HCP Terraform reports the seconds with fractions, Vault whole ones: docs/services/platform.md#limits. Nomad and
   * Consul report nothing.
   */
  #rateHeaders({ isAllowed, limit, remaining, resetSeconds }: Allowance): Record<string, string> {
    const { service, flavor, rateHeaders } = this.#options;
    const isHashicorp = flavor === 'hashicorp';
    const isSecrets = service.kind === 'secrets';
    if (!rateHeaders || (isHashicorp && !isSecrets && service.kind !== 'platform')) return {};
    const wholeSeconds = String(Math.ceil(resetSeconds));
    return {
      'x-ratelimit-limit': String(limit),
      'x-ratelimit-remaining': String(remaining),
      'x-ratelimit-reset': isHashicorp && isSecrets ? wholeSeconds : resetSeconds.toFixed(3),
      ...(isSecrets && !isAllowed ? { 'retry-after': wholeSeconds } : {}),
    };
  }
}

/** Undefined for a body beyond the limit, which is read to its end nevertheless. */
async function readBody(incoming: IncomingMessage): Promise<string | undefined> {
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const part of incoming as AsyncIterable<Buffer>) {
    bytes += part.length;
    if (bytes <= MAX_BODY_BYTES) parts.push(part);
  }
  return bytes <= MAX_BODY_BYTES ? Buffer.concat(parts).toString('utf8') : undefined;
}

function* joinLines(lines: Iterable<string>): Generator<string> {
  let chunk = '';
  for (const line of lines) {
    chunk += line;
    if (chunk.length >= CHUNK_CHARS) {
      yield chunk;
      chunk = '';
    }
  }
  if (chunk !== '') yield chunk;
}

async function send(outgoing: ServerResponse, response: Response, extraHeaders: Record<string, string>): Promise<void> {
  const headers: Record<string, string | number> = { ...extraHeaders, ...response.headers };
  const body = response.body ?? '';
  if (typeof body !== 'string') {
    outgoing.writeHead(response.status, headers);
    await pipeline(Readable.from(joinLines(body)), outgoing);
    return;
  }
  if (response.status !== 204) headers['content-length'] = Buffer.byteLength(body);
  outgoing.writeHead(response.status, headers);
  outgoing.end(body);
}

type Allowance = ReturnType<RateWindow['take']>;

const WINDOW_MS = 1000;

/**
 * Counts requests in fixed windows that begin with their first request, as HCP Terraform counts its 30 requests per
 * second: docs/services/platform.md#limits. `nowMs` is a monotonic clock: the limit is about real time, not the
 * sandbox's time.
 */
export class RateWindow {
  readonly #limit: number;
  readonly #nowMs: () => number;
  #startedMs = Number.NEGATIVE_INFINITY;
  #used = 0;

  constructor(limit: number, nowMs: () => number) {
    this.#limit = limit;
    this.#nowMs = nowMs;
  }

  /** Counts one request. The seconds until the window ends have fractions. */
  take() {
    const now = this.#nowMs();
    if (now - this.#startedMs >= WINDOW_MS) {
      this.#startedMs = now;
      this.#used = 0;
    }
    this.#used++;
    return {
      isAllowed: this.#used <= this.#limit,
      limit: this.#limit,
      remaining: Math.max(0, this.#limit - this.#used),
      resetSeconds: (this.#startedMs + WINDOW_MS - now) / 1000,
    };
  }
}

/** The method that replaces `LIST`, which has as many letters, before Node's HTTP parser, which refuses what it does not know. */
export const LIST_ALIAS = 'LINK';
const LIST = Buffer.from('LIST ');

/** Listens for a server, which gets `LIST` as its alias; not in requests that are sent before the last one is read. */
export async function listen(http: HttpServer, port = 0) {
  const streams = new Set<Duplex>();
  const expectRequest = new WeakMap<object, () => void>();
  http.on('request', (request: IncomingMessage) => request.once('close', () => expectRequest.get(request.socket)?.()));
  const server = createServer((socket) => {
    let isBeginning = true;
    let held: Buffer = Buffer.alloc(0);
    const stream = toStream(socket, (packet) => {
      if (!isBeginning) return packet;
      const start = Buffer.concat([held, packet]);
      isBeginning = start.length < LIST.length;
      held = isBeginning ? start : Buffer.alloc(0);
      if (start.subarray(0, LIST.length).equals(LIST)) start.write(LIST_ALIAS);
      return isBeginning ? Buffer.alloc(0) : start;
    });
    expectRequest.set(stream, () => {
      isBeginning = true;
    });
    streams.add(stream.once('close', () => streams.delete(stream)));
    http.emit('connection', stream);
  });
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(port, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    /** Ends all connections at once. */
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve()); // also where it is closed already
        for (const stream of streams) stream.destroy();
      }),
  };
}

/** A socket as a stream of what `change` makes of its packets. */
function toStream(socket: Socket, change: (packet: Buffer) => Buffer): Duplex {
  const stream = new Duplex({
    read: () => void socket.resume(),
    write: (chunk, encoding, done) => void socket.write(chunk, encoding, done),
    final: (done) => void socket.end(done),
    destroy: (error, done) => {
      socket.destroy();
      done(error);
    },
  });
  socket.setNoDelay(true);
  socket.on('data', (packet: Buffer) => {
    const bytes = change(packet);
    if (bytes.length > 0 && !stream.push(bytes)) socket.pause();
  });
  socket.on('end', () => stream.push(null));
  socket.on('close', () => stream.destroy());
  socket.on('error', (error) => stream.destroy(error));
  return stream;
}
