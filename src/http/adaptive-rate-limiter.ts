import { LearnedRate } from './learned-rate.ts';
import type { RateLimitInfo } from './rate-limit-headers.ts';
import { RefillModel } from './refill-model.ts';
import { type SentRequest, WindowModel } from './window-model.ts';

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
const HEADERLESS_BURST = 0.03;
/** Requests that are sent together to a service whose rate is not known. */
const FIRST_BURST = 2;
const FIRST_BURST_SECONDS = 0.03;
const PROBE_WAIT_MS = 5;
/** An advertised window bounds a burst already; the configured bound is then an average. */
const ADVERTISED_BURST = 0.5;
/** Headers are ignored after this number of throttled responses contradict them. */
const MAX_SURPRISES = 2;
/** Headers are ignored after this number of throttled requests, if these are also this part of all requests. */
const MAX_EVENTS = 4;
const MAX_EVENTS_PART = 0.01;
/** Headers are ignored after their limit changes this number of times. */
const MAX_LIMIT_CHANGES = 4;
/** Responses after which a `remaining` that is always 0 says nothing. */
const EMPTY_RESPONSES = 5;

/**
 * What the limit of a service is taken for: `window`, as headers describe it; `refill`, when what remains grows between responses;
 * `learned`, without headers, or with headers that proved wrong.
 */
export type LimitModel = 'window' | 'refill' | 'learned';

/**
 * Decides when the next request may be sent. docs/decisions/0023-rate-limits.md describes the three models. Pure arithmetic over a clock that the
 * caller passes in; all times are milliseconds of that clock.
 */
export class AdaptiveRateLimiter {
  readonly #share: number;
  readonly #maxPerSecond: number;
  readonly #bucket: TokenBucket;
  readonly #window: WindowModel;
  readonly #refill = new RefillModel();
  readonly #learned: LearnedRate;
  readonly #sent = new Map<number, SentRequest>();
  #model: LimitModel = 'learned';
  #areHeadersIgnored = false;
  #lastTicket = 0;
  #pausedUntilMs = 0;
  #shortestRoundTripMs = Number.POSITIVE_INFINITY;
  #responses = 0;
  #throttled = 0;
  #surprises = 0;
  /** Throttled responses to requests that were not sent together. */
  #events = 0;
  #limit: number | undefined;
  #limitChanges = 0;
  #decreasedAtTicket = 0;

  constructor({ share, requestsPerSecond, startPerSecond }: RateLimiterOptions) {
    this.#share = share;
    this.#maxPerSecond = requestsPerSecond ?? Number.POSITIVE_INFINITY;
    this.#window = new WindowModel(share);
    this.#learned = new LearnedRate(startPerSecond, this.#maxPerSecond);
    this.#bucket = new TokenBucket(startPerSecond === undefined ? FIRST_BURST : 1);
  }

  get model(): LimitModel {
    return this.#model;
  }

