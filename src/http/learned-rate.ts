/** The first rate of a service that documents none. It doubles until the first throttled response. */
const FIRST_PER_SECOND = 64;
const RISE_MS = 250;
const RISE = 2;
/** From a documented rate: a fifth in a second, so that next to nothing is throttled where it is the limit. */
const DOCUMENTED_RISE = 1.1;
/** A service that accepts this multiple of the documented rate does not have that limit: its rate rises as that of any other service. */
const UNDOCUMENTED_FROM = 2;
/** Where the rate no longer matters: the service is faster than the client. */
const UNLIMITED_PER_SECOND = 4096;
/** Below the measured rate after a throttled response, as a fraction of it. */
const DECREASE = 0.06;
/** Accepted requests, and seconds, from a decrease until the measured rate is reached again: throttled responses stay below 1 %. */
const RECOVERY_REQUESTS = 400;
const MIN_RECOVERY_SECONDS = 10;
const MAX_RECOVERY_SECONDS = 60;
/** Throttled responses that follow each other closely have one cause: the window has not ended. */
const SAME_CAUSE_MS = 1500;
const SAME_CAUSE_ACCEPTED = 3;
/** Fewer accepted requests measure nothing: other clients share the limit. */
const MEASURED_REQUESTS = 10;
const UNRELIABLE_RECOVERY = 0.15;
const UNMEASURED_PER_SECOND = 14;
/** A rate at which this number of requests was accepted is not far above the limit. */
const SUSTAINED_REQUESTS = 100;
const RECENT_MS = 1000;
const MIN_PER_SECOND = 1;

/**
 * The rate of a service that does not say its limit, learned from throttled responses: multiplicative decrease, and
 * an increase that is slow near the rate that was measured, as in TCP CUBIC.
 */
export class LearnedRate {
  readonly #maxPerSecond: number;
  #documentedPerSecond: number;
  #perSecond: number;
  /** The rate that was accepted before the last throttled response; undefined until there is one. */
  #measured: number | undefined;
  #isProbing = false;
  /** Requests up to this ticket were sent at the rate that was too high. */
  #decreasedAtTicket = 0;
  #throttledAtMs = Number.NEGATIVE_INFINITY;
  /** Since the last throttled response. */
  #spanStartMs: number | undefined;
  #accepted = 0;
  /** Whether many requests were accepted before the rate was measured. It rises faster where not. */
  #isReliable = false;
  #recentMs: number[] = [];
  #nextRiseMs: number | undefined;

  /**
   * @param startPerSecond a rate that the service accepts. @default none: the rate is looked for
   * @param maxPerSecond never exceeded
   */
  constructor(startPerSecond: number | undefined, maxPerSecond: number) {
    this.#maxPerSecond = maxPerSecond;
    this.#documentedPerSecond = startPerSecond ?? 0;
    this.#perSecond = startPerSecond ?? FIRST_PER_SECOND;
  }

  get perSecond(): number {
    return this.#perSecond >= UNLIMITED_PER_SECOND ? Number.POSITIVE_INFINITY : this.#perSecond;
  }

  /** Whether only one request at a time may be in progress: the last ones were throttled. */
  get isProbing(): boolean {
    return this.#isProbing;
  }

  /** Begins again at a rate that headers describe, though not as a window. */
  assume(perSecond: number, nowMs: number): void {
    this.#measured = undefined;
    this.#documentedPerSecond = perSecond;
    this.#perSecond = Math.min(perSecond, this.#maxPerSecond);
    this.#nextRiseMs = undefined;
    this.#spanStartMs = nowMs;
    this.#accepted = 0;
  }

  onAccepted(nowMs: number): void {
    this.#isProbing = false;
    this.#spanStartMs ??= nowMs;
    this.#accepted++;
    this.#recentMs.push(nowMs);
    while (this.#recentMs[0]! <= nowMs - RECENT_MS) this.#recentMs.shift();
    if (this.#measured === undefined) this.#rise(nowMs);
    else this.#set(this.#measured);
  }

  /** @param lastTicket the last request that was sent */
  onThrottled(ticket: number, lastTicket: number, nowMs: number): void {
    if (ticket <= this.#decreasedAtTicket) return;
    this.#decreasedAtTicket = lastTicket;
    this.#isProbing = true;
    const isSameCause = this.#accepted < SAME_CAUSE_ACCEPTED && nowMs - this.#throttledAtMs < SAME_CAUSE_MS;
    if (!isSameCause) {
      this.#throttledAtMs = nowMs;
      this.#measured = Math.max(MIN_PER_SECOND, this.#measure(nowMs));
    }
    this.#spanStartMs = nowMs;
    this.#accepted = 0;
    if (this.#measured !== undefined) this.#set(this.#measured);
  }

  /** A long time without a throttled response shows that the last second was accepted; after a short one it was a burst. */
  #measure(nowMs: number): number {
    const current = Math.min(this.#perSecond, UNLIMITED_PER_SECOND);
    const recent = Math.min(current, this.#recentMs.filter((atMs) => atMs > nowMs - RECENT_MS).length);
    const spanMs = nowMs - (this.#spanStartMs ?? nowMs);
    const isLong = this.#measured !== undefined || spanMs >= RECENT_MS;
    this.#isReliable = isLong && this.#accepted >= MEASURED_REQUESTS;
    if (this.#measured === undefined) {
      return this.#accepted >= MEASURED_REQUESTS ? recent : Math.min(current, UNMEASURED_PER_SECOND);
    }
    if (this.#accepted >= SUSTAINED_REQUESTS) return recent >= MEASURED_REQUESTS ? recent : current;
    const accepted = (this.#accepted / Math.max(RECENT_MS, spanMs)) * 1000;
    return Math.min(current, Math.sqrt(Math.max(accepted, MIN_PER_SECOND) * current));
  }

  #rise(nowMs: number): void {
    this.#nextRiseMs ??= nowMs + RISE_MS;
    if (nowMs < this.#nextRiseMs) return;
    this.#nextRiseMs = nowMs + RISE_MS;
    const rise = this.#perSecond < this.#documentedPerSecond * UNDOCUMENTED_FROM ? DOCUMENTED_RISE : RISE;
    this.#perSecond = Math.min(this.#maxPerSecond, this.#perSecond * rise);
  }

  #set(measured: number): void {
    const reliable = Math.max(
      MIN_RECOVERY_SECONDS * measured,
      Math.min(RECOVERY_REQUESTS, MAX_RECOVERY_SECONDS * measured),
    );
    const recovery = this.#isReliable ? reliable : reliable * UNRELIABLE_RECOVERY;
    this.#perSecond = Math.min(this.#maxPerSecond, measured * (1 + DECREASE * (this.#accepted / recovery - 1) ** 3));
  }
}
