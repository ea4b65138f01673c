import pLimit from 'p-limit';
import type { TargetKind } from '../config/config.ts';
import { formatSeconds } from '../core/duration.ts';
import type { Log } from '../core/log.ts';
import { parseRateLimit, type RateLimitInfo } from './rate-limit-headers.ts';
import { sleep } from './retry.ts';

export interface RateLimiterOptions {
  /** Fraction of an advertised or measured limit to use. */
  readonly share: number;
  /** Upper bound from the configuration. @default none */
  readonly requestsPerSecond?: number | undefined;
  /** Requests per second until the service advertises a limit or throttles. @default no limit */
  readonly startPerSecond?: number | undefined;
}

/** `waitMs: 0` with the ticket of the request that may be sent now; otherwise the time until the next attempt. */
export interface Acquisition {
  readonly waitMs: number;
  readonly ticket: number;
}

/** Requests within an advertised window are spread over a sixth of it. */
const SPREAD = 6;
const MAX_SPACING_MS = 33;
/** Tolerance for rounding in headers: `X-RateLimit-Reset` has millisecond resolution. */
const WINDOW_MARGIN_MS = 3;
/** Multiplicative decrease when throttled, applied to the measured rate … */
const DECREASE = 0.9;
/** … and additive increase, in requests per second for each second without throttling. */
const INCREASE_PER_SECOND = 0.5;
const MEASURE_MS = 1000;
const MIN_MEASURED = 3;
/** Above this multiple of the rate of the last decrease, that rate is considered too low and is raised faster. */
const PROBE_THRESHOLD = 1.5;
const PROBE_INCREASE_PER_SECOND = 4;
/** Used when throttled before anything could be measured: other clients share the limit. */
const UNMEASURED_PER_SECOND = 20;
const UNMEASURED_DECREASE = 0.7;
/** Burst in seconds of the rate. At 27 requests per second, no window of one second, wherever it begins, sees more than 30. */
const HEADERLESS_BURST = 0.1;
/** An advertised window bounds a burst already; the configured bound is then an average. */
const ADVERTISED_BURST = 0.5;
/** How long a guessed window stays valid without a response. */
const GUESS_MS = 1000;

/** A window of the service's limit, as far as responses have shown it. */
interface RateWindow {
  readonly limit: number;
  readonly lengthMs: number;
  endMs: number;
  budget: number;
  /** The first ticket that counts in it. */
  firstTicket: number;
  /** `remaining` of its latest response. */
  lastRemaining: number;
}

/**
 * Decides when the next request may be sent: within the window that the service advertises in its headers, otherwise at a rate
 * learned from throttled responses (additive increase, multiplicative decrease). Pure arithmetic over a clock that the caller
 * passes in; all times are milliseconds of that clock.
 */
export class AdaptiveRateLimiter {
  readonly #share: number;
  readonly #maxPerSecond: number;
  readonly #startPerSecond: number;
  readonly #bucket = new TokenBucket();
  #lastTicket = 0;
  #pausedUntilMs = 0;
  #learnedPerSecond: number;
  #decreasedAtTicket = 0;
  #decreasedToPerSecond = Number.POSITIVE_INFINITY;
  #acceptedAtMs: number[] = [];
  #window: RateWindow | undefined;
  #nextInWindowAtMs = 0;
  /** Requests that may be sent into a new window before one of its responses confirms what is left. */
  #unconfirmedBudget = Number.POSITIVE_INFINITY;
  readonly #sentAtMs = new Map<number, number>();
  #shortestRoundTripMs = Number.POSITIVE_INFINITY;

  constructor({ share, requestsPerSecond, startPerSecond }: RateLimiterOptions) {
    this.#share = share;
    this.#maxPerSecond = requestsPerSecond ?? Number.POSITIVE_INFINITY;
    this.#startPerSecond = startPerSecond ?? Number.POSITIVE_INFINITY;
    this.#learnedPerSecond = this.#startPerSecond;
  }

