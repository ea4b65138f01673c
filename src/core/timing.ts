/** Every time and bound of talking, so that tests of the waiting code wait in milliseconds. */
export interface Timing {
  /** First back-off; it doubles with each attempt. @default 500 */
  readonly backoffMs: number;
  /** @default 10_000 */
  readonly maxBackoffMs: number;
  /** Attempts at a request that may be repeated, the first included. @default 5 */
  readonly attempts: number;
  /** @default 10_000 */
  readonly connectMs: number;
  /** Until the first byte of an answer. The explorer itself takes up to 60 s (platform.md, Limits). @default 90_000 */
  readonly headersMs: number;
  /** Silence within a body. @default 60_000 */
  readonly idleMs: number;
  /** A whole answer held in memory. @default 300_000 */
  readonly answerMs: number;
  /** A whole download. @default 3_600_000 */
  readonly downloadMs: number;
  /** Size of an answer held in memory. @default 64 MiB */
  readonly maxAnswerBytes: number;
  /** Size of a download. @default 16 GiB */
  readonly maxDownloadBytes: number;
}
