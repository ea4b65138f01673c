import type { Target } from '../config/config.ts';
import type { Log } from '../core/log.ts';
import type { Redactor } from '../core/redact/redactor.ts';
import { createClient, type ResponseReader } from '../http/client.ts';
import { ServiceError } from '../http/errors.ts';
import { createTargetLimiter, type TargetLimiter } from '../http/rate-limiter.ts';
import { createRequestMetrics, type RequestMetrics } from '../http/request-metrics.ts';
import { DEFAULT_TIMEOUTS, type HttpTimeouts } from '../http/timeouts.ts';
import { createTransport } from '../http/transport.ts';
import { buildRequest } from './build-request.ts';
import { type BodyPreview, type DownloadResult, downloadToFile } from './download.ts';
import type { Args, Operation, OperationArgs } from './operation.ts';
import { followPages, type QueryPairs } from './pagination.ts';
import { readErrorResponse, readResponse } from './read-answer.ts';
import type { ResponsePage, ServiceResponse } from './response.ts';
import { collectSecrets } from './secrets-in.ts';
import { validateRequest } from './validate-request.ts';

export interface ServiceClientOptions {
  readonly redactor: Redactor;
  readonly log: Log;
  /** Ends every wait and transfer. */
  readonly signal: AbortSignal;
  /** A longer pause that a service demands fails at once (`maxWait`). */
  readonly maxWaitMs: number;
  readonly timing?: Partial<HttpTimeouts>;
  /** Shared between targets with one credential (`credentialKey`). @default one of the target's own */
  readonly limiter?: TargetLimiter;
  /** Where HTTPS_PROXY, HTTP_PROXY and NO_PROXY are looked up. @default no proxy */
  readonly env?: Readonly<Record<string, string | undefined>>;
}

export interface RequestOptions {
  /** Counts requests, retries, waits and bytes. */
  readonly meter?: RequestMetrics;
  readonly signal?: AbortSignal;
  /** Request body as the document shows it. */
  readonly body?: unknown;
  /** Use the target's `writeToken`, if it has one. */
  readonly write?: boolean;
  /** Attempts where the service fails or stays silent: few where less can be asked for instead. */
  readonly heavyAttempts?: number;
}

export interface DownloadOptions extends RequestOptions {
  /** Looks at the beginning before a byte is written; what it returns is why the body is not what was asked for. */
  readonly validatePreview?: (head: BodyPreview) => string | undefined;
}

/** One target, ready to be asked. Every method throws ServiceError, or TidemarkError USAGE before anything is sent. */
export interface ServiceClient {
  readonly target: Target;
  /** One call; a LIST of nothing answers `{"data":{"keys":[]}}`, an autoscaler that is down answers with status 503. */
  call<O extends Operation>(operation: O, args?: OperationArgs<O>, options?: RequestOptions): Promise<ServiceResponse>;
  /** Every page of a list; a list without pages is one page. */
  pages<O extends Operation>(
    operation: O,
    args?: OperationArgs<O>,
    options?: RequestOptions,
  ): AsyncGenerator<ResponsePage>;
  /** Streams the answer's body into `file`, emptying it first on each try; never whole in memory. */
  download<O extends Operation>(
    operation: O,
    args: OperationArgs<O>,
    file: string,
    options?: DownloadOptions,
  ): Promise<DownloadResult>;
  /** Closes the connections that are kept open. */
  close(): Promise<void>;
}

export function createServiceClient(target: Target, options: ServiceClientOptions): ServiceClient {
  const { redactor, log } = options;
  for (const token of [target.token, target.writeToken]) if (token) redactor.add(token);
  const timing: HttpTimeouts = { ...DEFAULT_TIMEOUTS, ...options.timing };
  const { concurrency } = target.limits;
  const { caFile, clientCert, clientKey } = target;
  const transport = createTransport({
    caFile,
    clientCert,
    clientKey,
    concurrency,
    env: options.env ?? {},
    timing,
    redactor,
  });
  const client = createClient({
    target: target.name,
    transport,
    limiter: options.limiter ?? createTargetLimiter(target),
    concurrency,
    redactor,
    log,
    signal: options.signal,
    maxWaitMs: options.maxWaitMs,
    timing,
  });

  const prepare = (operation: Operation, given: object | undefined, callOptions: RequestOptions) => {
    const args = (given ?? {}) as Args;
    const { body, meter = createRequestMetrics(), signal, heavyAttempts, write = false } = callOptions;
    collectSecrets(operation, args, body, redactor);
    validateRequest(operation, target, args, body, log);
    const reading = { operation, args, redactor, maxBytes: timing.maxAnswerBytes };
    const request = (useFallbackPath: boolean, extra: QueryPairs) =>
      buildRequest(operation, target, { args, body, write, useFallbackPath, extra });
    return { reading, request, call: { meter, signal, heavyAttempts } };
  };

  const sender = (operation: Operation, given: object | undefined, callOptions: RequestOptions) => {
    const { reading, request, call } = prepare(operation, given, callOptions);
    const read: ResponseReader<ServiceResponse> = (response, arriving) => readResponse(response, arriving, reading);
    return (extra: QueryPairs = []): Promise<ServiceResponse> =>
      withFallbackPath(operation, target, (other) =>
        client.send(request(other, extra), read, { ...call, attemptMs: timing.answerMs }),
      );
  };

  return {
    target,
    call: async (operation, args, callOptions = {}) => sender(operation, args, callOptions)(),
    async *pages(operation, args, callOptions = {}) {
      // Pages asked for ahead are given up where the reader ends early.
      const ended = new AbortController();
      const signal = callOptions.signal ? AbortSignal.any([callOptions.signal, ended.signal]) : ended.signal;
      try {
        yield* followPages(operation, target, sender(operation, args, { ...callOptions, signal }));
      } finally {
        ended.abort();
      }
    },
    async download(operation, args, file, { validatePreview = () => undefined, ...callOptions } = {}) {
      const { reading, request, call } = prepare(operation, args, callOptions);
      const read: ResponseReader<DownloadResult> = (response, arriving) =>
        response.ok
          ? downloadToFile(response, file, {
              ...arriving,
              maxBytes: timing.maxDownloadBytes,
              validatePreview,
              redactor,
            })
          : readErrorResponse(response, arriving, reading);
      return withFallbackPath(operation, target, (other) =>
        client.send(request(other, []), read, { ...call, attemptMs: timing.downloadMs }),
      );
    },
    close: () => transport.close(),
  };
}

/**
 * Where the real product may serve an operation at another path (live-services.md A5), its flavor tries that first, and
 * either falls back on the other when the answer is 404.
 */
async function withFallbackPath<T>(
  { fallbackPath }: Operation,
  { flavor }: Target,
  ask: (other: boolean) => Promise<T>,
): Promise<T> {
  if (fallbackPath === undefined) return ask(false);
  const otherFirst = flavor === 'hashicorp';
  try {
    return await ask(otherFirst);
  } catch (error) {
    if (!(error instanceof ServiceError) || error.failure !== 'not-found') throw error;
    return await ask(!otherFirst).catch(() => {
      throw error;
    });
  }
}
