import {
  createAdaptiveRateLimiter,
  type RateLimiterOptions,
  type Ticket,
} from '../../src/http/adaptive-rate-limiter.ts';
import { parseRateLimit, parseRetryAfter } from '../../src/http/rate-limit-headers.ts';

/** How a simulated service limits requests. */
export type SimulatedLimit =
  | { readonly kind: 'window'; readonly limit: number; readonly lengthMs: number; readonly isAligned: boolean }
  | { readonly kind: 'sliding'; readonly limit: number; readonly lengthMs: number }
  | { readonly kind: 'bucket'; readonly capacity: number; readonly perSecond: number };

/** What its headers say. */
export type SimulatedHeaders =
  | 'none'
  | 'retry-after'
  /** Milliseconds, whole seconds, or a time of the service's clock. */
  | 'float'
  | 'seconds'
  | 'epoch'
  /** A bucket that says `limit RATE, reset 1.0`, its capacity and the time until it is full, or until the next token. */
  | 'constant'
  | 'until-full'
  | 'until-next'
  /** Much remains, always; nothing remains, always; any number. */
  | 'generous'
  | 'frozen'
  | 'random';

export interface SimulatedService {
  readonly limit: SimulatedLimit;
  readonly headers: SimulatedHeaders;
  /** Requests per second of other clients. */
  readonly othersPerSecond: number;
  /** How far the service's clock is ahead. */
  readonly skewMs: number;
  readonly latencyMs: number;
  readonly seed: number;
}

export interface SimulationResult {
  readonly seconds: number;
  readonly sent: number;
  readonly throttled: number;
  /** Most attempts of one request. */
  readonly attempts: number;
}

/** Small, fast, and the same for the same seed (mulberry32). */
export function createRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

interface Verdict {
  readonly isAllowed: boolean;
  readonly remaining: number;
  readonly resetMs: number;
}

/** Decides about a request that arrives at a time, which never goes back. */
function createLimit(limit: SimulatedLimit): (nowMs: number) => Verdict {
  if (limit.kind === 'bucket') return createBucket(limit);
  if (limit.kind === 'sliding') return createSliding(limit);
  let startMs = Number.NEGATIVE_INFINITY;
  let used = 0;
  return (nowMs) => {
    if (nowMs - startMs >= limit.lengthMs) {
      startMs = limit.isAligned ? Math.floor(nowMs / limit.lengthMs) * limit.lengthMs : nowMs;
      used = 0;
    }
    used++;
    return {
      isAllowed: used <= limit.limit,
      remaining: Math.max(0, limit.limit - used),
      resetMs: startMs + limit.lengthMs - nowMs,
    };
  };
}

function createSliding({ limit, lengthMs }: { readonly limit: number; readonly lengthMs: number }) {
  const recent: number[] = [];
  return (nowMs: number): Verdict => {
    while (recent.length > 0 && recent[0]! <= nowMs - lengthMs) recent.shift();
    const isAllowed = recent.length < limit;
    if (isAllowed) recent.push(nowMs);
    return { isAllowed, remaining: limit - recent.length, resetMs: recent[0]! + lengthMs - nowMs };
  };
}

function createBucket({ capacity, perSecond }: { readonly capacity: number; readonly perSecond: number }) {
  let tokens = capacity;
  let lastMs: number | undefined;
  return (nowMs: number): Verdict => {
    tokens = Math.min(capacity, tokens + ((nowMs - (lastMs ?? nowMs)) / 1000) * perSecond);
    lastMs = nowMs;
    const isAllowed = tokens >= 1;
    if (isAllowed) tokens--;
    return { isAllowed, remaining: Math.floor(tokens), resetMs: ((1 - (tokens % 1)) / perSecond) * 1000 };
  };
}

function describeLimit(
  { limit, headers, skewMs }: SimulatedService,
  { isAllowed, remaining, resetMs }: Verdict,
  nowMs: number,
  random: () => number,
): Headers {
  const result = new Headers({ date: new Date(nowMs + skewMs).toUTCString() });
  const set = (most: number, left: number, reset: number) => {
    result.set('x-ratelimit-limit', String(most));
    result.set('x-ratelimit-remaining', String(left));
    result.set('x-ratelimit-reset', String(reset));
  };
  const rate = limit.kind === 'bucket' ? limit.perSecond : limit.limit;
  const capacity = limit.kind === 'bucket' ? limit.capacity : limit.limit;
  const untilFullMs = limit.kind === 'bucket' ? ((capacity - remaining) / limit.perSecond) * 1000 : resetMs;
  const forms: Record<SimulatedHeaders, () => void> = {
    none: () => {},
    'retry-after': () => {
      if (!isAllowed) result.set('retry-after', String(Math.ceil(resetMs / 1000)));
    },
    float: () => set(capacity, remaining, Math.round(resetMs) / 1000),
    seconds: () => set(capacity, remaining, Math.ceil(resetMs / 1000)),
    epoch: () => set(capacity, remaining, Math.ceil((nowMs + skewMs + untilFullMs) / 1000)),
    constant: () => set(Math.max(1, Math.round(rate)), Math.min(remaining, Math.max(1, Math.round(rate))), 1),
    'until-full': () => set(capacity, remaining, Math.round(untilFullMs) / 1000),
    'until-next': () => set(capacity, remaining, Math.round(resetMs) / 1000),
    generous: () => set(1000, 999, 60),
    frozen: () => set(30, 0, 1),
    random: () => set(Math.ceil(random() * 100), Math.floor(random() * 100), Math.ceil(random() * 3)),
  };
  forms[headers]();
  return result;
}

