import { readFileSync } from 'node:fs';
import { Agent, type Dispatcher, EnvHttpProxyAgent, type Pool, fetch as undiciFetch } from 'undici';
import { TidemarkError } from '../core/errors.ts';
import type { Redactor } from '../core/redact.ts';
import { poolThatWaits } from './socket-end.ts';
import type { Timing } from './timing.ts';

export interface TransportOptions {
  readonly caFile?: string | undefined;
  readonly clientCert?: string | undefined;
  readonly clientKey?: string | undefined;
  readonly concurrency: number;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly timing: Timing;
  /** Learns the proxy's password. */
  readonly redactor: Redactor;
}

export interface Transport {
  /** `fetch` over the target's own connections; for ky. */
  readonly fetch: typeof globalThis.fetch;
  close(): Promise<void>;
}

/** Connections with the target's certificates, timeouts and proxy. TLS is always verified. */
export function createTransport(options: TransportOptions): Transport {
  const dispatcher = createDispatcher(options);
  return {
    fetch: (input, init) => send(input instanceof Request ? input : new Request(input, init), dispatcher),
    close: () => dispatcher.destroy(),
  };
}

function createDispatcher({ env, timing, concurrency, redactor, ...files }: TransportOptions): Dispatcher {
  const tls = {
    rejectUnauthorized: true, // whatever NODE_TLS_REJECT_UNAUTHORIZED says
    ...(files.caFile && { ca: readPem(files.caFile, 'caFile') }),
    ...(files.clientCert && { cert: readPem(files.clientCert, 'clientCert') }),
    ...(files.clientKey && { key: readPem(files.clientKey, 'clientKey') }),
  };
  const shared = {
    // Off: deadline.ts keeps these times.
    headersTimeout: 0,
    bodyTimeout: 0,
    connections: concurrency,
    // A server closes idle connections at a time of its own; leaving first avoids sending into a closing one.
    keepAliveTimeout: 4000,
    connect: { ...tls, timeout: timing.connectMs },
    factory: (origin: string | URL, options: Pool.Options) => poolThatWaits(timing.connectMs * 2, origin, options),
  };
  const httpProxy = proxyOf('HTTP_PROXY', env.HTTP_PROXY ?? env.http_proxy, redactor);
  const httpsProxy = proxyOf('HTTPS_PROXY', env.HTTPS_PROXY ?? env.https_proxy, redactor);
  const noProxy = env.NO_PROXY ?? env.no_proxy ?? '';
  if (httpProxy === '' && httpsProxy === '') return new Agent(shared);
  return new EnvHttpProxyAgent({
    ...shared,
    requestTls: tls,
    proxyTls: { rejectUnauthorized: true },
    httpProxy,
    httpsProxy,
    noProxy,
  });
}

/** A proxy's URL, or none; without a scheme it is one of HTTP, as curl has it. It may hold a password: no message shows it. */
function proxyOf(name: string, value: string | undefined, redactor: Redactor): string {
  if (value === undefined || value === '') return '';
  const url = value.includes('://') ? value : `http://${value}`;
  try {
    const { username, password } = new URL(url);
    decodeURIComponent(username);
    redactor.add(decodeURIComponent(password));
    return url;
  } catch {
    throw new TidemarkError('CONFIG', `${name} of the environment is no URL`, {
      hint: 'give one such as http://user:password@proxy.example:3128, its password encoded for URLs',
    });
  }
}

function readPem(file: string, field: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (cause) {
    throw new TidemarkError('CONFIG', `${field}: ${file} cannot be read`, { cause, hint: 'name a readable PEM file' });
  }
}

/** ky hands over a `Request` of Node's own fetch, which the undici package does not take: it gets URL and parts. */
async function send(request: Request, dispatcher: Dispatcher): Promise<Response> {
  const body = request.body === null ? undefined : await request.text();
  const response = await undiciFetch(request.url, {
    method: request.method,
    headers: [...request.headers],
    redirect: 'manual',
    signal: request.signal,
    dispatcher,
    ...(body !== undefined && { body }),
  });
  // The two Response types are the same class of two versions of undici; ky only reads it.
  return response as unknown as Response;
}
