import { readFileSync } from 'node:fs';
import { Agent, type Dispatcher, EnvHttpProxyAgent, type Pool, fetch as undiciFetch } from 'undici';
import { TidemarkError } from '../core/errors.ts';
import type { Redactor } from '../core/redact/redactor.ts';
import type { HttpTimeouts } from './timeouts.ts';
import { createPatchedPool } from './undici-workarounds.ts';

export interface HttpTransportOptions {
  readonly caFile?: string | undefined;
  readonly clientCert?: string | undefined;
  readonly clientKey?: string | undefined;
  readonly concurrency: number;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly timeouts: HttpTimeouts;
  /** Receives the proxy's password. */
  readonly redactor: Redactor;
}

export interface Transport {
  /** `fetch` over the target's own connections; for ky. A signal belongs into `init`: a `Request` refers to it weakly. */
  readonly fetch: typeof globalThis.fetch;
  close(): Promise<void>;
}

/** Connections with the target's certificates, connect timeout and proxy. TLS is always verified. */
export function createTransport(options: HttpTransportOptions): Transport {
  const dispatcher = createDispatcher(options);
  return {
    fetch: (input, init) => send(input instanceof Request ? input : new Request(input, init), init?.signal, dispatcher),
    close: () => dispatcher.destroy(),
  };
}

function createDispatcher({ env, timeouts, concurrency, redactor, ...files }: HttpTransportOptions): Dispatcher {
  const tls = {
    rejectUnauthorized: true, // whatever NODE_TLS_REJECT_UNAUTHORIZED says
    ...(files.caFile && { ca: readPem(files.caFile, 'caFile') }),
    ...(files.clientCert && { cert: readPem(files.clientCert, 'clientCert') }),
    ...(files.clientKey && { key: readPem(files.clientKey, 'clientKey') }),
  };
  const shared = {
    // Off: `Deadline` has these timeouts.
    headersTimeout: 0,
    bodyTimeout: 0,
    connections: concurrency,
    // Shorter than the idle timeout of usual servers, so that no request is sent into a connection that the server closes.
    keepAliveTimeout: 4000,
    connect: { ...tls, timeout: timeouts.connectMs },
    factory: (origin: string | URL, options: Pool.Options) =>
      createPatchedPool(timeouts.connectMs * 2, origin, options),
  };
  const httpProxy = parseProxy('HTTP_PROXY', env.HTTP_PROXY ?? env.http_proxy, redactor);
  const httpsProxy = parseProxy('HTTPS_PROXY', env.HTTPS_PROXY ?? env.https_proxy, redactor);
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

/** The URL of a proxy, or ''. Without a scheme it is an HTTP proxy, as in curl. It may contain a password, so no message shows it. */
function parseProxy(name: string, value: string | undefined, redactor: Redactor): string {
  if (value === undefined || value === '') return '';
  const url = value.includes('://') ? value : `http://${value}`;
  try {
    const { username, password } = new URL(url);
    decodeURIComponent(username);
    redactor.add(decodeURIComponent(password));
    return url;
  } catch {
    throw new TidemarkError('CONFIG', `${name} in the environment is not a URL`, {
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

/** ky passes a `Request` of Node's own fetch, which the undici package does not accept: it gets the URL and the parts. */
async function send(
  request: Request,
  signal: AbortSignal | null | undefined,
  dispatcher: Dispatcher,
): Promise<Response> {
  const body = request.body === null ? undefined : await request.text();
  const response = await undiciFetch(request.url, {
    method: request.method,
    headers: [...request.headers],
    redirect: 'manual',
    ...(signal && { signal }),
    dispatcher,
    ...(body !== undefined && { body }),
  });
  // Both are the Response of undici, in two versions; ky only reads it.
  return response as unknown as Response;
}
