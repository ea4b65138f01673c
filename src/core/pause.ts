import { uptime } from 'node:os';

const CHECK_EVERY_MS = 1_000;

/**
 * Measures the longest time for which this process did not run: stopped by a signal, or asleep with its machine. The clock is the
 * time since boot, which no change of the wall clock affects.
 */
export class PauseMonitor {
  readonly #now: () => number;
  readonly #timer: NodeJS.Timeout;
  #lastSeen: number;
  #longest = 0;

  /** `now`: seconds since boot, including sleep. */
  constructor(now: () => number = uptime) {
    this.#now = now;
    this.#lastSeen = now();
    this.#timer = setInterval(() => this.#observe(), CHECK_EVERY_MS);
    this.#timer.unref();
  }

  /** Also counts a pause that ended just now, before any timer could run. */
  longestMs(): number {
    this.#observe();
    return this.#longest * 1000;
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #observe(): void {
    const now = this.#now();
    this.#longest = Math.max(this.#longest, now - this.#lastSeen);
    this.#lastSeen = now;
  }
}
