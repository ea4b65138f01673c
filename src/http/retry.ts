import { setTimeout as sleep } from 'node:timers/promises';
import { formatSeconds } from '../core/clock.ts';
import type { HttpTimeouts } from '../core/context.ts';
import { AttemptError, catchAttempt, type FailureKind, type HttpFailure } from './errors.ts';
import type { RequestMetrics } from './response-body.ts';

/**
 * Which failures a request may be repeated after: `safe` after all that may pass; `if-unprocessed` only where the service
 * certainly did nothing (throttled with 429, connection refused); `never`, because every call has another effect.
 */
export type RetryPolicy = 'safe' | 'if-unprocessed' | 'never';

interface RetryOptions {
  readonly policy: RetryPolicy;
  readonly timeouts: HttpTimeouts;
  /** Fewer attempts where the service fails, breaks off or does not respond. @default `timeouts.attempts` */
  readonly maxServerErrorAttempts?: number | undefined;
  /** A request fails immediately if the service asks for a longer pause. */
  readonly maxWaitMs: number;
  readonly metrics: RequestMetrics;
  readonly signal: AbortSignal;
  /** Called when the service throttles: all requests of the credential pause. */
  readonly onThrottled: (waitMs: number) => void;
  readonly onRetry: (failure: HttpFailure, waitMs: number) => void;
}

/** Attempts at a response of the wrong form (a login page, broken JSON). */
const MALFORMED_ATTEMPTS = 3;

/**
 * Makes attempts until one succeeds, the failure may not be repeated, or no attempt is left.
 * @param attempt gets the failure of the one before
 * @throws AttemptError
 */
export async function withRetry<T>(attempt: (before: HttpFailure | undefined) => Promise<T>, options: RetryOptions) {
  const { metrics, timeouts, maxWaitMs, signal } = options;
  let problem: HttpFailure | undefined;
  for (let made = 1; ; made++) {
    const result = await attempt(problem).catch(catchAttempt);
    if (!(result instanceof AttemptError)) return result;
    problem = result.problem;
    const { retryAfterMs = 0 } = problem;
    const waitMs = Math.max(retryAfterMs, backoffMs(made, timeouts));
    if (isThrottled(problem)) options.onThrottled(waitMs);
    if (!canRetry(problem, made, options)) throw result; // a write that failed with 503 may have been done: no pause makes that certain
    if (retryAfterMs > maxWaitMs) throw new AttemptError(tooLongWait(problem, retryAfterMs));
    options.onRetry(problem, waitMs);
    const startedMs = performance.now();
    await sleep(waitMs, undefined, { signal }).catch(() => {
      throw new AttemptError(ABORTED);
    });
    metrics.throttleWaitMs += performance.now() - startedMs;
    metrics.retries++;
  }
}

/**
 * Whether the attempt after a failure gets a connection of its own (`TransportInit`): where there was no whole answer, the server may have
 * closed a kept connection, and may close the next one.
 */
export function needsFresh(before: HttpFailure | undefined): boolean {
  return before !== undefined && before.status === undefined;
}

/** What an attempt becomes when its signal is aborted. */
export const ABORTED: HttpFailure = { failure: 'aborted', message: 'stopped', hint: 'run it again' };

function isThrottled({ status, retryAfterMs }: HttpFailure): boolean {
  return status === 429 || (status === 503 && retryAfterMs !== undefined);
}

function canRetry(problem: HttpFailure, made: number, options: RetryOptions): boolean {
  const { policy } = options;
  if (policy === 'never' || made >= maxAttempts(problem, options)) return false;
  if (policy === 'if-unprocessed') return problem.notProcessed === true && problem.retryable === 'yes';
  return problem.retryable === 'yes' || (problem.retryable === 'few' && made < MALFORMED_ATTEMPTS);
}

function maxAttempts(problem: HttpFailure, { timeouts, maxServerErrorAttempts = timeouts.attempts }: RetryOptions) {
  const isServerError = ['server', 'timeout', 'truncated'].includes(problem.failure);
  return isServerError ? Math.min(maxServerErrorAttempts, timeouts.attempts) : timeouts.attempts;
}

function tooLongWait({ status, message }: HttpFailure, waitMs: number): HttpFailure {
  const asked = `asked to wait ${formatSeconds(waitMs)}`;
  return { failure: 'too-long-wait', status, message: message === '' ? asked : `${asked}: ${message}` };
}

/** Exponential with jitter, at least half of the full delay, so that `Retry-After: 0` does not spin. */
function backoffMs(made: number, { backoffMs: first, maxBackoffMs }: HttpTimeouts): number {
  const fullMs = Math.min(maxBackoffMs, first * 2 ** (made - 1));
  return fullMs / 2 + (Math.random() * fullMs) / 2;
}

/** A slower body would hold a connection, and the run, for hours. */
const MIN_BYTES_PER_SECOND = 1024;

type BodyTimeouts = Pick<HttpTimeouts, 'headersMs' | 'idleMs' | 'slowMs'>;

/**
 * The timeouts of one attempt, which begins now, as an abort signal that follows an outer signal too. undici's own timers tick about
 * once a second; these are exact and name the timeout that was exceeded. Call `dispose` when the attempt is over.
 * @param wholeMs to the last byte
 */
export function startDeadline(outer: AbortSignal, wholeMs: number, { headersMs, idleMs, slowMs }: BodyTimeouts) {
  // Not one of `linkSignals`: undici cannot read the number of its listeners, which is unlimited.
  const controller = new AbortController();
  const followOuter = () => controller.abort(outer.reason);
  if (outer.aborted) followOuter();
  outer.addEventListener('abort', followOuter);
  let exceeded: HttpFailure | undefined;
  const abort = (failure: FailureKind, message: string): void => {
    exceeded ??= { failure, message, retryable: 'yes' };
    controller.abort();
  };
  const abortAfter = (ms: number, message: string) => setTimeout(() => abort('timeout', message), ms);
  const wholeTimer = abortAfter(wholeMs, `not finished within ${formatSeconds(wholeMs)}`);
  /** Of the headers, then of the next part of the body. */
  let silenceTimer = abortAfter(headersMs, `no response within ${formatSeconds(headersMs)}`);
  let slowTimer: NodeJS.Timeout | undefined;
  /** Of the body, since `slowTimer` fired last. */
  let received = 0;
  const checkRate = (): void => {
    const isSlow = received * 1000 < MIN_BYTES_PER_SECOND * slowMs;
    received = 0;
    if (isSlow) abort('truncated', `less than 1 KiB/s for ${formatSeconds(slowMs)}`);
  };
  return {
    // With its type: that of an inferred one cannot be named in the declarations.
    signal: controller.signal as AbortSignal,
    /** What the limit that was exceeded first means for the attempt. */
    exceeded: () => exceeded,
    /** Call when a part of what is sent was taken: the headers must follow the last part within `headersMs`. */
    sent: () => void silenceTimer.refresh(),
    /** Call when the headers or a part of the body arrive: the next part must follow within `idleMs`. */
    touch(bytes = 0): void {
      received += bytes;
      if (slowTimer) return void silenceTimer.refresh();
      clearTimeout(silenceTimer);
      silenceTimer = abortAfter(idleMs, `no data for ${formatSeconds(idleMs)} within a response`);
      slowTimer = setInterval(checkRate, slowMs);
    },
    dispose(): void {
      for (const timer of [wholeTimer, silenceTimer, slowTimer]) clearTimeout(timer);
      outer.removeEventListener('abort', followOuter);
    },
  };
}
