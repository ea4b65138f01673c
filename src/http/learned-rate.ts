/** The first rate of a service that documents none. It rises until the first throttled response. */
const FIRST_PER_SECOND = 64;
const RISE_MS = 250;
const RISE = 2;
/** From a documented rate: a fifth in a second, so that next to nothing is throttled where it is the limit. */
const DOCUMENTED_RISE = 1.05;
/** A service that accepts this multiple of the documented rate does not have that limit: its rate rises as that of any other service. */
const UNDOCUMENTED_FROM = 2;
/** Where the rate no longer matters: the service is faster than the client. */
const UNLIMITED_PER_SECOND = 4096;
/** Below the measured rate after a throttled response, as a fraction of it. */
const DECREASE = 0.06;
/** Requests, and seconds, from a decrease until the measured rate is reached again: throttled responses stay below 1 %. */
const RECOVERY_REQUESTS = 400;
const MIN_RECOVERY_SECONDS = 10;
const MAX_RECOVERY_SECONDS = 60;
/** Throttled responses within this time that follow each other closely have one cause: the window has not ended. */
const SAME_EVENT_MS = 1500;
const SAME_EVENT_ACCEPTED = 3;
/** A rate at which this number of requests was accepted is not far above the limit. */
const SUSTAINED_REQUESTS = 100;
/** Fewer accepted requests measure little; the rate then rises faster. */
const RELIABLE_REQUESTS = 10;
const UNRELIABLE_RECOVERY = 0.15;
const RECENT_MS = 1000;
const MAX_RECENT = 16_384;
/** Used when throttled before anything could be measured: other clients share the limit. */
const UNMEASURED_PER_SECOND = 14;
const MIN_PER_SECOND = 1;

/**
 * The rate of a service that does not say its limit, learned from throttled responses. After a decrease the rate rises as in TCP
 * CUBIC: slowly near the rate that was measured, faster far above it.
 */
export class LearnedRate {
  readonly #maxPerSecond: number;
  readonly #documentedPerSecond: number;
  #perSecond: number;
  /** The measured rate; undefined until something is throttled. */
  #measured: number | undefined;
  #isReliable = true;
  #isProbing = false;
  #decreasedAtTicket = 0;
  #eventStartMs = Number.NEGATIVE_INFINITY;
  /** Since the last throttled response. */
  #spanStartMs: number | undefined;
  #spanAccepted = 0;
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

  /** Whether no limit is known: none is configured, and nothing was throttled. */
  get isUnlimited(): boolean {
    return this.#measured === undefined && this.#maxPerSecond === Number.POSITIVE_INFINITY;
  }

  /** Whether only one request at a time may be in progress: the last ones were throttled. */
  get isProbing(): boolean {
    return this.#isProbing;
  }

  onAccepted(nowMs: number): void {
    this.#isProbing = false;
    this.#spanStartMs ??= nowMs;
    this.#spanAccepted++;
    this.#recentMs.push(nowMs);
    if (this.#recentMs.length > MAX_RECENT) this.#countRecent(nowMs);
    if (this.#measured === undefined) this.#increase(nowMs);
    else this.#perSecond = Math.min(this.#maxPerSecond, this.#cubicRate(this.#measured));
  }

  /** @param lastTicket the last ticket that was taken: requests up to it were sent at the rate that was too high */
  onThrottled(ticket: number, lastTicket: number, nowMs: number): void {
    if (ticket <= this.#decreasedAtTicket) return;
    this.#decreasedAtTicket = lastTicket;
    this.#isProbing = true;
    const isSameEvent = this.#spanAccepted < SAME_EVENT_ACCEPTED && nowMs - this.#eventStartMs < SAME_EVENT_MS;
    if (!isSameEvent) {
      this.#eventStartMs = nowMs;
      this.#measured = Math.max(MIN_PER_SECOND, this.#measure(nowMs));
    }
    this.#spanStartMs = nowMs;
    this.#spanAccepted = 0;
    if (this.#measured !== undefined) this.#perSecond = Math.min(this.#maxPerSecond, this.#cubicRate(this.#measured));
  }

  #measure(nowMs: number): number {
    const current = Math.min(this.#perSecond, UNLIMITED_PER_SECOND);
    const recent = Math.min(current, this.#countRecent(nowMs));
    const isFirst = this.#measured === undefined;
    this.#isReliable = this.#spanAccepted >= RELIABLE_REQUESTS;
    if (isFirst) {
      const isEnough = this.#isReliable;
      // Within the first second it may be a window's limit, or a part of it.
      this.#isReliable = nowMs - (this.#spanStartMs ?? nowMs) >= RECENT_MS;
      return isEnough ? recent : Math.min(current, UNMEASURED_PER_SECOND);
    }
    if (this.#spanAccepted >= SUSTAINED_REQUESTS) return recent >= RELIABLE_REQUESTS ? recent : current;
    // A bucket that was emptied by a burst accepts its refill; a window, after a pause, as much as before.
    const accepted = (this.#spanAccepted / Math.max(RECENT_MS, nowMs - (this.#spanStartMs ?? nowMs))) * 1000;
    return Math.min(current, Math.sqrt(Math.max(accepted, MIN_PER_SECOND) * current));
  }

  #countRecent(nowMs: number): number {
    const first = this.#recentMs.findIndex((atMs) => atMs > nowMs - RECENT_MS);
    this.#recentMs.splice(0, first < 0 ? this.#recentMs.length : first);
    return this.#recentMs.length;
  }

  #increase(nowMs: number): void {
    this.#nextRiseMs ??= nowMs + RISE_MS;
    if (nowMs < this.#nextRiseMs) return;
    this.#nextRiseMs = nowMs + RISE_MS;
    const rise = this.#perSecond < this.#documentedPerSecond * UNDOCUMENTED_FROM ? DOCUMENTED_RISE : RISE;
    this.#perSecond = Math.min(this.#maxPerSecond, this.#perSecond * rise);
  }

  #cubicRate(measured: number): number {
    const reliable = Math.max(
      MIN_RECOVERY_SECONDS * measured,
      Math.min(RECOVERY_REQUESTS, MAX_RECOVERY_SECONDS * measured),
    );
    const recovery = this.#isReliable ? reliable : reliable * UNRELIABLE_RECOVERY;
    return measured * (1 + DECREASE * (this.#spanAccepted / recovery - 1) ** 3);
  }
}
