/** Every vendor's rate limit headers, translated to plain numbers here and nowhere else. */

/** The rate limit that a response advertises: `limit` requests in a window, of which `remaining` are left until it ends after `resetMs`. */
export type RateLimitInfo = Readonly<NonNullable<ReturnType<typeof parseRateLimit>>>;

/** A larger reset is a time (seconds or milliseconds since 1970), not a duration: it would last for decades. */
const EPOCH_SECONDS = 1_000_000_000;
const EPOCH_MS = EPOCH_SECONDS * 1000;

/** A longer wait is as long: it is more than any client follows, and more digits than a number has are `Infinity`. */
const MAX_WAIT_MS = 366 * 86_400_000;

/** A reset of 0 lost its fraction: Vault gives whole seconds for windows of one second. */
const LESS_THAN_A_SECOND_MS = 1000;

/**
 * How long a response asks the client to wait, in milliseconds; undefined when it does not. `Retry-After` (seconds or a date,
 * RFC 9110 §10.2.3) comes first, then `RateLimit`/`RateLimit-Reset` (the IETF draft), then `X-RateLimit-Reset` (float
 * seconds from now: docs/services/platform.md#limits, docs/services/secrets.md#errors).
 */
export function parseRetryAfter(headers: Headers, nowMs: number): number | undefined {
  const afterMs = toMs(findNumber(headers, ['retry-after']), nowMs) ?? parseRetryDate(headers, nowMs);
  if (afterMs !== undefined) return afterMs;
  // A reset is a pause only where nothing remains: other limits than the advertised one throttle as well.
  return parseRemaining(headers) >= 1 ? undefined : parseReset(headers, sentAt(headers, nowMs));
}

/** `Date` has whole seconds: of the next one, half has passed on average. */
const HALF_A_SECOND_MS = 500;

/** The rate limit that a response advertises; undefined unless limit, remaining and reset are all there. */
export function parseRateLimit(headers: Headers, nowMs: number) {
  const limit = Number(
    findNumber(headers, ['x-ratelimit-limit', 'ratelimit-limit', 'ratelimit limit', 'ratelimit-policy q']),
  );
  const remaining = parseRemaining(headers);
  const resetMs = parseReset(headers, sentAt(headers, nowMs, HALF_A_SECOND_MS));
  if (!(limit >= 1) || Number.isNaN(remaining) || resetMs === undefined) return undefined;
  return { limit, remaining, resetMs };
}

/** @returns NaN where nothing says it */
function parseRemaining(headers: Headers): number {
  return Number(
    findNumber(headers, ['x-ratelimit-remaining', 'ratelimit-remaining', 'ratelimit remaining', 'ratelimit r']),
  );
}

function parseReset(headers: Headers, nowMs: number): number | undefined {
  const reset = findNumber(headers, ['ratelimit-reset', 'ratelimit t', 'ratelimit reset', 'x-ratelimit-reset']);
  return reset === '0' ? LESS_THAN_A_SECOND_MS : toMs(reset, nowMs);
}

/** The first number of headers: of a whole header, such as `100, 100;w=60`, or of a member of one, such as `r` of `"default";r=5;t=1`. */
function findNumber(headers: Headers, places: readonly string[]): string | undefined {
  for (const place of places) {
    const [name = '', member] = place.split(' ');
    const start = member === undefined ? '^\\s*' : `(?:^|[;,\\s])${member}=`;
    const number = new RegExp(`${start}(\\d+(?:\\.\\d+)?)\\s*(?:$|[,;])`, 'u').exec(headers.get(name) ?? '')?.[1];
    if (number !== undefined) return number;
  }
  return undefined;
}

/** @param text seconds from now, or a time */
function toMs(text: string | undefined, nowMs: number): number | undefined {
  if (text === undefined) return undefined;
  const seconds = Number(text);
  if (seconds < EPOCH_SECONDS) return boundWait(seconds * 1000);
  return boundWait((seconds < EPOCH_MS ? seconds * 1000 : seconds) - nowMs);
}

function boundWait(waitMs: number): number | undefined {
  return Number.isNaN(waitMs) ? undefined : Math.min(Math.max(0, waitMs), MAX_WAIT_MS);
}

/** A date is compared with the response's own `Date`, so that a wrong clock on either side does not matter. */
function parseRetryDate(headers: Headers, nowMs: number): number | undefined {
  const date = headers.get('retry-after')?.trim() ?? '';
  // An HTTP date begins with a weekday; Date.parse would read a stray number as a year.
  const until = /^[a-z]{3}/iu.test(date) ? Date.parse(date) : Number.NaN;
  return boundWait(until - sentAt(headers, nowMs));
}

/** When a response was sent, by the clock of its service; the local time where it does not say. @param partMs of the second that `Date` has */
function sentAt(headers: Headers, nowMs: number, partMs = 0): number {
  const sentMs = Date.parse(headers.get('date') ?? '');
  return Number.isNaN(sentMs) ? nowMs : sentMs + partMs;
}
