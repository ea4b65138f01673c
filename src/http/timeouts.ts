import { formatSeconds } from '../core/clock.ts';
import type { HttpTimeouts } from '../core/context.ts';
import type { HttpFailure } from './errors.ts';

export type { HttpTimeouts };

export const DEFAULT_TIMEOUTS: HttpTimeouts = {
  backoffMs: 500,
  maxBackoffMs: 10_000,
  attempts: 5,
  connectMs: 10_000,
  headersMs: 90_000,
  idleMs: 60_000,
  slowMs: 60_000,
  responseMs: 300_000,
  downloadMs: 3_600_000,
  maxResponseBytes: 64 * 1024 * 1024,
  maxDownloadBytes: 16 * 1024 ** 3,
};

/** A slower body would hold a connection, and the run, for hours. */
const MIN_BYTES_PER_SECOND = 1024;

export interface DeadlineLimits {
  /** From `start` to the last byte. */
  readonly wholeMs: number;
  /** From `start` to the response headers. */
  readonly headersMs: number;
  /** Between two parts of the body. */
  readonly idleMs: number;
  /** The body must not be slow over such a time. */
  readonly slowMs: number;
}

/** What an exceeded limit means for the attempt. */
type Exceeded = Pick<HttpFailure, 'failure' | 'message'>;

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
  #slowTimer: NodeJS.Timeout | undefined;
  /** Of the body, since `#slowTimer` fired last. */
  #bytes = 0;
  #exceeded: Exceeded | undefined;

  constructor(outer: AbortSignal, limits: DeadlineLimits) {
    this.#outer = outer;
    this.#limits = limits;
    if (outer.aborted) this.#followOuter();
    outer.addEventListener('abort', this.#followOuter);
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** The limit that was exceeded first; undefined while none was. */
  get exceeded(): Exceeded | undefined {
    return this.#exceeded;
  }

  /** Starts the timeouts of the whole attempt and of its headers. */
  start(): void {
    const { wholeMs, headersMs } = this.#limits;
    this.#wholeTimer = this.#abortAfter(wholeMs, `not finished within ${formatSeconds(wholeMs)}`);
    this.#headersTimer = this.#abortAfter(headersMs, `no response within ${formatSeconds(headersMs)}`);
  }

  /** Call when the headers or a part of the body arrive: the next part must follow within `idleMs`. */
  touch(bytes = 0): void {
    const { idleMs, slowMs } = this.#limits;
    clearTimeout(this.#headersTimer);
    this.#bytes += bytes;
    if (this.#idleTimer) this.#idleTimer.refresh();
    else this.#idleTimer = this.#abortAfter(idleMs, `no data for ${formatSeconds(idleMs)} within a response`);
    this.#slowTimer ??= setInterval(() => this.#checkRate(), slowMs);
  }

  /** Releases the timers and the outer signal. */
  dispose(): void {
    for (const timer of [this.#wholeTimer, this.#headersTimer, this.#idleTimer]) clearTimeout(timer);
    clearInterval(this.#slowTimer);
    this.#outer.removeEventListener('abort', this.#followOuter);
  }

  #checkRate(): void {
    const { slowMs } = this.#limits;
    const isSlow = this.#bytes * 1000 < MIN_BYTES_PER_SECOND * slowMs;
    this.#bytes = 0;
    if (isSlow) this.#abort({ failure: 'truncated', message: `less than 1 KiB/s for ${formatSeconds(slowMs)}` });
  }

  #abortAfter(ms: number, message: string): NodeJS.Timeout {
    return setTimeout(() => this.#abort({ failure: 'timeout', message }), ms);
  }

  #abort(exceeded: Exceeded): void {
    this.#exceeded ??= exceeded;
    this.#controller.abort();
  }
}
