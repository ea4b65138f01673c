/** What talking cost; counted per source into the table `pulls`. */
export interface Meter {
  /** Requests sent, retries included. */
  requests: number;
  retries: number;
  /** Answers that turned a request away for its rate (429). */
  throttled: number;
  /** Time spent waiting for the limit, for a demanded pause or before a retry, in milliseconds. */
  waitedMs: number;
  /** Bytes of bodies received, decompressed. */
  bytes: number;
  /** Rows that the answers are said to hold, so far; for the display alone. */
  rows: number;
}

export function createMeter(): Meter {
  return { requests: 0, retries: 0, throttled: 0, waitedMs: 0, bytes: 0, rows: 0 };
}
