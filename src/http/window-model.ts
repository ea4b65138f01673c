import type { RateLimitInfo } from './rate-limit-headers.ts';

/** Requests within an advertised window are spread over a sixth of it. */
const SPREAD = 6;
const MAX_SPACING_MS = 33;
/** Tolerance for rounding in headers: `X-RateLimit-Reset` has millisecond resolution. */
const WINDOW_MARGIN_MS = 3;
/** A first request that arrives at most this part of a window before it begins was sent early: the margin grows by that time. */
const EARLY_PART = 0.05;
const MAX_EARLY = 3;
/** Part of the round trip by which a request may arrive earlier than the fastest so far. */
const JITTER = 0.15;
/** Requests of a window that are sent late and alone: they show whether the limit refills before the window ends. */
const PROBES = 2;
const PROBE_MS = 700;
/** A new window has at least this part of its limit left. */
const NEW_WINDOW_PART = 0.5;
/** Of the announced length, that a window lasts at least. */
const MIN_LENGTH_PART = 0.8;
/** Contradictions after which the limit is no window. One is enough while no second window was seen. */
const MAX_CONTRADICTIONS = 3;

/** A window of the service's limit, as far as responses have shown it. */
interface RateWindow {
  readonly limit: number;
  readonly lengthMs: number;
  startMs: number;
  /** The earliest end that a response has named, by the clock at its arrival. */
  statedEndMs: number;
  endMs: number;
  budget: number;
  /** The first ticket that counts in it. */
  firstTicket: number;
  /** `remaining` of its latest response. */
  lastRemaining: number;
}

/** What was known when a request was sent. */
export interface SentRequest {
  readonly atMs: number;
  readonly inFlight: number;
}

interface ObservedState {
  readonly lastTicket: number;
  /** The shortest so far. */
  readonly roundTripMs: number;
  /** Responses so far that were throttled. */
  readonly throttled: number;
  readonly sent: SentRequest | undefined;
}

/** A limit that counts requests in windows, as the headers say. It also notices when the headers describe something else. */
export class WindowModel {
  readonly #share: number;
  #window: RateWindow | undefined;
  #nextAtMs = 0;
  /** When a window began before its announced end. */
  #newAtMs = Number.NEGATIVE_INFINITY;
  /** Whether a window began when the headers had said so. */
  #isConfirmed = false;
  #contradictions = 0;
  #shortResets = 0;
  #marginMs = WINDOW_MARGIN_MS;
  /** First requests that arrived before their window began. */
  #early = 0;
  #credits: { readonly atMs: number; readonly credit: number }[] = [];
  /** Since a window ended that no response has replaced. */
  #hasRolledOver = false;

  constructor(share: number) {
    this.#share = share;
  }

