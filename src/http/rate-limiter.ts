import { setTimeout as sleep } from 'node:timers/promises';
import pLimit from 'p-limit';
import type { Target } from '../config/config.ts';
import { linkSignals } from '../core/abort.ts';
import { formatSeconds } from '../core/clock.ts';
import type { Log } from '../core/log.ts';
import { AdaptiveRateLimiter, type RateLimiterOptions, type Ticket } from './adaptive-rate-limiter.ts';
import { AttemptError } from './errors.ts';
import { parseRateLimit } from './rate-limit-headers.ts';

interface AcquireRequest {
  /** Name of the target, for the log. */
  readonly name: string;
  readonly signal: AbortSignal;
  readonly maxWaitMs: number;
  readonly log: Log;
}

/** Shorter waits are the normal spacing of requests and are not logged. */
const LOGGED_WAIT_MS = 1000;
const MAX_JITTER_MS = 100;

/** Makes the requests of one credential wait for the rate limiter. Every target that uses the credential shares it. */
export class TargetLimiter {
  readonly #limiter: AdaptiveRateLimiter;
  /** First come, first served: one request waits for the next ticket, the others behind it. */
  readonly #queue = pLimit(1);
  /** Ends the wait of that request, so that it looks again. */
  #wake = () => {};

  constructor(options: RateLimiterOptions) {
    this.#limiter = new AdaptiveRateLimiter(options);
  }

  /** Waits until a request may be sent. @throws AttemptError `too-long-wait` when that takes longer than `maxWaitMs`. */
  async acquire(request: AcquireRequest): Promise<{ readonly ticket: Ticket; readonly waitedMs: number }> {
    const startedMs = performance.now();
    const ticket = await this.#queue(() => this.#nextTicket(request));
    return { ticket, waitedMs: performance.now() - startedMs };
  }

  onResponse(ticket: Ticket, { status, headers }: Pick<Response, 'status' | 'headers'>): void {
    this.#limiter.onResponse(ticket, performance.now(), parseRateLimit(headers, Date.now()), status === 429);
    this.#wake(); // the next request may be allowed earlier now
  }

  onNoResponse(): void {
    this.#limiter.onNoResponse();
    this.#wake();
  }

  /** Pauses all requests for `waitMs` plus jitter, so that they do not all return at the same time. */
  pause(waitMs: number): void {
    const jitterMs = Math.random() * Math.min(MAX_JITTER_MS, waitMs / 10);
    this.#limiter.pauseUntil(performance.now() + waitMs + jitterMs);
  }

  async #nextTicket({ name, signal, maxWaitMs, log }: AcquireRequest): Promise<Ticket> {
    for (let loggedMs = LOGGED_WAIT_MS; ; ) {
      signal.throwIfAborted();
      const waitMs = this.#limiter.tryAcquire(performance.now());
      if (typeof waitMs === 'object') return waitMs;
      if (waitMs > maxWaitMs + MAX_JITTER_MS)
        throw new AttemptError({
          failure: 'too-long-wait',
          message: `asked to wait ${formatSeconds(waitMs)}`,
          notProcessed: true,
        });
      if (waitMs >= loggedMs) {
        log.info(`${name}: waits ${formatSeconds(waitMs)} for the service's rate limit`);
        loggedMs = waitMs;
      }
      const wait = linkSignals(signal);
      this.#wake = wait.abort;
      await sleep(waitMs, undefined, { signal: wait.signal }).catch(() => {}); // ended early: it looks again
      wait.release();
    }
  }
}

/** HCP Terraform documents 30 requests per second for each user, and says so in headers (docs/services/platform.md#limits). */
const PLATFORM_PER_SECOND = 30;

export function createTargetLimiter({ kind, limits }: Pick<Target, 'kind' | 'limits'>): TargetLimiter {
  const { share, requestsPerSecond } = limits;
  // A configured rate is the user's word: it is neither lowered to the documented one nor approached slowly.
  const documented = kind === 'platform' ? PLATFORM_PER_SECOND * share : undefined;
  return new TargetLimiter({ share, requestsPerSecond, startPerSecond: requestsPerSecond ?? documented });
}
