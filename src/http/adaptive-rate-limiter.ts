import type { RateLimitInfo } from './rate-limit-headers.ts';

export interface RateLimiterOptions {
  /** Fraction of an advertised limit to use. */
  readonly share: number;
  /** Upper bound from the configuration. @default none */
  readonly requestsPerSecond?: number | undefined;
  /** Requests per second to begin with, until the service advertises a limit, throttles, or accepts more. @default it is looked for */
  readonly startPerSecond?: number | undefined;
}

export interface Ticket {
  readonly number: number;
  readonly sentMs: number;
}

/** A limit that counts requests in windows, as headers describe it: what remains may be sent, and the limit again after the reset. */
interface RateWindow {
  readonly limit: number;
  readonly lengthMs: number;
  /** The earliest end that a response has named, by the clock at its arrival. */
  endMs: number;
  budget: number;
  /** The latest request that a response was received for. */
  ticket: number;
  /** Its first request was sent, or may be, and has no response yet. */
  isUnconfirmed: boolean;
}

/** Requests within a window are spread over this part of it. */
const SPREAD_PART = 1 / 6;
const MAX_SPACING_MS = 33;
/** Tolerance for rounding in headers: `X-RateLimit-Reset` has millisecond resolution. */
const MARGIN_MS = 3;
/** A service counts a request when it arrives: so much of a round trip may pass after the window that it was sent in. */
const EARLY_PART = 0.8;
/** A new window has at least this part of its limit left. */
const NEW_WINDOW_PART = 0.75;
/** A response ends this wait for that of the first request in a window earlier. */
const WINDOW_WAIT_MS = 50;
/** Throttled responses, and windows that do not begin when the headers say so, without one that does, until the headers are wrong. */
const MAX_CONTRADICTIONS = 3;
/** Of a shorter window, what headers name is the time until the next request. */
const MIN_LENGTH_MS = 1000;
/** Timers are late by so much at most. At 27 requests per second, no window of one second, wherever it begins, sees more than 30. */
const LATE_MS = 5;

/** The first rate of a service that documents none. */
const FIRST_PER_SECOND = 64;
const MIN_PER_SECOND = 1;
/** The service is faster than any client. */
const MAX_PER_SECOND = 4096;
/** It rises by this factor until the first throttled response. */
const RISE_MS = 250;
const RISE = 1.5;
/** Near a documented rate: half in a second, so that next to nothing is throttled where it is the limit. */
const DOCUMENTED_RISE = 1.1;
/** Below the measured rate after a throttled response, and the accepted requests until it is reached again. */
const DECREASE = 0.11;
const RECOVERY_REQUESTS = 650;
/** A rate at which fewer requests were accepted is probably not the limit, which is then looked for faster. */
const RELIABLE_REQUESTS = 60;
const UNRELIABLE_REQUESTS = 195;
/** The rate is measured over a second, and over so many requests at least. */
const MEASURED_MS = 1000;
const MEASURED_REQUESTS = 20;

/** A rate that rises until something is throttled. Then it falls below what was accepted, and rises linearly. */
class LearnedRate {
  readonly #maxPerSecond: number;
  perSecond = 0;
  #documented = 0;
  #nextRiseMs = 0;
  /** What each accepted request adds; undefined until something was throttled. */
  #recovery: number | undefined;
  /** Since the last throttled response. */
  #accepted = 0;
  readonly #acceptedMs: number[] = [];
  /** Requests up to this ticket were sent at the rate that was too high. */
  #fallenAtTicket = 0;

  constructor(maxPerSecond: number) {
    this.#maxPerSecond = maxPerSecond;
  }

