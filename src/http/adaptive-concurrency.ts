import type { HttpFailure } from './errors.ts';

/** By this factor errors lower the number. */
const DECREASE = 0.5;
/** Requests more with each round: so few that next to nothing fails where a service bears less than is configured. */
const INCREASE = 0.1;

/**
 * How many requests may be in progress: as many as configured, half as many after the service failed, and more again when it recovers
 * (AIMD). The rate follows, because a request that takes longer holds its place longer.
 */
export function createAdaptiveConcurrency(max: number) {
  let limit = max;
  let sent = 0;
  /** Requests up to this one were sent before errors lowered the number. */
  let loweredAt = 0;
  /** From 1 to the configured number. */
  const wholeLimit = () => Math.floor(limit);
  return {
    limit: wholeLimit,
    /** Counts a request. @returns its number, for `onOverload` */
    onSent: () => ++sent,
    onSuccess(): void {
      limit = Math.min(max, limit + INCREASE / wholeLimit());
    },
    /** The service failed, or did not respond. Requests that were sent together count once. */
    onOverload(request: number): void {
      if (request <= loweredAt) return;
      loweredAt = sent;
      limit = Math.max(1, limit * DECREASE);
    },
  };
}

/** What a proxy answers for a service that does not keep up, and failures without an answer. */
const OVERLOAD_STATUS = [502, 503, 504];

/** A sealed server refuses everything, and 429 is about the rate. */
export function showsOverload({ failure: kind, status }: HttpFailure): boolean {
  if (kind === 'timeout' || kind === 'truncated') return true;
  if (kind === 'unreachable') return status === undefined;
  return kind === 'server' && status !== undefined && OVERLOAD_STATUS.includes(status);
}
