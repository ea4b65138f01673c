import type { Target } from '../core/config.ts';
import type { Log } from '../core/log.ts';
import type { Redactor } from '../core/redact.ts';
import { createClient, type Read } from '../http/client.ts';
import { type Limiter, limiterFor } from '../http/limiter.ts';
import { createMeter, type Meter } from '../http/meter.ts';
import { ServiceError } from '../http/service-error.ts';
import { DEFAULT_TIMING, type Timing } from '../http/timing.ts';
import { createTransport } from '../http/transport.ts';
import type { Answer, Page } from './answer.ts';
import { checkCall } from './check.ts';
import { type Downloaded, type Head, saveBody } from './download.ts';
import type { Args, ArgsOf, Operation } from './operation.ts';
import { followPages, type Pairs } from './paging.ts';
import { readAnswer, readRefusal } from './read-answer.ts';
import { buildRequest } from './request.ts';
import { registerSecrets } from './secrets-in.ts';

export interface ConnectOptions {
  readonly redactor: Redactor;
  readonly log: Log;
  /** Ends every wait and transfer. */
  readonly signal: AbortSignal;
  /** A longer pause that a service demands fails at once (`maxWait`). */
  readonly maxWaitMs: number;
  readonly timing?: Partial<Timing>;
  /** Shared between targets with one credential (`credentialKey`). @default one of the target's own */
  readonly limiter?: Limiter;
  /** Where HTTPS_PROXY, HTTP_PROXY and NO_PROXY are looked up. @default no proxy */
  readonly env?: Readonly<Record<string, string | undefined>>;
}

export interface CallOptions {
  /** Counts requests, retries, waits and bytes. */
  readonly meter?: Meter;
  readonly signal?: AbortSignal;
  /** Request body as the document shows it. */
  readonly body?: unknown;
  /** Use the target's `writeToken`, if it has one. */
  readonly write?: boolean;
  /** Attempts where the service fails or stays silent: few where less can be asked for instead. */
  readonly heavyAttempts?: number;
}

export interface DownloadOptions extends CallOptions {
  /** Looks at the beginning before a byte is written; what it returns is why the body is not what was asked for. */
  readonly refuse?: (head: Head) => string | undefined;
}

/** One target, ready to be asked. Every method throws ServiceError, or TidemarkError USAGE before anything is sent. */
export interface Service {
  readonly target: Target;
  /** One call; a LIST of nothing answers `{"data":{"keys":[]}}`, an autoscaler that is down answers with status 503. */
  call<O extends Operation>(operation: O, args?: ArgsOf<O>, options?: CallOptions): Promise<Answer>;
  /** Every page of a list; a list without pages is one page. */
  pages<O extends Operation>(operation: O, args?: ArgsOf<O>, options?: CallOptions): AsyncGenerator<Page>;
  /** Streams the answer's body into `file`, emptying it first on each try; never whole in memory. */
  download<O extends Operation>(
    operation: O,
    args: ArgsOf<O>,
    file: string,
    options?: DownloadOptions,
  ): Promise<Downloaded>;
  /** Closes the connections that are kept open. */
  close(): Promise<void>;
}

export function connect(target: Target, options: ConnectOptions): Service {
  const { redactor, log } = options;
  for (const token of [target.token, target.writeToken]) if (token) redactor.add(token);
  const timing: Timing = { ...DEFAULT_TIMING, ...options.timing };
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
    limiter: options.limiter ?? limiterFor(target),
    concurrency,
    redactor,
    log,
    signal: options.signal,
    maxWaitMs: options.maxWaitMs,
    timing,
  });

  const prepare = (operation: Operation, given: object | undefined, callOptions: CallOptions) => {
    const args = (given ?? {}) as Args;
    const { body, meter = createMeter(), signal, heavyAttempts, write = false } = callOptions;
    registerSecrets(operation, args, body, redactor);
    checkCall(operation, target, args, body, log);
    const reading = { operation, args, redactor, maxBytes: timing.maxAnswerBytes };
    const request = (other: boolean, extra: Pairs) =>
      buildRequest(operation, target, { args, body, write, other, extra });
    return { reading, request, call: { meter, signal, heavyAttempts } };
  };

  const sender = (operation: Operation, given: object | undefined, callOptions: CallOptions) => {
    const { reading, request, call } = prepare(operation, given, callOptions);
    const read: Read<Answer> = (response, arriving) => readAnswer(response, arriving, reading);
    return (extra: Pairs = []): Promise<Answer> =>
      withOtherPath(operation, target, (other) =>
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
    async download(operation, args, file, { refuse = () => undefined, ...callOptions } = {}) {
      const { reading, request, call } = prepare(operation, args, callOptions);
      const read: Read<Downloaded> = (response, arriving) =>
        response.ok
          ? saveBody(response, file, { ...arriving, maxBytes: timing.maxDownloadBytes, refuse, redactor })
          : readRefusal(response, arriving, reading);
      return withOtherPath(operation, target, (other) =>
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
async function withOtherPath<T>(
  { otherPath }: Operation,
  { flavor }: Target,
  ask: (other: boolean) => Promise<T>,
): Promise<T> {
  if (otherPath === undefined) return ask(false);
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
