/** Request counters of one extraction. The table `pulls` stores them for each source. */
export interface RequestMetrics {
  /** Requests sent, retries included. */
  requests: number;
  retries: number;
  /** Responses with status 429. */
  throttled: number;
  /** Time spent waiting for the rate limiter, for a pause that the service asked for, or before a retry, in milliseconds. */
  throttleWaitMs: number;
  /** Bytes of the bodies received, decompressed. */
  bytes: number;
  /** Rows in the responses so far; for the progress display only. */
  rows: number;
  /** Objects that are as the last pull read them, and were not read again. */
  reused: number;
  /** Texts that were not valid Unicode, and were mended. */
  replaced: number;
}

export function createRequestMetrics(): RequestMetrics {
  return { requests: 0, retries: 0, throttled: 0, throttleWaitMs: 0, bytes: 0, rows: 0, reused: 0, replaced: 0 };
}
