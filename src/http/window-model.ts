import type { RateLimitInfo } from './rate-limit-headers.ts';

/** Requests within a window are spread over this part of it. */
const SPREAD_PART = 1 / 6;
const MAX_SPACING_MS = 33;
/** Tolerance for rounding in headers: `X-RateLimit-Reset` has millisecond resolution. */
const MARGIN_MS = 3;
/** Part of a round trip by which a request may leave before the end that a response named. */
const EARLY_PART = 0.8;
/** Of a shorter one, what headers name is the time until the next request. */
const MIN_LENGTH_MS = 1000;
/** A response ends the wait for it earlier. */
const RESPONSE_WAIT_MS = 50;
/** A new window has at least this part of its limit left. */
const NEW_WINDOW_PART = 0.75;
/** Windows that do not begin when the headers say so, and throttled responses that they do not explain, until they are wrong. */
const MAX_CONTRADICTIONS = 2;
/** Throttled responses, and the part of all responses, from which on the headers do not describe the limit. */
const MAX_THROTTLED = 3;
const MAX_THROTTLED_PART = 0.01;

interface RateWindow {
  readonly limit: number;
  lengthMs: number;
  /** The earliest end that a response has named, by the clock at its arrival. */
  endMs: number;
  budget: number;
  /** The latest request that a response was received for. */
  ticket: number;
  /** Its first request was sent, or may be, and has no response yet. */
  isUnconfirmed: boolean;
}

interface ObservedResponse {
  readonly ticket: number;
  readonly sentMs: number;
  readonly nowMs: number;
  /** The last request that was sent. */
  readonly lastTicket: number;
}

/** A limit that counts requests in windows, as headers describe it: what remains may be sent, and the limit again after the reset. */
export class WindowModel {
  readonly #share: number;
  #window: RateWindow | undefined;
  #nextAtMs = 0;
  #contradictions = 0;
  /** The shortest so far: the first ones open connections. */
  #roundTripMs = Number.POSITIVE_INFINITY;
  #responses = 0;
  #throttled = 0;
  #isContradicted = false;

  constructor(share: number) {
    this.#share = share;
  }

  /** Whether headers were there. */
  get isKnown(): boolean {
    return this.#window !== undefined;
  }

  /** Whether the limit is not what the headers say. */
  get isContradicted(): boolean {
    return this.#isContradicted;
  }

  /** The rate that headers describe. */
  get perSecond(): number {
    const { limit, lengthMs } = this.#window ?? { limit: Number.POSITIVE_INFINITY, lengthMs: MIN_LENGTH_MS };
    return (limit / Math.max(MIN_LENGTH_MS, lengthMs)) * 1000;
  }

  onSent(nowMs: number): void {
    const window = this.#window;
    if (!window) return;
    window.budget--;
    this.#nextAtMs = nowMs + Math.min(MAX_SPACING_MS, (window.lengthMs * SPREAD_PART) / window.limit);
  }

  waitMs(nowMs: number, lastTicket: number): number {
    const window = this.#window;
    if (!window) return 0;
    if (nowMs >= this.#endMs(window)) this.#begin(window, nowMs, lastTicket);
    if (window.budget >= 1) return Math.max(0, this.#nextAtMs - nowMs);
    return window.isUnconfirmed ? RESPONSE_WAIT_MS : this.#endMs(window) - nowMs;
  }

  observe({ ticket, sentMs, nowMs, lastTicket }: ObservedResponse, { limit, remaining, resetMs }: RateLimitInfo): void {
    const window = this.#window;
    this.#responses++;
    if (nowMs > sentMs) this.#roundTripMs = Math.min(this.#roundTripMs, nowMs - sentMs);
    if (window && ticket <= window.ticket) return;
    const endMs = nowMs + resetMs + MARGIN_MS;
    const budget = remaining - (limit - this.#shareOf(limit)) - (lastTicket - ticket);
    if (window?.isUnconfirmed) this.#judgeBegin(remaining + 1 >= limit * NEW_WINDOW_PART);
    const isSame = window?.limit === limit && !window.isUnconfirmed && window.endMs > nowMs;
    this.#window = {
      limit,
      lengthMs: Math.max(resetMs, (window?.limit === limit && window.lengthMs) || 1),
      endMs: isSame ? Math.min(window.endMs, endMs) : endMs,
      budget,
      ticket,
      isUnconfirmed: false,
    };
  }

  /** The first request of a window has no response: the next one is the first. */
  onNoResponse(): void {
    if (this.#window?.isUnconfirmed) this.#window.budget = 1;
  }

  /** @param isExplained whether nothing remained, as the headers of the response say */
  onThrottled(isExplained: boolean): void {
    this.#throttled++;
    if (!isExplained) this.#contradictions++;
    else if (this.#window) this.#window.budget = 0;
    this.#judge();
  }

  #judgeBegin(isNew: boolean): void {
    this.#contradictions = isNew ? 0 : this.#contradictions + 1;
    this.#judge();
  }

  #judge(): void {
    const isOftenThrottled = this.#throttled >= MAX_THROTTLED && this.#throttled > this.#responses * MAX_THROTTLED_PART;
    this.#isContradicted ||= isOftenThrottled || this.#contradictions >= MAX_CONTRADICTIONS;
  }

  #begin(window: RateWindow, nowMs: number, lastTicket: number): void {
    window.endMs = nowMs + window.lengthMs;
    window.budget = 1;
    window.ticket = lastTicket;
    window.isUnconfirmed = true;
  }

  /** The service counts a request when it arrives: the next one may leave before the window ends. */
  #endMs({ endMs }: RateWindow): number {
    return Number.isFinite(this.#roundTripMs) ? endMs - this.#roundTripMs * EARLY_PART : endMs;
  }

  #shareOf(limit: number): number {
    return Math.max(1, Math.floor(limit * this.#share));
  }
}
