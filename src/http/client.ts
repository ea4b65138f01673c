import ky, { type KyInstance } from 'ky'; // until Node 22: ky 2 needs it
import pLimit, { type LimitFunction } from 'p-limit';
import type { Target } from '../config/config.ts';
import { linkSignals } from '../core/abort.ts';
import { formatSeconds } from '../core/clock.ts';
import type { HttpTimeouts } from '../core/context.ts';
import { TidemarkError } from '../core/errors.ts';
import { type Log, shortenText } from '../core/log.ts';
import type { Redactor } from '../core/redact/redactor.ts';
import { createAdaptiveConcurrency, showsOverload } from './adaptive-concurrency.ts';
import type { Ticket } from './adaptive-rate-limiter.ts';
import { classifyAttempt } from './classify-attempt.ts';
import { AttemptError, catchAttempt, type FailureKind, type HttpFailure, ServiceError } from './errors.ts';
import type { TargetLimiter } from './rate-limiter.ts';
import type { BodyProgress, RequestMetrics } from './response-body.ts';
import { ABORTED, needsFresh, type RetryPolicy, startDeadline, withRetry } from './retry.ts';
import type { Transport } from './transport.ts';

export interface HttpClientOptions {
  readonly target: Pick<Target, 'name' | 'token' | 'tokenHeader' | 'writeToken' | 'limits'>;
  readonly transport: Transport;
  /** Shared by targets with the same credential (`credentialKey`). */
  readonly limiter: TargetLimiter;
  readonly redactor: Redactor;
  readonly log: Log;
  /** Aborts every wait and transfer. */
  readonly signal: AbortSignal;
  /** A request fails at once when the service asks for a longer pause (`maxWait`). */
  readonly maxWaitMs: number;
  readonly timeouts: HttpTimeouts;
}

export interface HttpRequest {
  readonly operation: string;
  readonly method: string;
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
  readonly mutates: boolean;
  readonly retryPolicy: RetryPolicy;
  /** Send the `writeToken`, if there is one. */
  readonly useWriteToken: boolean;
}

/** A request with the connection that it gets (`TransportInit`). */
type Sent = HttpRequest & { readonly isFresh: boolean };

export interface CallOptions {
  /** Counts requests, retries, waits and bytes. */
  readonly metrics: RequestMetrics;
  readonly signal?: AbortSignal | undefined;
  /** Timeout of one attempt, from its ticket to the last byte. */
  readonly attemptMs: number;
  /** Attempts when the service fails or does not respond: few when the caller can request less instead. */
  readonly maxServerErrorAttempts?: number | undefined;
  /** How long it may wait for its turn; it fails at once where that takes longer. @default the `maxWait` of the target */
  readonly maxTurnMs?: number | undefined;
  /** Called just before each request of the operation is sent; what it throws prevents the request. */
  readonly beforeRequest?: (() => void) | undefined;
}

/** Reads a response to its end. It must use up or cancel the body. @throws AttemptError for one that is no success */
export type ResponseReader<T> = (response: Response, progress: BodyProgress) => Promise<T>;

const MAX_REDIRECTS = 3;
/** More than the longest message that is known, which has 500 characters. */
const MAX_MESSAGE_LENGTH = 600;
/** Failures of the whole target. */
const CONCERNS_ALL: readonly FailureKind[] = ['unreachable', 'sealed'];

/**
 * The client of one target: ky sends, the limiter spaces the attempts, `withRetry` repeats them. Retry is outside the limiter and the
 * concurrency limit, so that a request that waits for its next attempt holds no slot.
 */
export class HttpClient {
  readonly #options: HttpClientOptions;
  /** docs/decisions.md#dependencies says why its retry, timeout, redirects and errors are off. */
  readonly #ky: KyInstance = ky.create({ redirect: 'manual', retry: 0, timeout: false, throwHttpErrors: false });
  readonly #slots: LimitFunction;
  readonly #concurrency: ReturnType<typeof createAdaptiveConcurrency>;
  /** What a retry was last said to be for, if that concerns every request: it is said once, and the retries are counted. */
  #said: FailureKind | undefined;
  /** The attempts that ended since the last answer, none of them with one. */
  #silence = { attempts: 0, sinceMs: 0 };
  #answeredMs = 0;
  /** The service has been silent for longer than all attempts at one request take: whatever waits for its next attempt ends. */
  #isGivenUp = false;

  constructor(options: HttpClientOptions) {
    this.#options = options;
    const { concurrency } = options.target.limits;
    this.#slots = pLimit(concurrency);
    this.#concurrency = createAdaptiveConcurrency(concurrency);
  }

