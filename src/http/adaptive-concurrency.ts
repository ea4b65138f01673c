import type { HttpFailure } from './errors.ts';

/** Responses of an operation until its usual latency is known. */
const WARM_UP = 10;
/** The usual latency follows the last ones slowly: a service that is always slow is not overloaded. */
const USUAL_WEIGHT = 1 / 300;
const RECENT_WEIGHT = 0.1;
/** A response may take so many times the usual latency before it is a sign of overload. */
const TOLERANCE = 2;
/** One response counts for no more than so many times the usual latency. */
const MAX_RATIO = 10;
/** The most by which slow responses, and errors, lower the number in one round. */
const MAX_DECREASE = 0.5;
/** Requests more with each round: so few that next to nothing fails where a service bears less than is configured. */
const INCREASE = 0.1;

interface Latency {
  ms: number;
  responses: number;
}

/**
 * How many requests may be in progress: as many as configured, fewer while the service answers several times slower than usual or
 * fails, and more again when it recovers (AIMD on errors, the gradient of the latency otherwise). Each operation is compared with
 * itself: an export takes longer than a list. The rate follows, because a request that takes longer holds its place longer.
 */
export class AdaptiveConcurrency {
  readonly #max: number;
  readonly #usual = new Map<string, Latency>();
  #limit: number;
  /** Latencies of late, as multiples of the usual ones. */
  #ratio = 1;
  /** Responses since the number was last adjusted. */
  #responses = 0;
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

  /** @param latencyMs from the request to the head of its response */
  onResponse(operation: string, latencyMs: number): void {
    this.#ratio += (this.#compare(operation, latencyMs) - this.#ratio) * RECENT_WEIGHT;
    if (++this.#responses < this.limit) return;
    this.#responses = 0;
    const gradient = Math.max(MAX_DECREASE, Math.min(1, TOLERANCE / this.#ratio));
    const change = gradient < 1 ? this.#limit * (gradient - 1) : INCREASE;
    this.#limit = Math.max(1, Math.min(this.#max, this.#limit + change));
  }

  /** The service failed, or did not respond. Requests that were sent together count once. */
  onOverload(request: number): void {
    if (request <= this.#loweredAt) return;
    this.#loweredAt = this.#sent;
    this.#responses = 0;
    this.#limit = Math.max(1, this.#limit * MAX_DECREASE);
  }

  #compare(operation: string, latencyMs: number): number {
    const usual = this.#usual.get(operation) ?? { ms: 0, responses: 0 };
    this.#usual.set(operation, usual);
    usual.responses++;
    const isKnown = usual.responses > WARM_UP;
    usual.ms += (latencyMs - usual.ms) * Math.max(1 / usual.responses, USUAL_WEIGHT);
    return isKnown ? Math.min(MAX_RATIO, latencyMs / Math.max(1, usual.ms)) : 1;
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
