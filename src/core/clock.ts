/** The present. `--now` freezes it: demos, replays and tests then depend on nothing else. Waiting never uses it. */
export interface Clock {
  now(): Date;
  readonly frozen: boolean;
}

export const systemClock: Clock = { now: () => new Date(), frozen: false };

export function frozenClock(at: Date): Clock {
  return { now: () => new Date(at), frozen: true };
}

/** Reads an ISO 8601 date or date-time (UTC when no offset is given); undefined when it is neither. */
export function parseTimestamp(text: string): Date | undefined {
  const match = /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d(?:\.\d+)?)?)\s*(Z|UTC|[+-]\d\d(?::?\d\d)?)?)?$/u.exec(
    text.trim(),
  );
  if (!match) return undefined;
  const [, day, time = '00:00:00', zone = 'Z'] = match;
  const offset =
    zone === 'UTC' ? 'Z' : zone.replace(/^([+-]\d\d):?(\d\d)?$/u, (_, hours, minutes) => `${hours}:${minutes ?? '00'}`);
  const date = new Date(`${day}T${time}${offset}`);
  return Number.isNaN(date.getTime()) ? undefined : date;
}

/** `2026-11-20T02:15:00Z`, without a fraction when it is zero. */
export function formatTimestamp(date: Date): string {
  return date.toISOString().replace('.000Z', 'Z');
}
