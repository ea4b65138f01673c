import type { RateTold } from './retry-after.ts';

/** When the next request may go: pure arithmetic over a clock that is handed in, so that it is tested without waiting. */
export interface Pace {
  /** Takes the next place if there is one now: `{waitMs: 0, place}`; otherwise says how long to wait and takes nothing. */
  take(nowMs: number): { readonly waitMs: number; readonly place: number };
  /** Learns from an answer. `place` is the request's own. */
  answered(place: number, nowMs: number, told: RateTold | undefined, turnedAway: boolean): void;
  /** Nothing goes before this moment. */
  hold(untilMs: number): void;
  /** Requests a second that are allowed now; infinite while nothing limits them. */
  readonly perSecond: number;
}

export interface PaceOptions {
  /** Part of a told or measured limit that is taken. */
  readonly share: number;
  /** Upper bound from the configuration. */
  readonly requestsPerSecond: number | undefined;
  /** Requests a second until the service tells or turns away; infinite where nothing is documented. */
  readonly startPerSecond: number;
}

/** Within a told window requests are spread over a sixth of it, rather than sent at once. */
const SPREAD = 6;
const MAX_SPACING_MS = 33;
/** A clock and a header disagree by their rounding (`X-RateLimit-Reset` has milliseconds). */
const WINDOW_MARGIN_MS = 3;
/** After being turned away: this part of what was measured (multiplicative decrease) … */
const DECREASE = 0.9;
/** … and so many requests a second more for each second without (additive increase). */
const INCREASE_PER_SECOND = 0.5;
const MEASURE_MS = 1000;
const ENOUGH_TO_MEASURE = 3;
/** Where so much more than what was measured goes well, that was too little: few requests at that time, or others' fault. */
const DOUBTED_AT = 1.5;
const INCREASE_IN_DOUBT_PER_SECOND = 4;
/** Turned away before anything went through: others use the limit too. */
const UNMEASURED_PER_SECOND = 20;
const UNMEASURED_DECREASE = 0.7;

/** At 27 a second and this burst no window of one second, wherever it begins, sees more than 30. */
const SILENT_BURST = 0.1;
/** Where the service tells its window, that bounds a burst already; the configured bound is then an average. */
const TOLD_BURST = 0.5;

/** What is guessed of a window holds so long without an answer from it. */
const GUESS_MS = 1000;

interface Window {
  readonly limit: number;
  readonly lengthMs: number;
  endMs: number;
  budget: number;
  /** The first place counted in it, and what its latest answer said was left. */
  firstPlace: number;
  lastRemaining: number;
}

