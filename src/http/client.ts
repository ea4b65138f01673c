import { setMaxListeners } from 'node:events';
import ky from 'ky';
import pLimit from 'p-limit';
import type { Log } from '../core/log.ts';
import type { Redactor } from '../core/redact.ts';
import { deadline } from './deadline.ts';
import { type Limiter, TooLongWait } from './limiter.ts';
import type { Meter } from './meter.ts';
import { networkProblem } from './network-problem.ts';
import { failed, type Outcome, type Problem } from './outcome.ts';
import { type Arriving, TooLarge } from './read-body.ts';
import { followable, redirectProblem } from './redirect.ts';
import { type Repeat, withRetry } from './retry.ts';
import { ServiceError } from './service-error.ts';
import { seconds, type Timing } from './timing.ts';
import type { Transport } from './transport.ts';

export interface ClientOptions {
  /** Name of the target, for messages. */
  readonly target: string;
  readonly transport: Transport;
  readonly limiter: Limiter;
  readonly concurrency: number;
  readonly redactor: Redactor;
  readonly log: Log;
  readonly signal: AbortSignal;
  readonly maxWaitMs: number;
  readonly timing: Timing;
}

export interface HttpRequest {
  readonly operation: string;
  readonly method: string;
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
  readonly repeat: Repeat;
}

export interface Call {
  readonly meter: Meter;
  readonly signal: AbortSignal | undefined;
  /** Bound of one attempt, from the place taken to the last byte. */
  readonly attemptMs: number;
  /** Attempts at what may be too much for the service, which waiting does not cure. */
  readonly heavyAttempts?: number | undefined;
}

/** Reads an answer to its end and judges it; the body must be used up or cancelled. */
export type Read<T> = (response: Response, arriving: Arriving) => Promise<Outcome<T>>;

export interface Client {
  /** Sends a request, again where that is allowed, and reads its answer. @throws ServiceError */
  send<T>(request: HttpRequest, read: Read<T>, call: Call): Promise<T>;
}

/** Composes limiter, retry and ky. Retry stands outside: a request that waits for its next attempt holds no slot. */
export function createClient(options: ClientOptions): Client {
  const { target, limiter, redactor, log, timing, maxWaitMs } = options;
  const slot = pLimit(options.concurrency);
  // Every request under way listens to it; Node takes more than ten for a leak.
  setMaxListeners(0, options.signal);
  return {
    async send(request, read, call) {
      const { operation, repeat } = request;
      const signal = signalOf(options.signal, call.signal);
      const outcome = await withRetry(() => slot(() => attempt(options, request, read, call, signal)), {
        repeat,
        timing,
        heavyAttempts: call.heavyAttempts,
        maxWaitMs,
        meter: call.meter,
        signal,
        hold: (waitMs) => limiter.hold(waitMs),
        say: ({ status, failure, words }, waitMs) => {
          const why = [status, failure, redactor.text(words)].filter(Boolean).join(' ');
          log.info(`${target}: ${operation} waits ${seconds(waitMs)}: ${why}`);
        },
      });
      if (outcome.ok) return outcome.value;
      const { failure, status, words, hint } = outcome.problem;
      throw new ServiceError({ failure, status, hint, operation, target, words: redactor.text(words) });
    },
  };
}

function signalOf(always: AbortSignal, own: AbortSignal | undefined): AbortSignal {
  if (own === undefined || own === always) return always;
  const either = AbortSignal.any([always, own]);
  setMaxListeners(0, either);
  return either;
}

async function attempt<T>(
  options: ClientOptions,
  request: HttpRequest,
  read: Read<T>,
  { meter, attemptMs }: Call,
  signal: AbortSignal,
): Promise<Outcome<T>> {
  const { limiter, timing, target, log, maxWaitMs } = options;
  const limit = deadline(signal, { wholeMs: attemptMs, headersMs: timing.headersMs, idleMs: timing.idleMs });
  let reading = false;
  try {
    const { place, waitedMs } = await limiter.place({ name: target, signal, maxWaitMs, log });
    meter.waitedMs += waitedMs;
    limit.start();
    const response = await follow(options, request, meter, limit.signal);
    limiter.answered(place, response.status, response.headers);
    limit.arrived();
    reading = true;
    const problem = redirectProblem(request.url, response);
    if (problem) {
      await response.body?.cancel();
      return failed(problem);
    }
    return await read(response, { meter, arrived: limit.arrived });
  } catch (error) {
    return failed(problemOf(error, { signal, timedOut: limit.expired(), timing, reading }));
  } finally {
    limit.end();
  }
}

/** Sends, and follows redirects within the origin: at most three, as a loop has no end of its own. */
async function follow(
  { transport }: ClientOptions,
  request: HttpRequest,
  meter: Meter,
  signal: AbortSignal,
): Promise<Response> {
  let { url } = request;
  for (let hops = 0; ; hops++) {
    meter.requests++;
    const response = await ky(url, {
      method: request.method,
      headers: { ...request.headers },
      ...(request.body !== undefined && { body: request.body }),
      fetch: transport.fetch,
      redirect: 'manual',
      retry: 0,
      timeout: false,
      throwHttpErrors: false,
      signal,
    });
    const next = followable(url, request.method, response);
    if (!next || hops === 3) return response;
    await response.body?.cancel();
    url = next;
  }
}

interface Circumstances {
  readonly signal: AbortSignal;
  readonly timedOut: string | undefined;
  readonly timing: Timing;
  readonly reading: boolean;
}

function problemOf(error: unknown, { signal, timedOut, timing, reading }: Circumstances): Problem {
  const final = { again: 'no', unsent: false } as const;
  if (signal.aborted) return { failure: 'aborted', words: 'stopped', hint: 'run it again', ...final };
  if (error instanceof TooLongWait) return { failure: 'too-long-wait', words: error.message, ...final };
  if (error instanceof TooLarge) return { failure: 'too-large', words: error.message, ...final };
  if (timedOut !== undefined) return { failure: 'timeout', words: timedOut, again: 'yes', unsent: false };
  if (!isNetworkError(error)) throw error;
  return networkProblem(error, timing, reading);
}

/**
 * Fetch throws `TypeError` for all that goes wrong on the way, with undici's or the system's error as its cause; a body
 * that does not unpack fails with zlib's own. Anything else, such as a full disk, is none of the service's.
 */
function isNetworkError(error: unknown): boolean {
  if (error instanceof TypeError) return error.cause !== undefined || error.message === 'terminated';
  return error instanceof Error && 'code' in error && /^(?:UND_ERR_|Z_)/u.test(String(error.code));
}
