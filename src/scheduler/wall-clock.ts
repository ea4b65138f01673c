const DAY_MS = 24 * 60 * 60_000;

/**
 * The clock on the wall of a time zone. A wall time is written as the milliseconds that the same reading has in UTC, so that
 * wall times can be counted with; only `instantsOf` knows that some of them come twice and some never.
 */
export interface WallClock {
  wallOf(instantMs: number): number;
  /**
   * The instants at which the wall shows this time: usually one; two, in order, where clocks are set back over it. Where they
   * are set forward over it, the one instant at which it would have been without the change: 02:30 skipped is 03:30.
   */
  instantsOf(wallMs: number): readonly number[];
}

export function wallClock(zone: string): WallClock {
  const format = new Intl.DateTimeFormat('en-CA', {
    timeZone: zone,
    hourCycle: 'h23',
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
  });
  const wallOf = (instantMs: number): number => {
    const [year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0] = (
      format.format(instantMs).match(/\d+/gu) ?? []
    ).map(Number);
    return Date.UTC(year, month - 1, day, hour, minute, second);
  };
  const offsetAt = (instantMs: number): number => wallOf(instantMs) - Math.floor(instantMs / 1000) * 1000;

  const instantsOf = (wallMs: number): readonly number[] => {
    const before = offsetAt(wallMs - DAY_MS);
    const after = offsetAt(wallMs + DAY_MS);
    const shown = [...new Set([before, after])]
      .map((offset) => wallMs - offset)
      .filter((instant) => wallOf(instant) === wallMs);
    return shown.length > 0 ? shown.sort((a, b) => a - b) : [wallMs - before];
  };
  return { wallOf, instantsOf };
}
