import { setTimeout as sleep } from 'node:timers/promises';
import pLimit from 'p-limit';
import type { Target } from '../config/config.ts';
import { linkSignals } from '../core/abort.ts';
import { formatSeconds } from '../core/clock.ts';
import type { Log } from '../core/log.ts';
import { createAdaptiveRateLimiter, type RateLimiterOptions, type Ticket } from './adaptive-rate-limiter.ts';
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
export type TargetLimiter = Readonly<ReturnType<typeof createLimiter>>;

export function createLimiter(options: RateLimiterOptions) {
  const limiter = createAdaptiveRateLimiter(options);
  /** First come, first served: one request waits for the next ticket, the others behind it. */
  const queue = pLimit(1);
  /** Ends the wait of that request, so that it looks again. */
  let wake = () => {};
  const takeTicket = async ({ name, signal, maxWaitMs, log }: AcquireRequest): Promise<Ticket> => {
    for (let loggedMs = LOGGED_WAIT_MS; ; ) {
      signal.throwIfAborted();
      const waitMs = limiter.tryAcquire(performance.now());
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
      wake = wait.abort;
      await sleep(waitMs, undefined, { signal: wait.signal }).catch(() => {}); // ended early: it looks again
      wait.release();
    }
  };
  return {
    /** Waits until a request may be sent. @throws AttemptError `too-long-wait` when that takes longer than `maxWaitMs`. */
    async acquire(request: AcquireRequest) {
      const startedMs = performance.now();
      const ticket = await queue(() => takeTicket(request));
      return { ticket, waitedMs: performance.now() - startedMs };
    },
    onResponse(ticket: Ticket, { status, headers }: Pick<Response, 'status' | 'headers'>): void {
      limiter.onResponse(ticket, performance.now(), parseRateLimit(headers, Date.now()), status === 429);
      wake(); // the next request may be allowed earlier now
    },
    onNoResponse(): void {
      limiter.onNoResponse();
      wake();
    },
    /** Pauses all requests for `waitMs` plus jitter, so that they do not all return at the same time. */
    pause(waitMs: number): void {
      const jitterMs = Math.random() * Math.min(MAX_JITTER_MS, waitMs / 10);
      limiter.pauseUntil(performance.now() + waitMs + jitterMs);
    },
  };
}

/** HCP Terraform documents 30 requests per second for each user, and says so in headers (docs/services/platform.md#limits). */
const PLATFORM_PER_SECOND = 30;

export function createTargetLimiter({ kind, limits }: Pick<Target, 'kind' | 'limits'>): TargetLimiter {
  const { share, requestsPerSecond } = limits;
  // A configured rate is the user's word: it is neither lowered to the documented one nor approached slowly.
  const documented = kind === 'platform' ? PLATFORM_PER_SECOND * share : undefined;
  return createLimiter({ share, requestsPerSecond, startPerSecond: requestsPerSecond ?? documented });
}
