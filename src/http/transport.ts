import { AssertionError } from 'node:assert';
import { isIPv6, type Socket } from 'node:net';
import { Agent, buildConnector, type Dispatcher, EnvHttpProxyAgent, Pool, fetch as undiciFetch } from 'undici';
import type { Target } from '../config/config.ts';
import type { HttpTimeouts } from '../core/context.ts';
import { TidemarkError } from '../core/errors.ts';
import { readNamedFile } from '../core/fs.ts';
import type { Redactor } from '../core/redact/redactor.ts';
import { AttemptError, ProxyError } from './errors.ts';

interface HttpTransportOptions extends Partial<Pick<Target, 'caFile' | 'clientCert' | 'clientKey'>> {
  /** The setting that names `caFile`, for messages. @default 'caFile' */
  readonly caSetting?: string;
  readonly concurrency: number;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly timeouts: HttpTimeouts;
  /** Receives the proxy's password. */
  readonly redactor: Redactor;
}

interface TransportInit extends Omit<RequestInit, 'body'> {
  /** A stream is sent as it is read. */
  readonly body?: string | AsyncIterable<Uint8Array> | undefined;
  /** Whether it gets a connection of its own, which no server can be about to close. @default a kept one, where there is one */
  readonly isFresh?: boolean | undefined;
}

export interface Transport {
  /** `fetch` over the target's own connections, which follows no redirect. A `Request` refers weakly to its signal: `init` has that. */
  fetch(input: string | URL | Request, init?: TransportInit): Promise<Response>;
  close(): Promise<void>;
}

/** Connections with the target's certificates, connect timeout and proxy. TLS is always verified. */
export function createTransport(options: HttpTransportOptions): Transport {
  const tls = readTls(options);
  const kept = createDispatcher(options, tls);
  let fresh: Dispatcher | undefined; // most targets need none
  const useFresh = () => {
    fresh ??= createDispatcher(options, tls, { pipelining: 0 }); // which keeps no connection
    return fresh;
  };
  return {
    fetch: async (input, { signal = null, body: given, isFresh = false, ...init } = {}) => {
      // ky gives a request of Node's own fetch, which the undici package does not accept: it gets the URL and the parts.
      const request = input instanceof Request ? input : new Request(input, init);
      const { method, url } = request;
      const body = given ?? (request.body === null ? undefined : await request.text());
      const response = await undiciFetch(url, {
        method,
        headers: [...request.headers] as [string, string][],
        ...(body !== undefined && { body, duplex: 'half' }),
        redirect: 'manual',
        signal,
        dispatcher: sendOnce(isFresh ? useFresh() : kept),
      });
      return response as unknown as Response; // both are the Response of undici, in two versions
    },
    close: async () => void (await Promise.all([kept.destroy(), fresh?.destroy()])),
  };
}

/** For one `fetch`, which sends again what is answered with 421: a change that was made all the same would be made twice. */
function sendOnce(dispatcher: Dispatcher): Dispatcher {
  let isSent = false;
  const dispatch: Dispatcher['dispatch'] = (...call) => {
    if (isSent) throw new AttemptError(MISDIRECTED);
    isSent = true;
    return dispatcher.dispatch(...call);
  };
  return { dispatch } as Dispatcher;
}

const MISDIRECTED = {
  failure: 'invalid',
  status: 421,
  message: 'the server says that it does not answer for this host',
  hint: 'check `url` of this target, and what is in front of the service',
  isForeign: true,
} as const;

function readTls({ caFile, caSetting = 'caFile', clientCert, clientKey }: HttpTransportOptions) {
  return {
    rejectUnauthorized: true, // whatever NODE_TLS_REJECT_UNAUTHORIZED says
    ...(caFile && { ca: readPem(caFile, caSetting) }),
    ...(clientCert && { cert: readPem(clientCert, 'clientCert') }),
    ...(clientKey && { key: readPem(clientKey, 'clientKey') }),
  };
}

function createDispatcher(
  { env, timeouts, concurrency, redactor }: HttpTransportOptions,
  tls: ReturnType<typeof readTls>,
  more: Pick<Pool.Options, 'pipelining'> = {},
): Dispatcher {
  const shared = {
    // Off: `startDeadline` has these timeouts.
    headersTimeout: 0,
    bodyTimeout: 0,
    connections: concurrency,
    // Shorter than the idle timeout of usual servers, so that no request is sent into a connection that the server closes.
    keepAliveTimeout: 4000,
    ...more,
    connect: { ...tls, timeout: timeouts.connectMs },
    factory: (origin: string | URL, options: Pool.Options) =>
      createPatchedPool(timeouts.connectMs * CONNECTS_PER_TUNNEL, origin, options),
  };
  const httpProxy = parseProxy('HTTP_PROXY', env.HTTP_PROXY ?? env.http_proxy, redactor);
  const httpsProxy = parseProxy('HTTPS_PROXY', env.HTTPS_PROXY ?? env.https_proxy, redactor);
  if (httpProxy === '' && httpsProxy === '') return new Agent(shared);
  return new EnvHttpProxyAgent({
    ...shared,
    requestTls: tls,
    proxyTls: { rejectUnauthorized: true, timeout: timeouts.connectMs },
    clientFactory: createProxyPool,
    httpProxy,
    httpsProxy,
    noProxy: (env.NO_PROXY ?? env.no_proxy ?? '')
      .split(/[\s,]+/u)
      .map(toUrlHost)
      .join(','),
  });
}

