export interface Allowance {
  readonly isAllowed: boolean;
  readonly limit: number;
  readonly remaining: number;
  /** Seconds until the window ends, with fractions. */
  readonly resetSeconds: number;
}

/**
 * Counts requests in fixed windows that begin with their first request, as HCP Terraform counts its 30 requests per
 * second: docs/services/platform.md#limits. `nowMs` is a monotonic clock: the limit is about real time, not the
 * sandbox's time.
 */
export class RateWindow {
  readonly #limit: number;
  readonly #nowMs: () => number;
  readonly #windowMs: number;
  #startedMs = Number.NEGATIVE_INFINITY;
  #used = 0;

  constructor(limit: number, nowMs: () => number, windowMs = 1000) {
    this.#limit = limit;
    this.#nowMs = nowMs;
    this.#windowMs = windowMs;
  }

  /** Counts one request. */
  take(): Allowance {
    const now = this.#nowMs();
    if (now - this.#startedMs >= this.#windowMs) {
      this.#startedMs = now;
      this.#used = 0;
    }
    this.#used++;
    return {
      isAllowed: this.#used <= this.#limit,
      limit: this.#limit,
      remaining: Math.max(0, this.#limit - this.#used),
      resetSeconds: (this.#startedMs + this.#windowMs - now) / 1000,
    };
  }
}