export function createPace({ share, requestsPerSecond = Number.POSITIVE_INFINITY, startPerSecond }: PaceOptions): Pace {
  let learned = startPerSecond;
  let places = 0;
  let heldUntilMs = 0;
  let nextAtMs = 0;
  let window: Window | undefined;
  let decreasedAtPlace = 0;
  let decreasedTo = Number.POSITIVE_INFINITY;
  /** Requests that are sent into a new window before one of its answers tells what is left. */
  let unseen = Number.POSITIVE_INFINITY;
  /** When each request that is under way was sent, and the shortest way there and back. */
  const sentAtMs = new Map<number, number>();
  let shortestMs = Number.POSITIVE_INFINITY;
  const accepted: number[] = [];
  const bucket = createBucket();

  const perSecond = (): number => Math.min(requestsPerSecond, window ? Number.POSITIVE_INFINITY : learned);

  const windowWait = (nowMs: number): number => {
    if (!window) return 0;
    if (nowMs >= window.endMs) {
      window.endMs = nowMs + (Number.isFinite(unseen) ? Math.min(GUESS_MS, window.lengthMs) : window.lengthMs);
      window.budget = Math.min(unseen, shareOf(window.limit, share));
      window.firstPlace = places + 1;
      window.lastRemaining = -1;
    }
    return window.budget >= 1 ? Math.max(0, nextAtMs - nowMs) : window.endMs - nowMs;
  };

  const learnTold = (place: number, nowMs: number, told: RateTold): void => {
    const fresh = !window || window.limit !== told.limit || told.remaining > window.lastRemaining;
    if (window && place < window.firstPlace) return;
    const sentSince = places - place;
    const budget = told.remaining - (told.limit - shareOf(told.limit, share)) - sentSince;
    // The service counts from when a request reaches it; the next may leave so much earlier that it arrives after the end.
    const endMs = nowMs + told.resetMs - shortestMs + WINDOW_MARGIN_MS;
    if (!window || fresh) {
      const lengthMs = Math.max(told.resetMs, window?.lengthMs ?? 0, 1);
      window = { limit: told.limit, lengthMs, endMs, budget, firstPlace: place, lastRemaining: told.remaining };
      return;
    }
    window.budget = Math.min(window.budget, budget);
    window.endMs = Math.min(window.endMs, endMs);
    window.lastRemaining = told.remaining;
  };

  const measure = (nowMs: number): number => {
    while (accepted.length > 0 && accepted[0]! <= nowMs - MEASURE_MS) accepted.shift();
    return accepted.length;
  };

  const learnSilent = (place: number, nowMs: number, turnedAway: boolean): void => {
    if (turnedAway && place > decreasedAtPlace) {
      learned = Math.max(1, decreased(learned, measure(nowMs)));
      decreasedAtPlace = places;
      decreasedTo = learned;
    }
    if (turnedAway) return;
    accepted.push(nowMs);
    measure(nowMs);
    if (Number.isFinite(learned) && learned < startPerSecond) {
      const increase = learned > decreasedTo * DOUBTED_AT ? INCREASE_IN_DOUBT_PER_SECOND : INCREASE_PER_SECOND;
      learned = Math.min(startPerSecond, learned + increase / learned);
    }
  };

  return {
    get perSecond() {
      return perSecond();
    },
    take(nowMs) {
      const waitMs = Math.max(
        heldUntilMs - nowMs,
        windowWait(nowMs),
        bucket.waitMs(nowMs, perSecond(), window ? TOLD_BURST : SILENT_BURST),
      );
      if (waitMs > 0) return { waitMs, place: 0 };
      bucket.take();
      places++;
      sentAtMs.set(places, nowMs);
      if (window) {
        window.budget--;
        nextAtMs = nowMs + Math.min(MAX_SPACING_MS, window.lengthMs / (SPREAD * window.limit));
      }
      return { waitMs: 0, place: places };
    },
    answered(place, nowMs, told, turnedAway) {
      shortestMs = Math.min(shortestMs, nowMs - (sentAtMs.get(place) ?? nowMs));
      sentAtMs.delete(place);
      // Windows that slide are not empty when one is over: from then on only a few go ahead of the next answer.
      if (told && turnedAway) unseen = Math.max(1, Math.floor(Math.min(unseen, told.limit) / 4));
      if (told) learnTold(place, nowMs, told);
      else learnSilent(place, nowMs, turnedAway);
    },
    hold(untilMs) {
      heldUntilMs = Math.max(heldUntilMs, untilMs);
    },
  };
}

/** From what went through in the last second; where that was too little to measure by, from the rate so far. */
function decreased(perSecond: number, accepted: number): number {
  if (accepted >= ENOUGH_TO_MEASURE) return Math.min(perSecond, accepted) * DECREASE;
  return Math.min(perSecond, UNMEASURED_PER_SECOND) * UNMEASURED_DECREASE;
}

function shareOf(limit: number, share: number): number {
  return Math.max(1, Math.floor(limit * share));
}

/** A token bucket; its burst is a part of a second's requests. */
function createBucket(): { waitMs(nowMs: number, perSecond: number, burstSeconds: number): number; take(): void } {
  let tokens = 1;
  let lastMs: number | undefined;
  return {
    waitMs(nowMs, perSecond, burstSeconds) {
      if (!Number.isFinite(perSecond)) {
        lastMs = undefined;
        tokens = 1;
        return 0;
      }
      const burst = Math.max(1, perSecond * burstSeconds);
      tokens = Math.min(burst, tokens + ((nowMs - (lastMs ?? nowMs)) / 1000) * perSecond);
      lastMs = nowMs;
      return tokens >= 1 ? 0 : ((1 - tokens) / perSecond) * 1000;
    },
    take() {
      tokens -= 1;
    },
  };
}
