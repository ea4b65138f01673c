/** The current time. `--now` freezes it for demos, replays and tests. Waiting does not use it. */
export interface Clock {
  now(): Date;
  readonly frozen: boolean;
}

export const systemClock: Clock = { now: () => new Date(), frozen: false };

export function frozenClock(at: Date): Clock {
  return { now: () => new Date(at), frozen: true };
}

/** Parses an ISO 8601 date or date-time (UTC without an offset); undefined for anything else. */
export function parseTimestamp(text: string): Date | undefined {
  const match = /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d(?:\.\d+)?)?)\s*(Z|UTC|[+-]\d\d(?::?\d\d)?)?)?$/u.exec(
    text.trim(),
  );
  if (!match) return undefined;
  const [, day = '', time = '00:00:00', zone = 'Z'] = match;
  const offset =
    zone === 'UTC' ? 'Z' : zone.replace(/^([+-]\d\d):?(\d\d)?$/u, (_, hours, minutes) => `${hours}:${minutes ?? '00'}`);
  const date = new Date(`${day}T${time}${offset}`);
  const year = date.getUTCFullYear(); // in UTC it may have five digits, which nothing else reads
  return year >= 0 && year <= 9999 && isDay(day) ? date : undefined;
}

/** A `Date` takes 30 February for 2 March. */
function isDay(day: string): boolean {
  const date = new Date(`${day}T00:00:00Z`);
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(day);
}

/** `2026-11-20T02:15:00Z`, with a fraction only when it is not zero. */
export function formatTimestamp(date: Date): string {
  return date.toISOString().replace('.000Z', 'Z');
}

/** `20261120T021500Z`: sorts by time, and is a valid name of a file everywhere. */
export function formatCompact(date: Date): string {
  return `${date.toISOString().replaceAll(/[-:]/gu, '').slice(0, 15)}Z`;
}

export const MINUTE_MS = 60_000;
export const HOUR_MS = 60 * MINUTE_MS;
export const DAY_MS = 24 * HOUR_MS;

/** A duration for a message: `0.5 s`, `90 s`. */
export function formatSeconds(ms: number): string {
  return ms < 10_000 ? `${(ms / 1000).toFixed(1)} s` : `${Math.round(ms / 1000)} s`;
}