  /** Sends a request, repeats it where its policy allows, and reads the response. @throws ServiceError */
  async send<T>(request: HttpRequest, read: ResponseReader<T>, call: CallOptions): Promise<T> {
    const { limiter, redactor, log, timeouts, maxWaitMs } = this.#options;
    const target = this.#options.target.name;
    const { operation, retryPolicy } = request;
    const { signal, release } = linkSignals(this.#options.signal, call.signal);
    const attempt = (before: HttpFailure | undefined) => {
      const isFresh = retryPolicy !== 'safe' || needsFresh(before); // what may not be sent twice meets no connection that is being closed
      return this.#slots(() => {
        if (before && this.#isGivenUp) throw new AttemptError({ ...before, retryable: 'no' });
        return this.#attempt({ ...request, isFresh }, read, call, signal);
      });
    };
    const sent = withRetry(attempt, {
      policy: retryPolicy,
      timeouts,
      maxServerErrorAttempts: call.maxServerErrorAttempts,
      maxWaitMs,
      metrics: call.metrics,
      signal,
      onThrottled: (waitMs) => limiter.pause(waitMs),
      onRetry: ({ status, failure: kind, message }, waitMs) => {
        if (kind === this.#said) return;
        this.#said = CONCERNS_ALL.includes(kind) ? kind : undefined;
        const reason = [status, kind, redactor.text(message)].filter(Boolean).join(' ');
        log.info(`${target}: ${operation} waits ${formatSeconds(waitMs)}: ${reason}`);
      },
    });
    const result = await sent.catch(catchAttempt).finally(release);
    if (!(result instanceof AttemptError)) {
      this.#said = undefined;
      return result;
    }
    // A bound of the run or of the source was reached: its message says more than that the request was stopped.
    if (result.problem.failure === 'aborted' && signal.reason instanceof TidemarkError) throw signal.reason;
    const { message, ...problem } = retryPolicy === 'safe' ? this.#explainSilence(result.problem) : result.problem;
    const { origin, pathname } = request.url;
    const url = redactor.text(problem.status === undefined ? origin : pathname);
    const serviceMessage = shortenText(redactor.text(message), MAX_MESSAGE_LENGTH); // of a secret that is cut, the rest would be shown
    throw new ServiceError({ ...problem, operation, target, url, serviceMessage });
  }

  /** One attempt, from which the number of requests in progress follows. */
  async #attempt<T>(request: Sent, read: ResponseReader<T>, call: CallOptions, signal: AbortSignal): Promise<T> {
    const number = this.#concurrency.onSent();
    try {
      const value = await this.#exchange(request, read, call, signal);
      this.#concurrency.onSuccess();
      return value;
    } catch (error) {
      if (signal.aborted) throw new AttemptError(ABORTED);
      const { problem } = catchAttempt(error);
      // A request that may be too much for the service says nothing about the others.
      if (call.maxServerErrorAttempts === undefined && showsOverload(problem)) this.#concurrency.onOverload(number);
      throw error;
    } finally {
      if (this.#slots.concurrency !== this.#concurrency.limit()) this.#slots.concurrency = this.#concurrency.limit();
    }
  }

  async #exchange<T>(request: Sent, read: ResponseReader<T>, call: CallOptions, signal: AbortSignal) {
    const { limiter, timeouts, target, log, maxWaitMs } = this.#options;
    const { metrics, maxTurnMs = maxWaitMs } = call;
    const turn = { name: target.name, signal, maxWaitMs: Math.min(maxTurnMs, maxWaitMs), log };
    const { ticket, waitedMs } = await limiter.acquire(turn);
    metrics.throttleWaitMs += waitedMs;
    const deadline = startDeadline(signal, call.attemptMs, timeouts);
    const sentMs = performance.now();
    let hasResponse = false;
    try {
      const response = await this.#follow(request, call, ticket, deadline.signal);
      deadline.touch();
      hasResponse = true;
      this.#silence.attempts = 0;
      this.#answeredMs = performance.now();
      this.#isGivenUp = false;
      const problem = redirectError(request.url, response) ?? unfinishedError(request, response);
      if (problem) {
        await response.body?.cancel();
        throw new AttemptError(problem);
      }
      return await read(response, { metrics, touch: deadline.touch, signal: deadline.signal });
    } catch (error) {
      throw new AttemptError(deadline.exceeded() ?? classifyAttempt(error, timeouts, hasResponse));
    } finally {
      if (!hasResponse) {
        limiter.onNoResponse();
        if (!signal.aborted) this.#onSilence(sentMs);
      }
      deadline.dispose();
    }
  }