  start(documented = 0): void {
    this.#documented = documented;
    this.perSecond = Math.min(documented || FIRST_PER_SECOND, this.#maxPerSecond);
    this.#recovery = undefined;
  }

  onAccepted(nowMs: number): void {
    this.#accepted++;
    this.#acceptedMs.push(nowMs);
    this.#forgetOld(nowMs);
    if (this.#recovery !== undefined) this.perSecond += this.#recovery;
    else if (nowMs >= this.#nextRiseMs) {
      const isNear = this.perSecond < this.#documented * RISE;
      if (this.#nextRiseMs > 0) this.perSecond *= isNear ? DOCUMENTED_RISE : RISE;
      this.#nextRiseMs = nowMs + RISE_MS;
    }
    this.perSecond = Math.min(this.perSecond, this.#maxPerSecond);
  }

  onThrottled(ticket: number, lastTicket: number, nowMs: number): void {
    if (ticket <= this.#fallenAtTicket) return;
    this.#fallenAtTicket = lastTicket;
    const measured = Math.max(MIN_PER_SECOND, this.#measure(nowMs));
    const requests = this.#accepted < RELIABLE_REQUESTS ? UNRELIABLE_REQUESTS : RECOVERY_REQUESTS;
    this.#recovery = (measured * DECREASE) / requests;
    this.perSecond = measured * (1 - DECREASE);
    this.#accepted = 0;
  }

  /** What was accepted of late; a documented rate, or half of the present one, where that is too little to tell. */
  #measure(nowMs: number): number {
    this.#forgetOld(nowMs);
    const { length, 0: first = nowMs } = this.#acceptedMs;
    const measured =
      length < MEASURED_REQUESTS
        ? Math.max(this.perSecond / 2, this.#documented)
        : (length / Math.max(MEASURED_MS, nowMs - first)) * 1000;
    return Math.min(this.perSecond, measured);
  }

  #forgetOld(nowMs: number): void {
    const recent = this.#acceptedMs;
    while (recent.length > MEASURED_REQUESTS && recent[0]! <= nowMs - MEASURED_MS) recent.shift();
  }
}

/**
 * Decides when the next request may be sent: within the window that headers describe; without headers, or where they prove wrong, at a
 * rate that increases additively and decreases multiplicatively. docs/decisions.md#rate-limits says why. Pure arithmetic over a clock
 * that the caller passes in; all times are milliseconds of that clock.
 */
export class AdaptiveRateLimiter {
  readonly #share: number;
  readonly #maxPerSecond: number;
  readonly #rate: LearnedRate;
  /** The number of the last ticket. */
  #last = 0;
  /** When the next request is due at the rate, and after a pause. */
  #dueMs = 0;
  #window: RateWindow | undefined;
  #contradictions = 0;
  /** The shortest so far: the first ones open connections. */
  #roundTripMs = Number.POSITIVE_INFINITY;

  constructor({ share, requestsPerSecond = MAX_PER_SECOND, startPerSecond }: RateLimiterOptions) {
    this.#share = share;
    this.#maxPerSecond = requestsPerSecond;
    this.#rate = new LearnedRate(requestsPerSecond);
    this.#rate.start(startPerSecond);
  }

  /** @returns the ticket of the request that may be sent now; otherwise the milliseconds until the next attempt */
  tryAcquire(nowMs: number): Ticket | number {
    const window = this.#window;
    const waitMs = Math.max(this.#dueMs - nowMs, window ? this.#windowWaitMs(window, nowMs) : 0);
    if (waitMs > 0) return waitMs;
    if (window) window.budget--;
    const spreadMs = window ? Math.min(MAX_SPACING_MS, (window.lengthMs * SPREAD_PART) / window.limit) : 0;
    const spacingMs = 1000 / (window ? this.#maxPerSecond : this.#rate.perSecond);
    this.#dueMs = Math.max(this.#dueMs + spacingMs, nowMs - LATE_MS + spacingMs, nowMs + spreadMs);
    return { number: ++this.#last, sentMs: nowMs };
  }

  /** Learns from a response to a request; redirects are further responses. */
  onResponse(ticket: Ticket, nowMs: number, info: RateLimitInfo | undefined, isThrottled: boolean): void {
    if (nowMs > ticket.sentMs) this.#roundTripMs = Math.min(this.#roundTripMs, nowMs - ticket.sentMs);
    if (isThrottled) this.#rate.onThrottled(ticket.number, this.#last, nowMs);
    else this.#rate.onAccepted(nowMs);
    if (this.#contradictions >= MAX_CONTRADICTIONS) return;
    if (info) this.#observe(ticket.number, nowMs, info);
    if (isThrottled) this.#contradictions++;
    if (this.#contradictions >= MAX_CONTRADICTIONS) this.#ignoreHeaders();
  }

  /** A request has no response. Where it was the first of a window, the next one is. */
  onNoResponse(): void {
    if (this.#window?.isUnconfirmed) this.#window.budget = 1;
  }

  pauseUntil(untilMs: number): void {
    this.#dueMs = Math.max(this.#dueMs, untilMs);
  }

  #windowWaitMs(window: RateWindow, nowMs: number): number {
    const earlyMs = Number.isFinite(this.#roundTripMs) ? this.#roundTripMs * EARLY_PART : 0;
    if (nowMs >= window.endMs - earlyMs) {
      const endMs = nowMs + window.lengthMs;
      Object.assign(window, { endMs, budget: 1, ticket: this.#last, isUnconfirmed: true });
    }
    if (window.budget >= 1) return 0;
    return window.isUnconfirmed ? WINDOW_WAIT_MS : window.endMs - earlyMs - nowMs;
  }

  #observe(ticket: number, nowMs: number, { limit, remaining, resetMs }: RateLimitInfo): void {
    const window = this.#window;
    if (window && ticket <= window.ticket) return;
    const endMs = nowMs + resetMs + MARGIN_MS;
    const isSame = window?.limit === limit && !window.isUnconfirmed && window.endMs > nowMs;
    const reserved = limit - Math.max(1, Math.floor(limit * this.#share));
    this.#window = {
      limit,
      lengthMs: Math.max(resetMs, (window?.limit === limit && window.lengthMs) || 1),
      endMs: isSame ? Math.min(window.endMs, endMs) : endMs,
      budget: remaining - reserved - (this.#last - ticket),
      ticket,
      isUnconfirmed: false,
    };
    if (!window?.isUnconfirmed) return;
    this.#contradictions = remaining + 1 < limit * NEW_WINDOW_PART ? this.#contradictions + 1 : 0;
  }

  /** The rate that wrong headers describe is the documented one. */
  #ignoreHeaders(): void {
    if (!this.#window) return;
    this.#rate.start((this.#window.limit / Math.max(MIN_LENGTH_MS, this.#window.lengthMs)) * 1000);
    this.#window = undefined;
  }
}
