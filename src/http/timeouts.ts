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

type BodyTimeouts = Pick<HttpTimeouts, 'headersMs' | 'idleMs' | 'slowMs'>;

/**
 * The timeouts of one attempt, which begins now, as an abort signal that follows an outer signal too. undici's own timers tick about
 * once a second; these are exact and name the timeout that was exceeded. Call `dispose` when the attempt is over.
 */
export class Deadline {
  /** Not one of `linkSignals`: undici cannot read the number of its listeners, which is unlimited. */
  readonly #controller = new AbortController();
  readonly #outer: AbortSignal;
  readonly #followOuter = () => this.#controller.abort(this.#outer.reason);
  readonly #timeouts: BodyTimeouts;
  readonly #wholeTimer: NodeJS.Timeout;
  readonly #headersTimer: NodeJS.Timeout;
  #idleTimer: NodeJS.Timeout | undefined;
  #slowTimer: NodeJS.Timeout | undefined;
  /** Of the body, since `#slowTimer` fired last. */
  #bytes = 0;
  #exceeded: HttpFailure | undefined;

  /** @param wholeMs to the last byte */
  constructor(outer: AbortSignal, wholeMs: number, timeouts: BodyTimeouts) {
    const { headersMs } = timeouts;
    this.#outer = outer;
    if (outer.aborted) this.#followOuter();
    outer.addEventListener('abort', this.#followOuter);
    this.#timeouts = timeouts;
    this.#wholeTimer = this.#abortAfter(wholeMs, `not finished within ${formatSeconds(wholeMs)}`);
    this.#headersTimer = this.#abortAfter(headersMs, `no response within ${formatSeconds(headersMs)}`);
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** What the limit that was exceeded first means for the attempt; undefined while none was. */
  get exceeded(): HttpFailure | undefined {
    return this.#exceeded;
  }

  /** Call when the headers or a part of the body arrive: the next part must follow within `idleMs`. */
  touch(bytes = 0): void {
    const { idleMs, slowMs } = this.#timeouts;
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
    const { slowMs } = this.#timeouts;
    const isSlow = this.#bytes * 1000 < MIN_BYTES_PER_SECOND * slowMs;
    this.#bytes = 0;
    if (isSlow) this.#abort('truncated', `less than 1 KiB/s for ${formatSeconds(slowMs)}`);
  }

  #abortAfter(ms: number, message: string): NodeJS.Timeout {
    return setTimeout(() => this.#abort('timeout', message), ms);
  }

  #abort(kind: HttpFailure['failure'], message: string): void {
    this.#exceeded ??= { failure: kind, message, retryable: 'yes' };
    this.#controller.abort();
  }
}