  /** Requests per second that are allowed now; infinite while nothing limits them. */
  get perSecond(): number {
    return Math.min(this.#maxPerSecond, this.#window ? Number.POSITIVE_INFINITY : this.#learnedPerSecond);
  }

  /** Takes a ticket if a request may be sent now; otherwise takes nothing. */
  tryAcquire(nowMs: number): Acquisition {
    const waitMs = Math.max(
      this.#pausedUntilMs - nowMs,
      this.#windowWaitMs(nowMs),
      this.#bucket.waitMs(nowMs, this.perSecond, this.#window ? ADVERTISED_BURST : HEADERLESS_BURST),
    );
    if (waitMs > 0) return { waitMs, ticket: 0 };
    this.#bucket.take();
    const ticket = ++this.#lastTicket;
    this.#sentAtMs.set(ticket, nowMs);
    if (this.#window) {
      this.#window.budget--;
      this.#nextInWindowAtMs = nowMs + Math.min(MAX_SPACING_MS, this.#window.lengthMs / (SPREAD * this.#window.limit));
    }
    return { waitMs: 0, ticket };
  }

  /** Learns from a response to the request with this ticket; redirects are further responses. */
  onResponse(ticket: number, nowMs: number, info: RateLimitInfo | undefined, isThrottled: boolean): void {
    const sentAtMs = this.#sentAtMs.get(ticket);
    if (sentAtMs !== undefined) this.#shortestRoundTripMs = Math.min(this.#shortestRoundTripMs, nowMs - sentAtMs);
    this.#sentAtMs.delete(ticket);
    if (info && isThrottled) {
      // A sliding window is not empty when one ends: from now on only a few requests go ahead of the next response.
      this.#unconfirmedBudget = Math.max(1, Math.floor(Math.min(this.#unconfirmedBudget, info.limit) / 4));
    }
    if (info) this.#updateFromHeaders(ticket, nowMs, info);
    else this.#updateFromStatus(ticket, nowMs, isThrottled);
  }

  /** Sends nothing before this time. */
  pauseUntil(untilMs: number): void {
    this.#pausedUntilMs = Math.max(this.#pausedUntilMs, untilMs);
  }

  #windowWaitMs(nowMs: number): number {
    const window = this.#window;
    if (!window) return 0;
    if (nowMs >= window.endMs) {
      const isGuess = Number.isFinite(this.#unconfirmedBudget);
      window.endMs = nowMs + (isGuess ? Math.min(GUESS_MS, window.lengthMs) : window.lengthMs);
      window.budget = Math.min(this.#unconfirmedBudget, shareOfLimit(window.limit, this.#share));
      window.firstTicket = this.#lastTicket + 1;
      window.lastRemaining = -1;
    }
    return window.budget >= 1 ? Math.max(0, this.#nextInWindowAtMs - nowMs) : window.endMs - nowMs;
  }

  #updateFromHeaders(ticket: number, nowMs: number, { limit, remaining, resetMs }: RateLimitInfo): void {
    const window = this.#window;
    if (window && ticket < window.firstTicket) return;
    const sentSince = this.#lastTicket - ticket;
    const budget = remaining - (limit - shareOfLimit(limit, this.#share)) - sentSince;
    // The service counts a request when it arrives, so the next one may leave a one-way trip before the window ends.
    const endMs = nowMs + resetMs - this.#shortestRoundTripMs + WINDOW_MARGIN_MS;
    if (!window || window.limit !== limit || remaining > window.lastRemaining) {
      const lengthMs = Math.max(resetMs, window?.lengthMs ?? 0, 1);
      this.#window = { limit, lengthMs, endMs, budget, firstTicket: ticket, lastRemaining: remaining };
      return;
    }
    window.budget = Math.min(window.budget, budget);
    window.endMs = Math.min(window.endMs, endMs);
    window.lastRemaining = remaining;
  }

  #updateFromStatus(ticket: number, nowMs: number, isThrottled: boolean): void {
    const accepted = this.#countAccepted(nowMs);
    if (isThrottled) {
      // One decrease for all requests that were sent at the rate that was too high.
      if (ticket <= this.#decreasedAtTicket) return;
      this.#learnedPerSecond = Math.max(1, decreaseRate(this.#learnedPerSecond, accepted));
      this.#decreasedAtTicket = this.#lastTicket;
      this.#decreasedToPerSecond = this.#learnedPerSecond;
      return;
    }
    this.#acceptedAtMs.push(nowMs);
    if (this.#learnedPerSecond >= this.#startPerSecond) return;
    const isProbing = this.#learnedPerSecond > this.#decreasedToPerSecond * PROBE_THRESHOLD;
    const increase = isProbing ? PROBE_INCREASE_PER_SECOND : INCREASE_PER_SECOND;
    this.#learnedPerSecond = Math.min(this.#startPerSecond, this.#learnedPerSecond + increase / this.#learnedPerSecond);
  }

  #countAccepted(nowMs: number): number {
    const first = this.#acceptedAtMs.findIndex((atMs) => atMs > nowMs - MEASURE_MS);
    this.#acceptedAtMs.splice(0, first < 0 ? this.#acceptedAtMs.length : first);
    return this.#acceptedAtMs.length;
  }
}

/** Decreases the rate measured in the last second, or the current rate where that was too little to measure. */
function decreaseRate(perSecond: number, accepted: number): number {
  if (accepted >= MIN_MEASURED) return Math.min(perSecond, accepted) * DECREASE;
  return Math.min(perSecond, UNMEASURED_PER_SECOND) * UNMEASURED_DECREASE;
}

function shareOfLimit(limit: number, share: number): number {
  return Math.max(1, Math.floor(limit * share));
}

/** A token bucket whose rate may change between calls. */
class TokenBucket {
  #tokens = 1;
  #lastMs: number | undefined;

  waitMs(nowMs: number, perSecond: number, burstSeconds: number): number {
    if (!Number.isFinite(perSecond)) {
      this.#lastMs = undefined;
      this.#tokens = 1;
      return 0;
    }
    const burst = Math.max(1, perSecond * burstSeconds);
    const refill = ((nowMs - (this.#lastMs ?? nowMs)) / 1000) * perSecond;
    this.#tokens = Math.min(burst, this.#tokens + refill);
    this.#lastMs = nowMs;
    return this.#tokens >= 1 ? 0 : ((1 - this.#tokens) / perSecond) * 1000;
  }

  take(): void {
    this.#tokens -= 1;
  }
}

export interface AcquireRequest {
  /** Name of the target, for the log. */
  readonly name: string;
  readonly signal: AbortSignal;
  readonly maxWaitMs: number;
  readonly log: Log;
}

export interface Ticket {
  readonly ticket: number;
  readonly waitedMs: number;
}

/** A pause longer than the configuration allows (`maxWait`). */
export class MaxWaitExceededError extends Error {
  constructor(waitMs: number) {
    super(`asked to wait ${formatSeconds(waitMs)}`);
    this.name = 'MaxWaitExceededError';
  }
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

  /** Waits until a request may be sent. @throws MaxWaitExceededError when that takes longer than `maxWaitMs`. */
  async acquire(request: AcquireRequest): Promise<Ticket> {
    const startedMs = performance.now();
    const ticket = await this.#queue(() => this.#nextTicket(request));
    return { ticket, waitedMs: performance.now() - startedMs };
  }

  /** Learns from the status and headers of a response. */
  onResponse(ticket: number, { status, headers }: Pick<Response, 'status' | 'headers'>): void {
    this.#limiter.onResponse(ticket, performance.now(), parseRateLimit(headers, Date.now()), status === 429);
    this.#wake(); // the next request may be allowed earlier now
  }

  /** Pauses all requests for `waitMs` plus jitter, so that they do not all return at the same time. */
  pause(waitMs: number): void {
    const jitterMs = Math.random() * Math.min(MAX_JITTER_MS, waitMs / 10);
    this.#limiter.pauseUntil(performance.now() + waitMs + jitterMs);
  }

  async #nextTicket({ name, signal, maxWaitMs, log }: AcquireRequest): Promise<number> {
    for (let loggedMs = LOGGED_WAIT_MS; ; ) {
      signal.throwIfAborted();
      const { waitMs, ticket } = this.#limiter.tryAcquire(performance.now());
      if (waitMs <= 0) return ticket;
      if (waitMs > maxWaitMs + MAX_JITTER_MS) throw new MaxWaitExceededError(waitMs);
      if (waitMs >= loggedMs) {
        log.info(`${name}: waits ${formatSeconds(waitMs)} for the service's rate limit`);
        loggedMs = waitMs;
      }
      await sleep(waitMs, signal, (wake) => (this.#wake = wake));
    }
  }
}

/** HCP Terraform documents 30 requests per second for each user (docs/services/platform.md#limits). */
const PLATFORM_PER_SECOND = 30;

/** The limiter that a target starts with. */
export function createTargetLimiter(target: {
  readonly kind: TargetKind;
  readonly limits: { readonly requestsPerSecond?: number | undefined; readonly share: number };
}): TargetLimiter {
  const { share, requestsPerSecond } = target.limits;
  const startPerSecond = target.kind === 'platform' ? PLATFORM_PER_SECOND * share : undefined;
  return new TargetLimiter({ share, requestsPerSecond, startPerSecond });
}
