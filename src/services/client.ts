import { type Config, credentialKey, type Target } from '../config/config.ts';
import { linkSignals } from '../core/abort.ts';
import { DEFAULT_TIMEOUTS, type HttpTimeouts, type ServiceContext } from '../core/context.ts';
import { type CallOptions, HttpClient, type HttpClientOptions, type ResponseReader } from '../http/client.ts';
import { catchFailure, ServiceError } from '../http/errors.ts';
import { createTargetLimiter, type TargetLimiter } from '../http/rate-limiter.ts';
import { createRequestMetrics } from '../http/response-body.ts';
import { createTransport } from '../http/transport.ts';
import { buildRequest, collectSecrets, describePermission, type RequestParts } from './build-request.ts';
import { type BodyPreview, type DownloadContext, type DownloadResult, downloadToFile } from './download.ts';
import type { Args, Operation, OperationArgs, QueryPairs } from './operation.ts';
import { PageReader, withRequiredSize } from './pagination.ts';
import type { ResponsePage, ServiceResponse } from './response.ts';
import { assertPresent, MAX_PAST_MS, readFailure, readResponse } from './response.ts';
import { requireSubject, validateRequest } from './validate-request.ts';

export interface ServiceClientOptions extends Omit<HttpClientOptions, 'target' | 'transport' | 'timeouts'> {
  readonly timeouts?: Partial<HttpTimeouts>;
  /** Source of HTTPS_PROXY, HTTP_PROXY and NO_PROXY. @default no proxy */
  readonly env?: Readonly<Record<string, string | undefined>>;
}

type SendOptions = Omit<CallOptions, 'attemptMs'>;

export interface RequestOptions extends Partial<SendOptions> {
  /** Request body, in the form of the API documents. */
  readonly body?: unknown;
  /** Use the `writeToken` of the target, if it has one. */
  readonly write?: boolean;
  /** Send an update also if its subject does not exist, and so create it. @default refuse (`subjectRead` of the operation) */
  readonly create?: boolean;
  /** What an earlier response said of its version. A service that still has it may answer 304, without a body. */
  readonly conditions?: Conditions;
  /** Asks for a body without compression: where a compressed one is cut, nothing tells. @default any */
  readonly uncompressed?: boolean;
  /** How old an answer may be, in milliseconds, where the service or a cache says so. @default ten minutes */
  readonly maxPastMs?: number;
  /** Rows are rewritten before they are loaded: a name that an object has twice is read once. @default such an answer is refused */
  readonly mayRepeatNames?: boolean;
}

/** Sent as `If-None-Match` and `If-Modified-Since`. */
export interface Conditions {
  readonly etag?: string;
  readonly modified?: string;
}

export interface DownloadOptions extends RequestOptions {
  /** Checks the start of the body before anything is written. @returns why the body is not acceptable */
  readonly validatePreview?: (preview: BodyPreview) => string | undefined;
}

/** Calls the operations of one target. Every method throws ServiceError, or TidemarkError USAGE before anything is sent. */
export interface ServiceClient {
  readonly target: Target;
  /**
   * An empty LIST returns `{"data":{"keys":[]}}`; an autoscaler that is not alive returns status 503; only a request with
   * `conditions` returns 304.
   */
  call<O extends Operation>(operation: O, args?: OperationArgs<O>, options?: RequestOptions): Promise<ServiceResponse>;
  /** Every page of a list. A list without pagination is one page. */
  pages<O extends Operation>(
    operation: O,
    args?: OperationArgs<O>,
    options?: RequestOptions,
  ): AsyncGenerator<ResponsePage>;
  /** Streams the body to `file`, which is truncated before each attempt. */
  download<O extends Operation>(
    operation: O,
    args: OperationArgs<O>,
    file: string,
    options?: DownloadOptions,
  ): Promise<DownloadResult>;
  close(): Promise<void>;
}

type Connection = Readonly<ReturnType<typeof connect>>;

function connect(target: Target, options: ServiceClientOptions) {
  const { redactor, log, env = {} } = options;
  for (const token of [target.token, target.writeToken]) if (token) redactor.add(token);
  const timeouts: HttpTimeouts = { ...DEFAULT_TIMEOUTS, ...options.timeouts };
  const { caFile, clientCert, clientKey, limits } = target;
  const { concurrency } = limits;
  const transport = createTransport({ caFile, clientCert, clientKey, concurrency, env, timeouts, redactor });
  const http = new HttpClient({ ...options, target, transport, timeouts });
  return { target, http, transport, redactor, log, timeouts };
}

export function createServiceClient(target: Target, options: ServiceClientOptions): ServiceClient {
  const connection = connect(target, options);
  const { transport, timeouts } = connection;
  const call: ServiceClient['call'] = async (operation, args, requestOptions = {}) => {
    const { read } = prepareRequest(connection, operation, args, requestOptions);
    if (!requestOptions.create) {
      const { body: _body, write: _write, beforeRequest: _before, ...readOptions } = requestOptions;
      await requireSubject(operation, (args ?? {}) as Args, (subject, own) => call(subject, own, readOptions));
    }
    return read();
  };

  return {
    target,
    call,
    pages: (operation, args, requestOptions) => fetchPages(connection, operation, args, requestOptions),
    download: async (operation, args, file, { validatePreview = () => undefined, ...requestOptions } = {}) => {
      const limits = { validatePreview, maxBytes: timeouts.maxDownloadBytes };
      return prepareRequest(connection, operation, args, requestOptions).download(file, limits);
    },
    close: () => transport.close(),
  };
}

