import { DAY_MS } from './clock.ts';

/**
 * The local time of a time zone. A wall time is written as the milliseconds that the same reading has in UTC, so that
 * calculations with wall times are plain; only `toInstants` knows that some of them occur twice and some never.
 */
export class WallClock {
  readonly #format: Intl.DateTimeFormat;

  constructor(timeZone: string) {
    this.#format = new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short', timeStyle: 'medium' });
  }

  /** Swedish writes times as ISO 8601 does, but for the `T`. */
  toWall(instantMs: number): number {
    return Date.parse(`${this.#format.format(instantMs).replace(' ', 'T')}Z`);
  }

  /**
   * The instants of a wall time: usually one; two, in order, where the clock is set back over it. Where the clock is set forward
   * over it, the instant that it would have had without the change: 02:30 skipped is 03:30.
   */
  toInstants(wallMs: number): readonly number[] {
    const before = this.#offsetAt(wallMs - DAY_MS);
    const after = this.#offsetAt(wallMs + DAY_MS);
    const shown = [...new Set([before, after])]
      .map((offset) => wallMs - offset)
      .filter((instant) => this.toWall(instant) === wallMs);
    return shown.length > 0 ? shown.sort((a, b) => a - b) : [wallMs - before];
  }

  #offsetAt(instantMs: number): number {
    return this.toWall(instantMs) - Math.floor(instantMs / 1000) * 1000;
  }
}
