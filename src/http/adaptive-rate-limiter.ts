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
function createLearnedRate(maxPerSecond: number, startPerSecond = 0) {
  let perSecond = 0;
  let documented = 0;
  let nextRiseMs = 0;
  /** What each accepted request adds; undefined until something was throttled. */
  let recovery: number | undefined;
  /** Since the last throttled response. */
  let accepted = 0;
  const acceptedMs: number[] = [];
  /** Requests up to this ticket were sent at the rate that was too high. */
  let fallenAtTicket = 0;

  const start = (documentedPerSecond: number): void => {
    documented = documentedPerSecond;
    perSecond = Math.min(documented || FIRST_PER_SECOND, maxPerSecond);
    recovery = undefined;
  };
  const forgetOld = (nowMs: number): void => {
    while (acceptedMs.length > MEASURED_REQUESTS && acceptedMs[0]! <= nowMs - MEASURED_MS) acceptedMs.shift();
  };
  /** What was accepted of late; a documented rate, or half of the present one, where that is too little to tell. */
  const measure = (nowMs: number): number => {
    forgetOld(nowMs);
    const { length, 0: first = nowMs } = acceptedMs;
    const measured =
      length < MEASURED_REQUESTS
        ? Math.max(perSecond / 2, documented)
        : (length / Math.max(MEASURED_MS, nowMs - first)) * 1000;
    return Math.min(perSecond, measured);
  };
  start(startPerSecond);
  return {
    start,
    perSecond: () => perSecond,
    onAccepted(nowMs: number): void {
      accepted++;
      acceptedMs.push(nowMs);
      forgetOld(nowMs);
      if (recovery !== undefined) perSecond += recovery;
      else if (nowMs >= nextRiseMs) {
        const isNear = perSecond < documented * RISE;
        if (nextRiseMs > 0) perSecond *= isNear ? DOCUMENTED_RISE : RISE;
        nextRiseMs = nowMs + RISE_MS;
      }
      perSecond = Math.min(perSecond, maxPerSecond);
    },
    onThrottled(ticket: number, lastTicket: number, nowMs: number): void {
      if (ticket <= fallenAtTicket) return;
      fallenAtTicket = lastTicket;
      const measured = Math.max(MIN_PER_SECOND, measure(nowMs));
      const requests = accepted < RELIABLE_REQUESTS ? UNRELIABLE_REQUESTS : RECOVERY_REQUESTS;
      recovery = (measured * DECREASE) / requests;
      perSecond = measured * (1 - DECREASE);
      accepted = 0;
    },
  };
}

/**
 * Decides when the next request may be sent: within the window that headers describe; without headers, or where they prove wrong, at a
 * rate that increases additively and decreases multiplicatively. docs/decisions.md#rate-limits says why. Pure arithmetic over a clock
 * that the caller passes in; all times are milliseconds of that clock.
 */
export function createAdaptiveRateLimiter(options: RateLimiterOptions) {
  const { share, requestsPerSecond: maxPerSecond = MAX_PER_SECOND, startPerSecond } = options;
  const rate = createLearnedRate(maxPerSecond, startPerSecond);
  /** The number of the last ticket. */
  let last = 0;
  /** When the next request is due at the rate, and after a pause. */
  let dueMs = 0;
  let window: RateWindow | undefined;
  let contradictions = 0;
  /** The shortest so far: the first ones open connections. */
  let roundTripMs = Number.POSITIVE_INFINITY;

  const windowWaitMs = (current: RateWindow, nowMs: number): number => {
    const earlyMs = Number.isFinite(roundTripMs) ? roundTripMs * EARLY_PART : 0;
    if (nowMs >= current.endMs - earlyMs) {
      const endMs = nowMs + current.lengthMs;
      Object.assign(current, { endMs, budget: 1, ticket: last, isUnconfirmed: true });
    }
    if (current.budget >= 1) return 0;
    return current.isUnconfirmed ? WINDOW_WAIT_MS : current.endMs - earlyMs - nowMs;
  };
  const observe = (ticket: number, nowMs: number, { limit, remaining, resetMs }: RateLimitInfo): void => {
    const before = window;
    if (before && ticket <= before.ticket) return;
    const endMs = nowMs + resetMs + MARGIN_MS;
    const isSame = before?.limit === limit && !before.isUnconfirmed && before.endMs > nowMs;
    const reserved = limit - Math.max(1, Math.floor(limit * share));
    window = {
      limit,
      lengthMs: Math.max(resetMs, (before?.limit === limit && before.lengthMs) || 1),
      endMs: isSame ? Math.min(before.endMs, endMs) : endMs,
      budget: remaining - reserved - (last - ticket),
      ticket,
      isUnconfirmed: false,
    };
    if (before?.isUnconfirmed) contradictions = remaining + 1 < limit * NEW_WINDOW_PART ? contradictions + 1 : 0;
  };
  /** The rate that wrong headers describe is the documented one. */
  const ignoreHeaders = (): void => {
    if (!window) return;
    rate.start((window.limit / Math.max(MIN_LENGTH_MS, window.lengthMs)) * 1000);
    window = undefined;
  };
  return {
    /** @returns the ticket of the request that may be sent now; otherwise the milliseconds until the next attempt */
    tryAcquire(nowMs: number): Ticket | number {
      const waitMs = Math.max(dueMs - nowMs, window ? windowWaitMs(window, nowMs) : 0);
      if (waitMs > 0) return waitMs;
      if (window) window.budget--;
      const spreadMs = window ? Math.min(MAX_SPACING_MS, (window.lengthMs * SPREAD_PART) / window.limit) : 0;
      const spacingMs = 1000 / (window ? maxPerSecond : rate.perSecond());
      dueMs = Math.max(dueMs + spacingMs, nowMs - LATE_MS + spacingMs, nowMs + spreadMs);
      return { number: ++last, sentMs: nowMs };
    },

    /** Learns from a response to a request; redirects are further responses. */
    onResponse(ticket: Ticket, nowMs: number, info: RateLimitInfo | undefined, isThrottled: boolean): void {
      if (nowMs > ticket.sentMs) roundTripMs = Math.min(roundTripMs, nowMs - ticket.sentMs);
      if (isThrottled) rate.onThrottled(ticket.number, last, nowMs);
      else rate.onAccepted(nowMs);
      if (contradictions >= MAX_CONTRADICTIONS) return;
      if (info) observe(ticket.number, nowMs, info);
      if (isThrottled) contradictions++;
      if (contradictions >= MAX_CONTRADICTIONS) ignoreHeaders();
    },

    /** A request has no response. Where it was the first of a window, the next one is. */
    onNoResponse(): void {
      if (window?.isUnconfirmed) window.budget = 1;
    },

    pauseUntil(untilMs: number): void {
      dueMs = Math.max(dueMs, untilMs);
    },
  };
}