/** Validates the arguments, and makes their secrets known to the redactor. The result sends the request. */
function prepareRequest(
  connection: Connection,
  operation: Operation,
  given: object = {},
  options: RequestOptions = {},
) {
  const { body, metrics = createRequestMetrics(), write = false, conditions = {}, ...others } = options;
  const { maxPastMs = MAX_PAST_MS, mayRepeatNames = false, uncompressed, ...sending } = others;
  const { target, redactor, log, timeouts } = connection;
  const args = given as Args;
  collectSecrets(operation, args, body, redactor);
  validateRequest(operation, target, args, body, log);
  const permission = describePermission(operation, target, args);
  const { etag, modified } = conditions;
  const headers = {
    ...(etag && { 'If-None-Match': etag }),
    ...(modified && { 'If-Modified-Since': modified }),
    ...(uncompressed && { 'Accept-Encoding': 'identity' }),
  };
  const isConditional = Boolean(etag || modified);
  const maxBytes = timeouts.maxResponseBytes;
  const context = { operation, args, permission, redactor, maxBytes, isConditional, maxPastMs, mayRepeatNames };
  const send = createSender(connection, operation, { args, body, write, headers }, { ...sending, metrics });
  return {
    read: (pageQuery?: QueryPairs): Promise<ServiceResponse> =>
      send((response, progress) => readResponse(response, progress, context), timeouts.responseMs, pageQuery),
    download: (file: string, limits: Pick<DownloadContext, 'validatePreview' | 'maxBytes'>) => {
      const read: ResponseReader<DownloadResult> = async (response, progress) => {
        if (!response.ok) throw await readFailure(response, progress, context);
        const download = await downloadToFile(response, file, { ...progress, ...limits, redactor });
        assertPresent(context, response);
        return download;
      };
      return send(read, timeouts.downloadMs);
    },
  };
}

/** Sends a request to the path of its operation; after a 404 to the other one, if it has one. */
function createSender({ target, http }: Connection, operation: Operation, parts: RequestParts, options: SendOptions) {
  const { path, fallbackPath = path } = operation;
  // docs/services/platform.md#saved-views
  const [first, second] = target.flavor === 'hashicorp' ? [fallbackPath, path] : [path, fallbackPath];
  return async <T>(read: ResponseReader<T>, attemptMs: number, pageQuery: QueryPairs = []): Promise<T> => {
    const sendTo = (chosen: string) => {
      const request = buildRequest({ ...operation, path: chosen }, target, { ...parts, pageQuery });
      return http.send(request, read, { ...options, attemptMs });
    };
    const takeAbsence = catchFailure(({ failure }) => first !== second && failure === 'not-found');
    const answer = await sendTo(first).catch(takeAbsence);
    return answer instanceof ServiceError ? sendTo(second) : answer;
  };
}

async function* fetchPages(
  connection: Connection,
  operation: Operation,
  args: object = {},
  requestOptions: RequestOptions = {},
): AsyncGenerator<ResponsePage> {
  const { target, log } = connection;
  // Aborts the prefetched pages when the caller stops early.
  const { signal, abort, release } = linkSignals(requestOptions.signal);
  try {
    const sized = withRequiredSize(operation, target, args as Args);
    const { read } = prepareRequest(connection, operation, sized, { ...requestOptions, signal });
    yield* new PageReader({ operation, target, args: sized, log }, read).read();
  } finally {
    abort();
    release();
  }
}

/** A client whose calls have these options unless they give their own. */
export function withRequestOptions(client: ServiceClient, defaults: RequestOptions): ServiceClient {
  return {
    ...client,
    call: (operation, args, options) => client.call(operation, args, { ...defaults, ...options }),
    pages: (operation, args, options) => client.pages(operation, args, { ...defaults, ...options }),
    download: (operation, args, file, options) => client.download(operation, args, file, { ...defaults, ...options }),
  };
}

/** The clients of a run: one per target, created on first use. Targets with the same credential share a rate limiter. */
export class ServiceClients {
  readonly #options: Omit<ServiceClientOptions, 'limiter'>;
  readonly #clients = new Map<string, ServiceClient>();
  readonly #limiters = new Map<string, TargetLimiter>();

  /** `signal` aborts every wait and transfer. */
  constructor({ maxWait }: Pick<Config, 'maxWait'>, context: ServiceContext, signal: AbortSignal) {
    const { redactor, log, env, timeouts } = context;
    this.#options = {
      redactor,
      // Arguments come from responses of the service: the user cannot act on a warning about them.
      log: { ...log, warn: () => {} },
      signal,
      env,
      maxWaitMs: maxWait * 1000,
      ...(timeouts && { timeouts }),
    };
  }

  get(target: Target): ServiceClient {
    const key = credentialKey(target);
    const limiter = this.#limiters.get(key) ?? createTargetLimiter(target);
    this.#limiters.set(key, limiter);
    const client = this.#clients.get(target.name) ?? createServiceClient(target, { ...this.#options, limiter });
    this.#clients.set(target.name, client);
    return client;
  }

  /** Masks the secrets of the user in what a service says. */
  mask(text: string): string {
    return this.#options.redactor.row(text);
  }

  /** Closes the connections of a target that needs no more requests. */
  async release(target: string): Promise<void> {
    const client = this.#clients.get(target);
    this.#clients.delete(target);
    await client?.close();
  }

  async close(): Promise<void> {
    await Promise.all([...this.#clients.keys()].map((target) => this.release(target)));
  }
}
