import { LearnedRate } from './learned-rate.ts';
import type { RateLimitInfo } from './rate-limit-headers.ts';
import { WindowModel } from './window-model.ts';

export interface RateLimiterOptions {
  /** Fraction of an advertised or measured limit to use. */
  readonly share: number;
  /** Upper bound from the configuration. @default none */
  readonly requestsPerSecond?: number | undefined;
  /** Requests per second to begin with, until the service advertises a limit, throttles, or accepts more. @default no limit */
  readonly startPerSecond?: number | undefined;
}

/** `waitMs: 0` with the ticket of the request that may be sent now; otherwise the time until the next attempt. */
export interface Acquisition {
  readonly waitMs: number;
  readonly ticket: number;
}

/** Burst in seconds of the rate. At 27 requests per second, no window of one second, wherever it begins, sees more than 30. */
const BURST_SECONDS = 0.03;
/** An advertised window bounds a burst already; the configured bound is then an average. */
const WINDOW_BURST_SECONDS = 0.5;
/** Requests that are sent together to a service whose rate is not known. */
const FIRST_BURST = 2;
/** While a rate is probed, a response ends the wait earlier. */
const PROBE_WAIT_MS = 5;

/**
 * Decides when the next request may be sent: within the window that headers describe, else at a rate that is learned from throttled
 * responses. docs/decisions.md#rate-limits says why. Pure arithmetic over a clock that the caller passes in; all times are milliseconds of that clock.
 */
export class AdaptiveRateLimiter {
  readonly #maxPerSecond: number;
  readonly #window: WindowModel;
  readonly #learned: LearnedRate;
  /** When they were sent, by ticket. */
  readonly #inFlight = new Map<number, number>();
  #lastTicket = 0;
  #pausedUntilMs = 0;
  #tokens: number;
  #filledAtMs: number | undefined;

  constructor({ share, requestsPerSecond, startPerSecond }: RateLimiterOptions) {
    this.#maxPerSecond = requestsPerSecond ?? Number.POSITIVE_INFINITY;
    this.#window = new WindowModel(share);
    this.#learned = new LearnedRate(startPerSecond, this.#maxPerSecond);
    this.#tokens = startPerSecond === undefined ? FIRST_BURST : 1;
  }

  get model(): 'window' | 'learned' {
    return this.#window.isKnown && !this.#window.isContradicted ? 'window' : 'learned';
  }

  /** Takes a ticket if a request may be sent now; otherwise takes nothing. */
  tryAcquire(nowMs: number): Acquisition {
    const waitMs = Math.max(this.#pausedUntilMs - nowMs, this.#modelWaitMs(nowMs), this.#rateWaitMs(nowMs));
    if (waitMs > 0) return { waitMs, ticket: 0 };
    this.#tokens--;
    this.#window.onSent(nowMs);
    this.#inFlight.set(++this.#lastTicket, nowMs);
    return { waitMs: 0, ticket: this.#lastTicket };
  }

  /** Learns from a response to the request with this ticket; redirects are further responses. */
  onResponse(ticket: number, nowMs: number, info: RateLimitInfo | undefined, isThrottled: boolean): void {
    const sentMs = this.#inFlight.get(ticket) ?? nowMs;
    this.#inFlight.delete(ticket);
    this.#learn(ticket, nowMs, isThrottled);
    const { model } = this;
    if (info) this.#window.observe({ ticket, sentMs, nowMs, lastTicket: this.#lastTicket }, info);
    if (isThrottled) this.#window.onThrottled(info !== undefined && info.remaining < 1);
    if (model !== this.model && model === 'window') this.#learned.assume(this.#window.perSecond, nowMs);
  }

  /** The request with this ticket has no response. */
  onNoResponse(ticket: number): void {
    this.#inFlight.delete(ticket);
    this.#window.onNoResponse();
  }

  /** Sends nothing before this time. */
  pauseUntil(untilMs: number): void {
    this.#pausedUntilMs = Math.max(this.#pausedUntilMs, untilMs);
  }

  #learn(ticket: number, nowMs: number, isThrottled: boolean): void {
    if (isThrottled) this.#learned.onThrottled(ticket, this.#lastTicket, nowMs);
    else this.#learned.onAccepted(nowMs);
  }

  #modelWaitMs(nowMs: number): number {
    if (this.model === 'window') return this.#window.waitMs(nowMs, this.#lastTicket);
    return this.#learned.isProbing && this.#inFlight.size > 0 ? PROBE_WAIT_MS : 0;
  }

  /** A token bucket whose rate changes. */
  #rateWaitMs(nowMs: number): number {
    const isWindow = this.model === 'window';
    const perSecond = isWindow ? this.#maxPerSecond : Math.min(this.#maxPerSecond, this.#learned.perSecond);
    if (!Number.isFinite(perSecond)) {
      this.#filledAtMs = undefined;
      this.#tokens = 1;
      return 0;
    }
    const burst = Math.max(1, perSecond * (isWindow ? WINDOW_BURST_SECONDS : BURST_SECONDS));
    const refill = ((nowMs - (this.#filledAtMs ?? nowMs)) / 1000) * perSecond;
    this.#tokens = Math.min(burst, this.#tokens + refill);
    this.#filledAtMs = nowMs;
    return this.#tokens >= 1 ? 0 : ((1 - this.#tokens) / perSecond) * 1000;
  }
}
