import type { RateLimitInfo } from './rate-limit-headers.ts';

export interface RateLimiterOptions {
  /** Fraction of an advertised limit to use. */
  readonly share: number;
  /** Upper bound from the configuration. @default none */
  readonly requestsPerSecond?: number | undefined;
  /** Requests per second to begin with, until the service advertises a limit, throttles, or accepts more. @default it is looked for */
  readonly startPerSecond?: number | undefined;
}

/** `waitMs: 0` with the ticket of the request that may be sent now; otherwise the time until the next attempt. */
export interface Acquisition {
  readonly waitMs: number;
  readonly ticket: number;
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
/** Of a shorter window, what headers name is the time until the next request. */
const MIN_LENGTH_MS = 1000;
/** A new window has at least this part of its limit left. */
const NEW_WINDOW_PART = 0.75;
/** Windows that do not begin when the headers say so, and throttled responses that they do not explain, until they are wrong. */
const MAX_CONTRADICTIONS = 2;
/** Throttled responses, and the part of all responses, from which on the headers do not describe the limit. */
const MAX_THROTTLED = 3;
const MAX_THROTTLED_PART = 0.01;
/** A response ends these waits earlier: for that of the first request in a window, and of one that was throttled. */
const WINDOW_WAIT_MS = 50;
const PROBE_WAIT_MS = 5;

/** The first rate of a service that documents none. It rises by this factor until the first throttled response. */
const FIRST_PER_SECOND = 64;
const RISE_MS = 250;
const RISE = 1.7;
/** Near a documented rate: half in a second, so that next to nothing is throttled where it is the limit. */
const DOCUMENTED_RISE = 1.1;
/** Where the rate no longer matters: the service is faster than the client. */
const UNLIMITED_PER_SECOND = 4096;
const MIN_PER_SECOND = 1;
/** Below the measured rate after a throttled response, and the accepted requests until it is reached again. */
const DECREASE = 0.1;
const RECOVERY_REQUESTS = 600;
const RECOVERY_SECONDS = 10;
/** A rate at which fewer requests were accepted is probably not the limit, which is then looked for faster. */
const RELIABLE_REQUESTS = 50;
const UNRELIABLE_PART = 0.3;
/** The rate is measured over a second, and over so many requests at least. */
const MEASURED_MS = 1000;
const MEASURED_REQUESTS = 10;
/** Throttled responses that follow each other closely have one cause: the window has not ended. */
const SAME_CAUSE_MS = 1500;
const SAME_CAUSE_ACCEPTED = 3;
/** Burst in seconds of the rate. At 27 requests per second, no window of one second, wherever it begins, sees more than 30. */
const BURST_SECONDS = 0.03;
/** An advertised window bounds a burst already; the configured bound is then an average. */
const WINDOW_BURST_SECONDS = 0.5;

/**
 * Decides when the next request may be sent: within the window that headers describe; without headers, or where they prove wrong, at a
 * rate that increases additively and decreases multiplicatively. docs/decisions.md#rate-limits says why. Pure arithmetic over a clock
 * that the caller passes in; all times are milliseconds of that clock.
 */
export class AdaptiveRateLimiter {
  readonly #share: number;
  readonly #maxPerSecond: number;
  /** When they were sent, by ticket. */
  readonly #inFlight = new Map<number, number>();
  #lastTicket = 0;
  #nextAtMs = 0;
  #tokens = 1;
  #filledAtMs: number | undefined;
  #window: RateWindow | undefined;
  #isContradicted = false;
  #contradictions = 0;
  #responses = 0;
  #throttled = 0;
  /** The shortest so far: the first ones open connections. */
  #roundTripMs = Number.POSITIVE_INFINITY;
  #perSecond: number;
  #documentedPerSecond: number;
  #nextRiseMs = 0;
  /** What was accepted before the last throttled response, and the requests until it is reached again; undefined until there is one. */
  #measured: { readonly perSecond: number; readonly recovery: number } | undefined;
  /** Since the last throttled response. */
  #accepted = 0;
  readonly #acceptedMs: number[] = [];
  #throttledAtMs = Number.NEGATIVE_INFINITY;
  /** Requests up to this ticket were sent at the rate that was too high. */
  #decreasedAtTicket = 0;
  /** The last request was throttled: only one at a time may be in progress. */
  #isProbing = false;