/** An IPv6 address as a URL has it, with its port if it has brackets: undici would take its last group for a port. */
function toUrlHost(name: string): string {
  const url = `tcp://${isIPv6(name) ? `[${name}]` : name}`;
  return url.includes('[') && URL.canParse(url) ? new URL(url).host : name;
}

/** The URL of a proxy, or ''. Without a scheme it is an HTTP proxy, as in curl. It may contain a password, so no message shows it. */
function parseProxy(name: string, value: string | undefined, redactor: Redactor): string {
  if (value === undefined || value === '') return '';
  const url = value.includes('://') ? value : `http://${value}`;
  const refuse = (what: string): never => {
    throw new TidemarkError('CONFIG', `${name} in the environment is not ${what}`, {
      hint: 'give one such as http://user:password@proxy.example:3128, its password encoded for URLs',
    });
  };
  // undici throws for other protocols, but for SOCKS 5, over which its defects are not corrected.
  if (!/^https?:/iu.test(url)) return refuse('an HTTP proxy');
  try {
    const { username, password } = new URL(url);
    decodeURIComponent(username);
    redactor.add(decodeURIComponent(password));
    return url;
  } catch {
    return refuse('a URL');
  }
}

/** A bundle of all certificate authorities has about 250 KiB. */
const MAX_PEM_KIBIBYTES = 16_384;

/** @throws TidemarkError CONFIG that names the field and the file */
export function readPem(file: string, field: string): string {
  const [name, hint] = [`${field}: ${file}`, 'name a readable PEM file'];
  return readNamedFile(file, { code: 'CONFIG', name, hint, maxKibibytes: MAX_PEM_KIBIBYTES, isLatin1: true });
}

/** A tunnel through a proxy takes so many times as long as one connection, at most. */
export const CONNECTS_PER_TUNNEL = 2;

/** The connections to a proxy itself, each of which becomes a tunnel. */
function createProxyPool(proxy: URL, options: Pool.Options): Pool {
  const open = options.connect as buildConnector.connector;
  return new Pool(proxy, { ...options, connect: (to, callback) => open(to, withProxyError('to the proxy', callback)) });
}

function withProxyError(place: ProxyError['place'], callback: buildConnector.Callback): buildConnector.Callback {
  return (...result) => (result[0] ? callback(new ProxyError(place, result[0]), null) : callback(...result));
}

/** A pool of connections with defects of undici 7 corrected: see `deferSocketEnd` and `withConnectTimeout`. */
function createPatchedPool(connectMs: number, origin: string | URL, options: Pool.Options): Pool {
  const { connect } = options;
  const isProxied = typeof connect === 'function';
  const open = isProxied ? connect : buildConnector({ ...connect });
  return new Pool(origin, {
    ...options,
    connect: (to, callback) => {
      const done = isProxied ? withProxyError('through the proxy', callback) : callback;
      const opened: buildConnector.Callback = (...result) => {
        const [, socket] = result;
        // What answers before it is asked is the proxy itself; undici would wait for an event that Node has already emitted.
        if (isProxied && socket && socket.readableLength > 0) {
          socket.destroy();
          return void done(new Error('answered before it was asked'), null);
        }
        if (socket) deferSocketEnd(socket);
        done(...result);
      };
      open(to, withConnectTimeout(opened, connectMs));
    },
  });
}

/**
 * Fails once if no connection is made within `connectMs`. undici bounds a direct connection itself, but not one through a
 * proxy: where the proxy hangs up without a response, undici tries again forever.
 */
function withConnectTimeout(callback: buildConnector.Callback, connectMs: number): buildConnector.Callback {
  let isSettled = false;
  const timer = setTimeout(
    () => settle(Object.assign(new Error('no connection in time'), { code: 'UND_ERR_CONNECT_TIMEOUT' }), null),
    connectMs,
  );
  const settle: buildConnector.Callback = (...result) => {
    if (isSettled) result[1]?.destroy();
    else callback(...result);
    isSettled = true;
    clearTimeout(timer);
  };
  return (...result) => (result[0] ? settle(asConnectError(result[0]), null) : settle(...result));
}

/** undici takes an error with this code for the end of an open connection, and connects again. */
function asConnectError(error: Error): Error {
  return 'code' in error && error.code === 'UND_ERR_SOCKET' ? new Error('closed', { cause: error }) : error;
}

const RETRY_MS = 5;

/**
 * Delays the end of a connection until its response is read. undici 7 asserts that its parser is not paused when a connection
 * ends, and throws where nothing can catch it: a service that closes while its body is read slowly would end the process
 * (nodejs/undici issue 5360, fixed in 8, which needs a newer Node). It also takes the end that follows an error for what went wrong:
 * that a server wants a client certificate, TLS 1.3 says only after the handshake.
 */
// until Node 22: undici 8 needs it
function deferSocketEnd(socket: Socket): void {
  const emit = socket.emit.bind(socket);
  // Otherwise Node destroys the socket after the peer's end, whether or not all was read.
  socket.allowHalfOpen = true;
  const end = (): boolean => {
    if (socket.destroyed) return false;
    try {
      emit('end');
    } catch (error) {
      if (!(error instanceof AssertionError)) throw error;
      setTimeout(end, RETRY_MS);
      return true;
    }
    if (!socket.destroyed) socket.end();
    return true;
  };
  let failure: Error | undefined;
  socket.emit = (event: string | symbol, ...args: unknown[]) => {
    if (event === 'error') failure ??= args[0] as Error;
    if (event !== 'end') return emit(event, ...args);
    if (failure === undefined) return end();
    socket.destroy(failure);
    return true;
  };
}