  /** Otherwise many requests make all of their attempts one after the other: a proxy that hangs held a target for a quarter of an hour. */
  #onSilence(sentMs: number): void {
    const { attempts, maxBackoffMs } = this.#options.timeouts;
    const now = performance.now();
    if (this.#silence.attempts++ === 0) this.#silence.sinceMs = Math.max(sentMs, this.#answeredMs);
    const ofOneMs = attempts * Math.max(now - sentMs, maxBackoffMs);
    if (this.#silence.attempts > attempts && now - this.#silence.sinceMs >= ofOneMs) this.#isGivenUp = true;
  }

  /** Where nothing at all answers, a smaller query or another item gets no answer either. */
  #explainSilence(problem: HttpFailure): HttpFailure {
    return this.#isGivenUp && problem.failure === 'timeout' ? { ...problem, failure: 'unreachable' } : problem;
  }

  /** Sends, follows redirects within the origin, and passes status and rate limit headers of each response to the limiter. */
  async #follow(
    { method, body, useWriteToken, mutates, isFresh, ...request }: Sent,
    { metrics, beforeRequest }: CallOptions,
    ticket: Ticket,
    signal: AbortSignal,
  ): Promise<Response> {
    const { transport, limiter, target } = this.#options;
    const headers = { ...request.headers, ...credentialHeader(target, useWriteToken) };
    // ky and `Request` refer to a signal weakly, so the transport receives it directly.
    const fetch: typeof globalThis.fetch = (input) => transport.fetch(input, { signal, isFresh });
    let { url } = request;
    for (let hops = 0; ; hops++) {
      beforeRequest?.();
      metrics.requests++;
      const response = await this.#ky(url, { method, headers, fetch, ...(body !== undefined && { body }) });
      limiter.onResponse(ticket, response);
      if (response.status === 429) metrics.throttled++;
      // A GET may create something, such as a token. A read that is sent once is one nevertheless.
      const next = sameOriginRedirect(url, mutates ? 'POST' : method, response);
      if (!next || hops === MAX_REDIRECTS) return response;
      await response.body?.cancel();
      url = next;
    }
  }
}

/** `Authorization` has the token as `Bearer TOKEN`, any other header has it as it is. */
function credentialHeader({ tokenHeader, token, writeToken }: HttpClientOptions['target'], useWriteToken: boolean) {
  const sent = (useWriteToken ? writeToken : undefined) ?? token;
  if (sent === undefined) return {};
  return { [tokenHeader]: tokenHeader.toLowerCase() === 'authorization' ? `Bearer ${sent}` : sent };
}

const REDIRECTS = [301, 302, 303, 307, 308];
/** These keep method and body (RFC 9110 §15.4). A Vault standby answers 307 (docs/services/secrets.md#errors). */
const KEEPS_METHOD = [307, 308];

/**
 * The destination of a redirect that may be followed: within the origin only, so that the token is sent nowhere else; for a change to
 * its own path only, so that it changes nothing else.
 */
export function sameOriginRedirect(from: URL, method: string, response: Response): URL | undefined {
  const to = parseDestination(from, response);
  if (to?.origin !== from.origin) return undefined;
  // fetch refuses credentials with an error that shows them; `blob:` has the origin of what it names.
  if (to.username !== '' || to.password !== '' || to.protocol !== from.protocol) return undefined;
  if (method === 'GET' || method === 'LIST') return to; // only of POST may 301 and 302 make a GET
  const isItself = `${to.pathname}${to.search}` === `${from.pathname}${from.search}`;
  return isItself && KEEPS_METHOD.includes(response.status) ? to : undefined;
}

/** The failure of a redirect that was not followed; undefined for any other response. */
function redirectError(from: URL, response: Response): HttpFailure | undefined {
  if (!REDIRECTS.includes(response.status)) return undefined;
  const to = parseDestination(from, response);
  const isElsewhere = to !== undefined && to.origin !== from.origin;
  return {
    failure: 'malformed',
    status: response.status,
    message:
      to === undefined ? 'redirect without a destination' : `redirect to ${isElsewhere ? to.origin : to.pathname}`,
    hint: isElsewhere
      ? 'the token is not sent to another origin: if that is the service, set `url` of this target to it'
      : 'check `url` of this target',
    notProcessed: KEEPS_METHOD.includes(response.status), // the same request belongs elsewhere; after another redirect, it may be done
  };
}

/** The failure of a response that is not the whole answer: a part would pass for all rows of a CSV, an empty list for no rows. */
function unfinishedError({ method }: HttpRequest, { status }: Response): HttpFailure | undefined {
  if (status === 206)
    return { failure: 'truncated', status, message: 'only a part of the response was sent', retryable: 'yes' };
  if (status !== 202 || !['GET', 'LIST'].includes(method)) return undefined;
  const message = 'the service has accepted the request, and not answered it';
  return { failure: 'malformed', status, message, hint: 'try again later', retryable: 'yes' };
}

function parseDestination(from: URL, response: Response): URL | undefined {
  const location = response.headers.get('location');
  if (!REDIRECTS.includes(response.status) || location === null || !URL.canParse(location, from.href)) return undefined;
  return new URL(location, from);
}
