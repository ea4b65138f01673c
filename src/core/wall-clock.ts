import { DAY_MS } from './clock.ts';

/**
 * The local time of a time zone. A wall time is written as the milliseconds that the same reading has in UTC, so that
 * calculations with wall times are plain; only `toInstants` knows that some of them occur twice and some never.
 */
export function createWallClock(timeZone: string) {
  const format = new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short', timeStyle: 'medium' });
  /** Swedish writes times as ISO 8601 does, but for the `T`. */
  const toWall = (instantMs: number): number => Date.parse(`${format.format(instantMs).replace(' ', 'T')}Z`);
  const offsetAt = (instantMs: number): number => toWall(instantMs) - Math.floor(instantMs / 1000) * 1000;
  /**
   * The instants of a wall time: usually one; two, in order, where the clock is set back over it. Where the clock is set forward
   * over it, the instant that it would have had without the change: 02:30 skipped is 03:30.
   */
  const toInstants = (wallMs: number): readonly number[] => {
    const [before, after] = [offsetAt(wallMs - DAY_MS), offsetAt(wallMs + DAY_MS)];
    const instants = [...new Set([before, after])].map((offset) => wallMs - offset);
    const shown = instants.filter((instant) => toWall(instant) === wallMs);
    return shown.length > 0 ? shown.sort((a, b) => a - b) : [wallMs - before];
  };
  return { toWall, toInstants };
}
