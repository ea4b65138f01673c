import { formatSeconds } from '../core/clock.ts';
import type { HttpTimeouts } from '../core/context.ts';

export type { HttpTimeouts };

export const DEFAULT_TIMEOUTS: HttpTimeouts = {
  backoffMs: 500,
  maxBackoffMs: 10_000,
  attempts: 5,
  connectMs: 10_000,
  headersMs: 90_000,
  idleMs: 60_000,
  responseMs: 300_000,
  downloadMs: 3_600_000,
  maxResponseBytes: 64 * 1024 * 1024,
  maxDownloadBytes: 16 * 1024 ** 3,
};

export interface DeadlineLimits {
  /** From `start` to the last byte. */
  readonly wholeMs: number;
  /** From `start` to the response headers. */
  readonly headersMs: number;
  /** Between two parts of the body. */
  readonly idleMs: number;
}

/**
 * The timeouts of one attempt as an abort signal, which follows an outer signal too. undici's own timers tick about once a
 * second; these are exact and name the timeout that was exceeded. Call `dispose` when the attempt is over.
 */
export class Deadline {
  readonly #controller = new AbortController();
  readonly #outer: AbortSignal;
  readonly #limits: DeadlineLimits;
  readonly #followOuter = () => this.#controller.abort(this.#outer.reason);
  #wholeTimer: NodeJS.Timeout | undefined;
  #headersTimer: NodeJS.Timeout | undefined;
  #idleTimer: NodeJS.Timeout | undefined;
  #timeoutReason: string | undefined;

  constructor(outer: AbortSignal, limits: DeadlineLimits) {
    this.#outer = outer;
    this.#limits = limits;
    if (outer.aborted) this.#followOuter();
    outer.addEventListener('abort', this.#followOuter);
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Which timeout was exceeded; undefined while none was. */
  get timeoutReason(): string | undefined {
    return this.#timeoutReason;
  }

  /** Starts the timeouts of the whole attempt and of its headers. */
  start(): void {
    const { wholeMs, headersMs } = this.#limits;
    this.#wholeTimer = this.#abortAfter(wholeMs, `not finished within ${formatSeconds(wholeMs)}`);
    this.#headersTimer = this.#abortAfter(headersMs, `no response within ${formatSeconds(headersMs)}`);
  }

  /** Call when the headers or a part of the body arrive: the next part must follow within `idleMs`. */
  touch(): void {
    const { idleMs } = this.#limits;
    clearTimeout(this.#headersTimer);
    if (this.#idleTimer) this.#idleTimer.refresh();
    else this.#idleTimer = this.#abortAfter(idleMs, `no data for ${formatSeconds(idleMs)} within a response`);
  }

  /** Releases the timers and the outer signal. */
  dispose(): void {
    for (const timer of [this.#wholeTimer, this.#headersTimer, this.#idleTimer]) clearTimeout(timer);
    this.#outer.removeEventListener('abort', this.#followOuter);
  }

  #abortAfter(ms: number, reason: string): NodeJS.Timeout {
    return setTimeout(() => {
      this.#timeoutReason ??= reason;
      this.#controller.abort();
    }, ms);
  }
}
