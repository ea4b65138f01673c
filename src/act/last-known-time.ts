import { TidemarkError } from '../core/errors.ts';
import type { Plan } from './plan-file.ts';

/** A time that is on record. The present cannot be before it. */
export interface KnownTime {
  /** What happened then, in a clause such as `plan p-1 was approved`. */
  readonly what: string;
  readonly at: string;
}

/**
 * Refuses to write at a time before the last known one: with an earlier time, a plan that has expired would be valid again.
 * @throws TidemarkError UNSAFE that says what happened later than `now`.
 */
export function assertTimeMovedOn(now: Date, known: readonly KnownTime[]): void {
  const last = known.reduce<KnownTime | undefined>(
    (latest, time) => (latest && Date.parse(latest.at) >= Date.parse(time.at) ? latest : time),
    undefined,
  );
  if (!last || now.getTime() >= Date.parse(last.at)) return;
  throw new TidemarkError('UNSAFE', `${last.what} at ${last.at}, which is in the future of ${now.toISOString()}`, {
    hint: 'check the clock, or leave --now out',
  });
}

/** When a plan was created and approved. */
export function planTimes({ plan_id, created_at, approvals }: Plan): readonly KnownTime[] {
  return [
    { what: `plan ${plan_id} was created`, at: created_at },
    ...approvals.map(({ by, at }) => ({ what: `plan ${plan_id} was approved by ${by}`, at })),
  ];
}