interface Flight {
  readonly arrivesMs: number;
  readonly answersMs: number;
  readonly ticket: Ticket;
  readonly attempt: number;
  answer?: { readonly headers: Headers; readonly isAllowed: boolean };
}

const CONCURRENCY = 8;
const JITTER = 0.15;
const FIRST_BACKOFF_MS = 500;
const MAX_BACKOFF_MS = 10_000;
const START_MS = Date.UTC(2026, 10, 20, 2, 15, 0, 317);

/** Sends `count` requests through a limiter in virtual time, eight at a time, and repeats throttled ones as the client does. */
export function simulateRequests(
  service: SimulatedService,
  options: RateLimiterOptions,
  count: number,
): SimulationResult {
  const random = createRandom(service.seed);
  const decide = createLimit(service.limit);
  const limiter = createAdaptiveRateLimiter(options);
  const latency = () => service.latencyMs * (1 - JITTER + 2 * JITTER * random()) * 0.5;
  const arriving: Flight[] = [];
  const answering: Flight[] = [];
  const retries: { readonly atMs: number; readonly attempt: number }[] = [];
  let nowMs = START_MS;
  let nextOtherMs = service.othersPerSecond > 0 ? nowMs : Number.POSITIVE_INFINITY;
  let unsent = count;
  let done = 0;
  const result = { sent: 0, throttled: 0, attempts: 0 };
  const insert = (list: Flight[], flight: Flight, key: 'arrivesMs' | 'answersMs') => {
    let at = list.length;
    while (at > 0 && list[at - 1]![key] > flight[key]) at--;
    list.splice(at, 0, flight);
  };
  while (done < count) {
    const retry = retries[0] && retries[0].atMs <= nowMs ? retries[0] : undefined;
    const canSend = arriving.length + answering.length < CONCURRENCY && (retry || unsent > 0);
    const taken = canSend ? limiter.tryAcquire(nowMs) : undefined;
    if (typeof taken === 'object') {
      const attempt = retry ? retry.attempt + 1 : 1;
      if (retry) retries.shift();
      else unsent--;
      result.sent++;
      result.attempts = Math.max(result.attempts, attempt);
      const arrivesMs = nowMs + latency();
      insert(arriving, { arrivesMs, answersMs: arrivesMs + latency(), ticket: taken, attempt }, 'arrivesMs');
      continue;
    }
    nowMs = Math.max(
      nowMs,
      Math.min(
        nextOtherMs,
        arriving[0]?.arrivesMs ?? Number.POSITIVE_INFINITY,
        answering[0]?.answersMs ?? Number.POSITIVE_INFINITY,
        retries[0] && retries[0].atMs > nowMs ? retries[0].atMs : Number.POSITIVE_INFINITY,
        taken === undefined ? Number.POSITIVE_INFINITY : nowMs + Math.max(0.5, taken),
      ),
    );
    while (nextOtherMs <= nowMs) {
      decide(nextOtherMs);
      nextOtherMs += (-Math.log(1 - random()) / service.othersPerSecond) * 1000;
    }
    while (arriving[0] && arriving[0].arrivesMs <= nowMs) {
      const flight = arriving.shift()!;
      const verdict = decide(nowMs);
      flight.answer = { headers: describeLimit(service, verdict, nowMs, random), isAllowed: verdict.isAllowed };
      insert(answering, flight, 'answersMs');
    }
    while (answering[0] && answering[0].answersMs <= nowMs) {
      const { ticket, attempt, answer } = answering.shift()!;
      const { headers, isAllowed } = answer!;
      limiter.onResponse(ticket, nowMs, parseRateLimit(headers, nowMs), !isAllowed);
      if (isAllowed) {
        done++;
        continue;
      }
      result.throttled++;
      const fullMs = Math.min(MAX_BACKOFF_MS, FIRST_BACKOFF_MS * 2 ** (attempt - 1));
      const waitMs = Math.max(parseRetryAfter(headers, nowMs) ?? 0, fullMs / 2 + (random() * fullMs) / 2);
      limiter.pauseUntil(nowMs + waitMs);
      retries.push({ atMs: nowMs + waitMs, attempt });
      retries.sort((a, b) => a.atMs - b.atMs);
    }
  }
  return { seconds: (nowMs - START_MS) / 1000, ...result };
}

/** Seconds that `count` requests need where the limit and its share are known. */
export function floorSeconds(service: SimulatedService, share: number, count: number): number {
  const { limit, othersPerSecond, latencyMs } = service;
  const byLatency = (count * latencyMs) / CONCURRENCY / 1000;
  if (limit.kind === 'bucket') {
    return Math.max(byLatency, (count - limit.capacity) / Math.max(0.1, limit.perSecond - othersPerSecond));
  }
  // A window that begins with a request begins as late as the jitter of its latency.
  const startsLateMs = limit.kind === 'window' && !limit.isAligned ? JITTER * latencyMs : 0;
  const seconds = (limit.lengthMs + startsLateMs) / 1000;
  const perWindow = Math.max(1, Math.floor(limit.limit * share) - othersPerSecond * seconds);
  const isAligned = limit.kind === 'window' && limit.isAligned;
  const phase = isAligned ? (START_MS % limit.lengthMs) / 1000 : 0;
  return Math.max(byLatency, (Math.ceil(count / perWindow) - 1) * seconds - phase);
}
