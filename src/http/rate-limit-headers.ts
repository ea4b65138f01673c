/** Every vendor's rate limit headers, translated to plain numbers here and nowhere else. */

/** The rate limit that a response advertises. */
export interface RateLimitInfo {
  /** Requests per window. */
  readonly limit: number;
  /** Requests left in the current window. */
  readonly remaining: number;
  /** Until the window ends, in milliseconds. */
  readonly resetMs: number;
}

/** A larger reset is a time (seconds or milliseconds since 1970), not a duration: it would last for decades. */
const EPOCH_SECONDS = 1_000_000_000;
const EPOCH_MS = EPOCH_SECONDS * 1000;

/** A reset of 0 lost its fraction: Vault gives whole seconds for windows of one second. */
const LESS_THAN_A_SECOND_MS = 1000;

/**
 * How long a response asks the client to wait, in milliseconds; undefined when it does not. `Retry-After` (seconds or a date,
 * RFC 9110 §10.2.3) comes first, then `RateLimit`/`RateLimit-Reset` (the IETF draft), then `X-RateLimit-Reset` (float
 * seconds from now: docs/services/platform.md#limits, docs/services/secrets.md#real-product).
 */
export function parseRetryAfter(headers: Headers, nowMs: number): number | undefined {
  const retryAfter = headers.get('retry-after')?.trim();
  if (retryAfter) {
    const ms = parseSeconds(retryAfter, nowMs) ?? parseHttpDate(retryAfter, headers, nowMs);
    if (ms !== undefined) return ms;
  }
  // A reset is a pause only where nothing remains: other limits than the advertised one throttle as well.
  return (parseRemaining(headers) ?? 0) < 1 ? parseReset(headers, sentAt(headers, nowMs)) : undefined;
}

/**
 * Reads the rate limits of one service. A reset that is a time is one of the service's clock, whose distance from the local one is
 * learned from the `Date` of the responses: it has whole seconds, so the smallest difference is the nearest to the truth.
 */
export class RateLimitReader {
  #aheadMs = Number.NEGATIVE_INFINITY;

  read(headers: Headers, nowMs: number): RateLimitInfo | undefined {
    const sentMs = Date.parse(headers.get('date') ?? '');
    if (!Number.isNaN(sentMs)) this.#aheadMs = Math.max(this.#aheadMs, sentMs - nowMs);
    return parseRateLimit(headers, Number.isFinite(this.#aheadMs) ? nowMs + this.#aheadMs : nowMs);
  }
}

/** The rate limit that a response advertises; undefined unless limit, remaining and reset are all there. */
export function parseRateLimit(headers: Headers, nowMs: number): RateLimitInfo | undefined {
  const draft = headers.get('ratelimit') ?? '';
  const policy = headers.get('ratelimit-policy') ?? '';
  const limit =
    parseNumber(headers.get('x-ratelimit-limit')) ??
    parseNumber(headers.get('ratelimit-limit')) ??
    parseMember(draft, 'limit') ??
    parseMember(policy, 'q');
  const remaining = parseRemaining(headers);
  const resetMs = parseReset(headers, nowMs);
  if (limit === undefined || remaining === undefined || resetMs === undefined || limit < 1) return undefined;
  return { limit, remaining, resetMs };
}

function parseRemaining(headers: Headers): number | undefined {
  const draft = headers.get('ratelimit') ?? '';
  return (
    parseNumber(headers.get('x-ratelimit-remaining')) ??
    parseNumber(headers.get('ratelimit-remaining')) ??
    parseMember(draft, 'remaining') ??
    parseMember(draft, 'r')
  );
}

function parseReset(headers: Headers, nowMs: number): number | undefined {
  const draft = headers.get('ratelimit') ?? '';
  const reset =
    headers.get('ratelimit-reset') ??
    (parseMember(draft, 't') ?? parseMember(draft, 'reset'))?.toString() ??
    headers.get('x-ratelimit-reset');
  if (reset?.trim() === '0') return LESS_THAN_A_SECOND_MS;
  return reset === null ? undefined : parseSeconds(reset, nowMs);
}

function parseSeconds(text: string, nowMs: number): number | undefined {
  const seconds = parseNumber(text);
  if (seconds === undefined) return undefined;
  if (seconds >= EPOCH_MS) return Math.max(0, seconds - nowMs);
  return seconds >= EPOCH_SECONDS ? Math.max(0, seconds * 1000 - nowMs) : seconds * 1000;
}

/** A date is compared with the response's own `Date`, so that a wrong clock on either side does not matter. */
function parseHttpDate(text: string, headers: Headers, nowMs: number): number | undefined {
  // An HTTP date begins with a weekday; Date.parse would read a stray number as a year.
  const until = /^[a-z]{3}/iu.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(until)) return undefined;
  return Math.max(0, until - sentAt(headers, nowMs));
}

/** When a response was sent, by the clock of its service; the local time where it does not say. */
function sentAt(headers: Headers, nowMs: number): number {
  const sentMs = Date.parse(headers.get('date') ?? '');
  return Number.isNaN(sentMs) ? nowMs : sentMs;
}

function parseNumber(text: string | null): number | undefined {
  const match = /^\s*(\d+(?:\.\d+)?)\s*(?:$|[,;])/u.exec(text ?? '');
  return match ? Number(match[1]) : undefined;
}

/** `r=5` of `"default";r=5;t=1`, or `limit=10` of the older `limit=10, remaining=5, reset=1`. */
function parseMember(text: string, name: string): number | undefined {
  const match = new RegExp(`(?:^|[;,\\s])${name}=(\\d+(?:\\.\\d+)?)`, 'u').exec(text);
  return match ? Number(match[1]) : undefined;
}
