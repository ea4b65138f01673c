import { isScalar } from './json-path.ts';

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
  if (new Date(day).getUTCDate() !== Number(day.slice(8))) return undefined; // JavaScript takes 30 February for 2 March
  const offset =
    zone === 'UTC' ? 'Z' : zone.replace(/^([+-]\d\d):?(\d\d)?$/u, (_, hours, minutes) => `${hours}:${minutes ?? '00'}`);
  const date = new Date(`${day}T${time}${offset}`);
  const year = date.getUTCFullYear(); // in UTC it may have five digits, which nothing else reads
  return year >= 0 && year <= 9999 ? date : undefined;
}

/** What Go prints behind the offset: the name of the zone, or the offset again. */
const GO_ZONE = / ?([+-]\d\d)(\d\d) [\w+-]+$/u;
/** The last time that a date can hold. */
const MAX_TIME_MS = 8.64e15;

/**
 * A time as services write it: ISO 8601 with a `T` or a space, what Go prints, or a Unix time in any unit; undefined for anything else. The macro
 * `read_time` reads more, as DuckDB does.
 */
export function readTime(value: unknown): Date | undefined {
  const text = isScalar(value) ? String(value) : '';
  if (!/^\d+(?:\.\d+)?(?:e\+?\d+)?$/iu.test(text)) return parseTimestamp(text.replace(GO_ZONE, '$1:$2'));
  const count = Number(text);
  const ms = count >= 1e17 ? count / 1e6 : count >= 1e14 ? count / 1e3 : count >= 1e11 ? count : count * 1e3; // its unit follows from its size
  return count > 0 && ms <= MAX_TIME_MS ? new Date(Math.floor(ms)) : undefined;
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