  /** Whether the headers contradict a window: the limit refills in another way. */
  get isContradicted(): boolean {
    // A window that ends before a response arrives is a bucket that tells when it is full.
    if (this.#shortResets > MAX_CONTRADICTIONS) return true;
    return this.#contradictions >= (this.#isConfirmed ? MAX_CONTRADICTIONS : 1);
  }

  onSent(nowMs: number): void {
    const window = this.#window;
    if (!window) return;
    window.budget--;
    this.#nextAtMs = nowMs + Math.min(MAX_SPACING_MS, window.lengthMs / (SPREAD * window.limit));
  }

  waitMs(nowMs: number, lastTicket: number, inFlight: number): number {
    const window = this.#window;
    if (!window) return 0;
    if (nowMs >= window.endMs) this.#rollOver(window, nowMs, lastTicket);
    if (window.budget < 1) return window.endMs - nowMs;
    if (window.budget <= PROBES) return this.#probeWaitMs(window, nowMs, inFlight);
    return Math.max(0, this.#nextAtMs - nowMs);
  }

  observe(ticket: number, nowMs: number, info: RateLimitInfo, state: ObservedState): void {
    this.#findContradiction(ticket, nowMs, info, state);
    this.#update(ticket, nowMs, info, state);
  }

  /** Sends nothing more before the window ends. */
  onThrottled(): void {
    this.#isConfirmed = false;
    if (this.#window) this.#window.budget = 0;
  }

  #rollOver(window: RateWindow, nowMs: number, lastTicket: number): void {
    window.startMs = nowMs;
    window.endMs = nowMs + window.lengthMs;
    window.budget = this.#isConfirmed ? shareOfLimit(window.limit, this.#share) : 1;
    window.firstTicket = lastTicket + 1;
    window.lastRemaining = -1;
    this.#nextAtMs = nowMs;
    this.#credits = [];
    this.#hasRolledOver = true;
  }

  /** The probes of a window wait until nothing is in flight that would blur them. */
  #probeWaitMs(window: RateWindow, nowMs: number, inFlight: number): number {
    if (this.#hasRolledOver && !this.#isConfirmed) return Math.max(0, this.#nextAtMs - nowMs);
    const sent = PROBES + 1 - window.budget;
    const atMs = window.startMs + Math.min((sent * window.lengthMs) / (PROBES + 1), sent * PROBE_MS);
    return Math.max(atMs - nowMs, inFlight > 0 ? 5 : 0);
  }

  #findContradiction(
    ticket: number,
    nowMs: number,
    { limit, remaining, resetMs, resolutionMs }: RateLimitInfo,
    { sent, throttled, roundTripMs }: ObservedState,
  ): void {
    const window = this.#window;
    if (resetMs < roundTripMs && remaining >= limit / 2) this.#shortResets++;
    if (!window || !sent || ticket < window.firstTicket) return;
    const isNew = remaining >= limit * NEW_WINDOW_PART;
    const credit = remaining + ticket - throttled;
    if (this.#hasRolledOver) {
      if (!isNew && this.#widenMargin(window, resetMs)) return;
      this.#credits.push({ atMs: nowMs, credit });
      this.#hasRolledOver = false;
      if (isNew) {
        this.#isConfirmed = true;
        this.#newAtMs = window.startMs;
      } else if (!this.#isConfirmed) this.#contradictions++;
      return;
    }
    const known = this.#credits.filter(({ atMs }) => atMs <= sent.atMs).map((sample) => sample.credit);
    this.#credits.push({ atMs: nowMs, credit });
    if (this.#credits.length > 64) this.#credits.shift();
    if (known.length === 0 || credit - sent.inFlight < Math.max(...known) + 1) return;
    const earlyMs = window.endMs - nowMs;
    const toleranceMs = Math.max(resolutionMs, WINDOW_MARGIN_MS * 2, window.lengthMs / 20);
    this.#credits = [{ atMs: nowMs, credit }];
    // Windows do not follow each other faster than their length.
    const isTooSoon = nowMs - this.#newAtMs < window.lengthMs * MIN_LENGTH_PART;
    if (!isNew || earlyMs > toleranceMs || isTooSoon) this.#contradictions++;
    else if (earlyMs <= window.lengthMs * (1 - MIN_LENGTH_PART)) this.#isConfirmed = true;
    if (isNew) this.#newAtMs = nowMs;
  }

  /** @returns whether a request that was to be the first of a window arrived just before its beginning */
  #widenMargin({ lengthMs }: RateWindow, resetMs: number): boolean {
    if (resetMs > lengthMs * EARLY_PART || this.#early >= MAX_EARLY) return false;
    this.#early++;
    this.#marginMs += resetMs + 1;
    return true;
  }

  #update(ticket: number, nowMs: number, info: RateLimitInfo, { lastTicket, roundTripMs, sent }: ObservedState): void {
    const { limit, remaining, resetMs } = info;
    const window = this.#window;
    if (window && ticket < window.firstTicket) return;
    const share = shareOfLimit(limit, this.#share);
    const budget = remaining - (limit - share) - (lastTicket - ticket);
    // The service counts a request when it arrives, so the next one may leave a one-way trip before the window ends.
    // The first round trip includes the connection: the end is computed again with each shorter one.
    const toEndMs = (statedMs: number) => statedMs - roundTripMs * (1 - JITTER) + this.#marginMs;
    const statedEndMs = nowMs + resetMs;
    // Responses overtake each other: a little more than before is no new window.
    const isNew = window && remaining > window.lastRemaining + (sent?.inFlight ?? 0) + 1 && window.lastRemaining >= 0;
    if (!window || window.limit !== limit || isNew || this.#newAtMs === nowMs) {
      const lengthMs = Math.max(resetMs, window?.lengthMs ?? 0, 1);
      const times = { lengthMs, startMs: nowMs, statedEndMs, endMs: toEndMs(statedEndMs) };
      this.#window = { limit, ...times, budget, firstTicket: ticket, lastRemaining: remaining };
      return;
    }
    const isFirst = window.lastRemaining < 0;
    const own = share - (lastTicket - window.firstTicket + 1);
    window.budget = Math.min(isFirst && this.#isConfirmed ? own : window.budget, budget);
    window.statedEndMs = isFirst ? statedEndMs : Math.min(window.statedEndMs, statedEndMs);
    window.endMs = toEndMs(window.statedEndMs);
    window.lastRemaining = remaining;
  }
}

function shareOfLimit(limit: number, share: number): number {
  return Math.max(1, Math.floor(limit * share));
}
