import type { HttpFailure } from './errors.ts';

/** By this factor errors lower the number. */
const DECREASE = 0.5;
/** Requests more with each round: so few that next to nothing fails where a service bears less than is configured. */
const INCREASE = 0.1;

/**
 * How many requests may be in progress: as many as configured, half as many after the service failed, and more again when it recovers
 * (AIMD). The rate follows, because a request that takes longer holds its place longer.
 */
export class AdaptiveConcurrency {
  readonly #max: number;
  #limit: number;
  #sent = 0;
  /** Requests up to this one were sent before errors lowered the number. */
  #loweredAt = 0;

  constructor(max: number) {
    this.#max = max;
    this.#limit = max;
  }

  /** From 1 to the configured number. */
  get limit(): number {
    return Math.floor(this.#limit);
  }

  /** Counts a request. @returns its number, for `onOverload` */
  onSent(): number {
    return ++this.#sent;
  }

  onSuccess(): void {
    this.#limit = Math.min(this.#max, this.#limit + INCREASE / this.limit);
  }

  /** The service failed, or did not respond. Requests that were sent together count once. */
  onOverload(request: number): void {
    if (request <= this.#loweredAt) return;
    this.#loweredAt = this.#sent;
    this.#limit = Math.max(1, this.#limit * DECREASE);
  }
}

/** What a proxy answers for a service that does not keep up, and failures without an answer. */
const OVERLOAD_STATUS = [502, 503, 504];

/** A sealed server refuses everything, and 429 is about the rate. */
export function showsOverload({ failure: kind, status }: HttpFailure): boolean {
  if (kind === 'timeout' || kind === 'truncated') return true;
  if (kind === 'unreachable') return status === undefined;
  return kind === 'server' && status !== undefined && OVERLOAD_STATUS.includes(status);
}
