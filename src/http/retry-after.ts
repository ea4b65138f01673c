/** Vendors' headers about rate, each translated to plain numbers here and nowhere else. */

export interface RateTold {
  /** Requests a window allows. */
  readonly limit: number;
  /** Requests left in the present window. */
  readonly remaining: number;
  /** Until the window ends, in milliseconds. */
  readonly resetMs: number;
}

/** A larger reset is a moment (seconds or milliseconds since 1970), not a duration: it would last for decades. */
const EPOCH_SECONDS = 1_000_000_000;
const EPOCH_MS = EPOCH_SECONDS * 1000;

/** A reset of 0 is one whose fraction was cut off: Vault tells whole seconds, of windows of one second. */
const LESS_THAN_A_SECOND_MS = 1000;

/**
 * How long an answer asks to be left alone, in milliseconds; undefined when it asks nothing. `Retry-After` (seconds or a
 * date, RFC 9110 §10.2.3) comes first, then `RateLimit`/`RateLimit-Reset` (the IETF draft), then `X-RateLimit-Reset`
 * (float seconds from now: live-services.md A2, B1).
 */
export function demandedWaitMs(headers: Headers, nowMs: number): number | undefined {
  const retryAfter = headers.get('retry-after')?.trim();
  if (retryAfter) {
    const ms = secondsMs(retryAfter, nowMs) ?? dateMs(retryAfter, headers, nowMs);
    if (ms !== undefined) return ms;
  }
  return resetMs(headers, nowMs);
}

/** What an answer tells of its limit; undefined unless limit, remaining and reset are all there. */
export function rateTold(headers: Headers, nowMs: number): RateTold | undefined {
  const draft = headers.get('ratelimit') ?? '';
  const policy = headers.get('ratelimit-policy') ?? '';
  const limit =
    numberOf(headers.get('x-ratelimit-limit')) ??
    numberOf(headers.get('ratelimit-limit')) ??
    member(draft, 'limit') ??
    member(policy, 'q');
  const remaining =
    numberOf(headers.get('x-ratelimit-remaining')) ??
    numberOf(headers.get('ratelimit-remaining')) ??
    member(draft, 'remaining') ??
    member(draft, 'r');
  const reset = resetMs(headers, nowMs);
  if (limit === undefined || remaining === undefined || reset === undefined || limit < 1) return undefined;
  return { limit, remaining, resetMs: reset };
}

function resetMs(headers: Headers, nowMs: number): number | undefined {
  const draft = headers.get('ratelimit') ?? '';
  const told =
    headers.get('ratelimit-reset') ??
    (member(draft, 't') ?? member(draft, 'reset'))?.toString() ??
    headers.get('x-ratelimit-reset');
  if (told?.trim() === '0') return LESS_THAN_A_SECOND_MS;
  return told === null ? undefined : secondsMs(told, nowMs);
}

function secondsMs(text: string, nowMs: number): number | undefined {
  const seconds = numberOf(text);
  if (seconds === undefined) return undefined;
  if (seconds >= EPOCH_MS) return Math.max(0, seconds - nowMs);
  return seconds >= EPOCH_SECONDS ? Math.max(0, seconds * 1000 - nowMs) : seconds * 1000;
}

/** A date is measured against the answer's own `Date`, so that a wrong clock on either side does not matter. */
function dateMs(text: string, headers: Headers, nowMs: number): number | undefined {
  // An HTTP date begins with a weekday; Date.parse would make a year of a stray number.
  const until = /^[a-z]{3}/iu.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(until)) return undefined;
  const sent = Date.parse(headers.get('date') ?? '');
  return Math.max(0, until - (Number.isNaN(sent) ? nowMs : sent));
}

function numberOf(text: string | null): number | undefined {
  const match = /^\s*(\d+(?:\.\d+)?)\s*(?:$|[,;])/u.exec(text ?? '');
  return match ? Number(match[1]) : undefined;
}

/** `r=5` of `"default";r=5;t=1`, or `limit=10` of the older `limit=10, remaining=5, reset=1`. */
function member(text: string, name: string): number | undefined {
  const match = new RegExp(`(?:^|[;,\\s])${name}=(\\d+(?:\\.\\d+)?)`, 'u').exec(text);
  return match ? Number(match[1]) : undefined;
}