  constructor({ share, requestsPerSecond, startPerSecond }: RateLimiterOptions) {
    this.#share = share;
    this.#maxPerSecond = requestsPerSecond ?? Number.POSITIVE_INFINITY;
    this.#documentedPerSecond = startPerSecond ?? 0;
    this.#perSecond = startPerSecond ?? FIRST_PER_SECOND;
  }

  get model(): 'window' | 'learned' {
    return this.#window ? 'window' : 'learned';
  }

  /** Takes a ticket if a request may be sent now; otherwise takes nothing. */
  tryAcquire(nowMs: number): Acquisition {
    const modelWaitMs = this.#window ? this.#windowWaitMs(this.#window, nowMs) : this.#probeWaitMs();
    const waitMs = Math.max(this.#nextAtMs - nowMs, modelWaitMs, this.#rateWaitMs(nowMs));
    if (waitMs > 0) return { waitMs, ticket: 0 };
    this.#tokens--;
    this.#inFlight.set(++this.#lastTicket, nowMs);
    if (this.#window) {
      this.#window.budget--;
      this.#nextAtMs = nowMs + Math.min(MAX_SPACING_MS, (this.#window.lengthMs * SPREAD_PART) / this.#window.limit);
    }
    return { waitMs: 0, ticket: this.#lastTicket };
  }

  /** Learns from a response to the request with this ticket; redirects are further responses. */
  onResponse(ticket: number, nowMs: number, info: RateLimitInfo | undefined, isThrottled: boolean): void {
    const sentMs = this.#inFlight.get(ticket) ?? nowMs;
    if (nowMs > sentMs) this.#roundTripMs = Math.min(this.#roundTripMs, nowMs - sentMs);
    this.#inFlight.delete(ticket);
    if (isThrottled) this.#decrease(ticket, nowMs);
    else this.#increase(nowMs);
    if (this.#isContradicted) return;
    if (info) this.#observe(ticket, nowMs, info);
    if (isThrottled) this.#compareThrottled(info);
  }

  /** The request with this ticket has no response. Where it was the first of a window, the next one is. */
  onNoResponse(ticket: number): void {
    this.#inFlight.delete(ticket);
    if (this.#window?.isUnconfirmed) this.#window.budget = 1;
  }

  /** Sends nothing before this time. */
  pauseUntil(untilMs: number): void {
    this.#nextAtMs = Math.max(this.#nextAtMs, untilMs);
  }

  #probeWaitMs(): number {
    return this.#isProbing && this.#inFlight.size > 0 ? PROBE_WAIT_MS : 0;
  }

  #windowWaitMs(window: RateWindow, nowMs: number): number {
    const earlyMs = Number.isFinite(this.#roundTripMs) ? this.#roundTripMs * EARLY_PART : 0;
    if (nowMs >= window.endMs - earlyMs) {
      const endMs = nowMs + window.lengthMs;
      Object.assign(window, { endMs, budget: 1, ticket: this.#lastTicket, isUnconfirmed: true });
    }
    if (window.budget >= 1) return 0;
    return window.isUnconfirmed ? WINDOW_WAIT_MS : window.endMs - earlyMs - nowMs;
  }

  /** A token bucket whose rate changes. */
  #rateWaitMs(nowMs: number): number {
    const isUnlimited = this.#window !== undefined || this.#perSecond >= UNLIMITED_PER_SECOND;
    const perSecond = Math.min(this.#maxPerSecond, isUnlimited ? Number.POSITIVE_INFINITY : this.#perSecond);
    const elapsedMs = nowMs - (this.#filledAtMs ?? nowMs);
    this.#filledAtMs = nowMs;
    if (!Number.isFinite(perSecond)) this.#tokens = 1;
    else {
      const burst = Math.max(1, perSecond * (this.#window ? WINDOW_BURST_SECONDS : BURST_SECONDS));
      this.#tokens = Math.min(burst, this.#tokens + (elapsedMs / 1000) * perSecond);
    }
    return this.#tokens >= 1 ? 0 : ((1 - this.#tokens) / perSecond) * 1000;
  }

  #observe(ticket: number, nowMs: number, { limit, remaining, resetMs }: RateLimitInfo): void {
    const window = this.#window;
    this.#responses++;
    if (window && ticket <= window.ticket) return;
    const endMs = nowMs + resetMs + MARGIN_MS;
    const isSame = window?.limit === limit && !window.isUnconfirmed && window.endMs > nowMs;
    const reserved = limit - Math.max(1, Math.floor(limit * this.#share));
    this.#window = {
      limit,
      lengthMs: Math.max(resetMs, (window?.limit === limit && window.lengthMs) || 1),
      endMs: isSame ? Math.min(window.endMs, endMs) : endMs,
      budget: remaining - reserved - (this.#lastTicket - ticket),
      ticket,
      isUnconfirmed: false,
    };
    if (!window?.isUnconfirmed) return;
    this.#contradictions = remaining + 1 >= limit * NEW_WINDOW_PART ? 0 : this.#contradictions + 1;
    this.#judgeWindow();
  }

  /** A throttled response is explained where nothing remains. */
  #compareThrottled(info: RateLimitInfo | undefined): void {
    this.#throttled++;
    if (!info || info.remaining >= 1) this.#contradictions++;
    else if (this.#window) this.#window.budget = 0;
    this.#judgeWindow();
  }

  /** Where the headers are wrong, the rate that they describe is the documented one. */
  #judgeWindow(): void {
    const isOftenThrottled = this.#throttled >= MAX_THROTTLED && this.#throttled > this.#responses * MAX_THROTTLED_PART;
    if (!isOftenThrottled && this.#contradictions < MAX_CONTRADICTIONS) return;
    this.#isContradicted = true;
    if (!this.#window) return;
    const { limit, lengthMs } = this.#window;
    this.#documentedPerSecond = (limit / Math.max(MIN_LENGTH_MS, lengthMs)) * 1000;
    this.#perSecond = this.#documentedPerSecond;
    this.#measured = undefined;
    this.#window = undefined;
  }

  #increase(nowMs: number): void {
    this.#isProbing = false;
    this.#accepted++;
    this.#acceptedMs.push(nowMs);
    this.#forgetOld(nowMs);
    if (this.#measured) {
      const { perSecond, recovery } = this.#measured;
      this.#perSecond += ((perSecond * DECREASE) / recovery) * Math.max(1, this.#accepted / recovery);
    } else if (nowMs >= this.#nextRiseMs) {
      const isNear = this.#perSecond < this.#documentedPerSecond * RISE;
      if (this.#nextRiseMs > 0) this.#perSecond *= isNear ? DOCUMENTED_RISE : RISE;
      this.#nextRiseMs = nowMs + RISE_MS;
    }
  }

  #decrease(ticket: number, nowMs: number): void {
    if (ticket <= this.#decreasedAtTicket) return;
    this.#decreasedAtTicket = this.#lastTicket;
    this.#isProbing = true;
    const isSameCause = this.#accepted < SAME_CAUSE_ACCEPTED && nowMs - this.#throttledAtMs < SAME_CAUSE_MS;
    if (!isSameCause) {
      const perSecond = Math.max(MIN_PER_SECOND, this.#measure(nowMs));
      const isReliable = this.#accepted >= RELIABLE_REQUESTS;
      const recovery = Math.max(RECOVERY_REQUESTS, RECOVERY_SECONDS * perSecond) * (isReliable ? 1 : UNRELIABLE_PART);
      this.#measured = { perSecond, recovery };
      this.#perSecond = perSecond * (1 - DECREASE);
      this.#throttledAtMs = nowMs;
    }
    this.#accepted = 0;
  }

  /** What was accepted of late. Where that is too little to tell, a documented rate stays, and another one is halved. */
  #measure(nowMs: number): number {
    this.#forgetOld(nowMs);
    const current = Math.min(this.#perSecond, this.#maxPerSecond, UNLIMITED_PER_SECOND);
    const { length, 0: first = nowMs } = this.#acceptedMs;
    const accepted = (length / Math.max(MEASURED_MS, nowMs - first)) * 1000;
    const guessed = Math.max(current / 2, this.#documentedPerSecond);
    return Math.min(current, length < MEASURED_REQUESTS ? guessed : accepted);
  }

  #forgetOld(nowMs: number): void {
    const recent = this.#acceptedMs;
    while (recent.length > MEASURED_REQUESTS && recent[0]! <= nowMs - MEASURED_MS) recent.shift();
  }
}