  /** Requests per second that are allowed now; infinite while nothing limits them. */
  get perSecond(): number {
    return Math.min(this.#maxPerSecond, this.#modelPerSecond());
  }

  /** Takes a ticket if a request may be sent now; otherwise takes nothing. */
  tryAcquire(nowMs: number): Acquisition {
    const waitMs = Math.max(
      this.#pausedUntilMs - nowMs,
      this.#modelWaitMs(nowMs),
      this.#bucket.waitMs(nowMs, this.perSecond, this.#burstSeconds()),
    );
    if (waitMs > 0) return { waitMs, ticket: 0 };
    this.#bucket.take();
    this.#window.onSent(nowMs);
    const ticket = ++this.#lastTicket;
    this.#sent.set(ticket, { atMs: nowMs, inFlight: this.#sent.size });
    return { waitMs: 0, ticket };
  }

  /** Learns from a response to the request with this ticket; redirects are further responses. */
  onResponse(ticket: number, nowMs: number, info: RateLimitInfo | undefined, isThrottled: boolean): void {
    const sent = this.#sent.get(ticket);
    if (sent) this.#shortestRoundTripMs = Math.min(this.#shortestRoundTripMs, nowMs - sent.atMs);
    this.#sent.delete(ticket);
    this.#responses++;
    if (isThrottled) this.#throttled++;
    if (isThrottled) this.#learned.onThrottled(ticket, this.#lastTicket, nowMs);
    else this.#learned.onAccepted(nowMs);
    if (info && !this.#areHeadersIgnored) this.#observeHeaders(ticket, nowMs, info, isThrottled, sent);
    if (isThrottled) this.#onThrottled(ticket, nowMs, info);
    this.#chooseModel(info);
  }

  /** The request with this ticket has no response. */
  onNoResponse(ticket: number): void {
    this.#sent.delete(ticket);
  }

  /** Sends nothing before this time. */
  pauseUntil(untilMs: number): void {
    this.#pausedUntilMs = Math.max(this.#pausedUntilMs, untilMs);
  }

  #burstSeconds(): number {
    if (this.#model === 'window') return ADVERTISED_BURST;
    return this.#learned.isUnlimited ? FIRST_BURST_SECONDS : HEADERLESS_BURST;
  }

  #modelPerSecond(): number {
    if (this.#model === 'window') return Number.POSITIVE_INFINITY;
    if (this.#model === 'learned') return this.#learned.perSecond;
    const { perSecond, fullness } = this.#refill;
    if (this.#share < 1) return perSecond * this.#share;
    // Hovers where the bucket is neither full, which would hide its refill, nor empty.
    return perSecond * (fullness > 0.25 ? 1.1 : fullness < 0.1 ? 0.95 : 1);
  }

  #modelWaitMs(nowMs: number): number {
    // 5 ms: a response ends the wait earlier.
    if (this.#model === 'learned') return this.#learned.isProbing && this.#sent.size > 0 ? PROBE_WAIT_MS : 0;
    if (this.#model === 'window') return this.#window.waitMs(nowMs, this.#lastTicket, this.#sent.size);
    const reserve = Math.floor((1 - this.#share) * this.#refill.mostRemaining);
    return this.#refill.waitMs(nowMs, this.#lastTicket, this.#roundTripMs, reserve);
  }

  get #roundTripMs(): number {
    return Number.isFinite(this.#shortestRoundTripMs) ? this.#shortestRoundTripMs : 0;
  }

  #observeHeaders(
    ticket: number,
    nowMs: number,
    info: RateLimitInfo,
    isThrottled: boolean,
    sent: SentRequest | undefined,
  ): void {
    const { lastTicket, roundTripMs, throttled } = {
      lastTicket: this.#lastTicket,
      roundTripMs: this.#roundTripMs,
      throttled: this.#throttled,
    };
    if (this.#limit !== undefined && info.limit !== this.#limit) this.#limitChanges++;
    this.#limit = info.limit;
    this.#refill.observe(ticket, nowMs, info.remaining, isThrottled);
    this.#window.observe(ticket, nowMs, info, { lastTicket, roundTripMs, throttled, sent });
  }

  #onThrottled(ticket: number, nowMs: number, info: RateLimitInfo | undefined): void {
    if (this.#model === 'learned') return;
    if (!info || info.remaining >= 1) this.#surprises++;
    if (ticket <= this.#decreasedAtTicket) return;
    this.#events++;
    this.#decreasedAtTicket = this.#lastTicket;
    this.#window.onThrottled();
    this.#refill.decrease(nowMs);
  }

  #chooseModel(info: RateLimitInfo | undefined): void {
    if (this.#areHeadersIgnored || (!info && this.#model === 'learned')) return;
    const isOftenThrottled = this.#events >= MAX_EVENTS && this.#events > this.#responses * MAX_EVENTS_PART;
    const isEmpty = this.#refill.mostRemaining === 0 && this.#responses - this.#throttled >= EMPTY_RESPONSES;
    this.#areHeadersIgnored =
      this.#surprises >= MAX_SURPRISES || this.#limitChanges >= MAX_LIMIT_CHANGES || isOftenThrottled || isEmpty;
    if (this.#areHeadersIgnored) this.#model = 'learned';
    else this.#model = this.#model === 'refill' || this.#window.isContradicted ? 'refill' : 'window';
  }
}

/** A token bucket whose rate may change between calls. */
export class TokenBucket {
  #tokens: number;
  #lastMs: number | undefined;

  constructor(tokens = 1) {
    this.#tokens = tokens;
  }

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
