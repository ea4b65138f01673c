/** The fewest tokens and the shortest time of a measurement: `remaining` is a whole number, and responses overtake each other. */
const MIN_TOKENS = 24;
const MIN_SPAN_MS = 1000;
const MAX_SPAN_MS = 30_000;
/** Part of the predicted refill that is used before a response confirms it. */
const PREDICTED_PART = 0.9;
const MAX_EXPECTED = 2;
/** Below this part of the most that ever remained, the limit is in use: what refills is what it allows. */
const LOW_PART = 0.15;
/** Above it, the pace rises: fast until the refill was measured, and after a pause where the bucket is full. */
const FIRST_GROWTH_PER_SECOND = 3;
const GROWTH_PER_SECOND = 0.1;
const MAX_GROWTH = 2;
const FULL_PAUSE_MS = 15_000;
const MAX_STEP_MS = 250;
/** While the refill is not measured: tokens above this part of the bucket may be spent within this time. */
const SPARE_PART = 0.9;
const SPEND_SECONDS = 0.5;
const FIRST_PER_SECOND = 5;
const MIN_PER_SECOND = 0.1;

interface Sample {
  readonly atMs: number;
  /** Requests that the service would have allowed since the beginning: those it counted, and those that remain. */
  readonly credit: number;
}

/**
 * A limit that refills continuously, as far as `remaining` has shown it: a bucket of tokens, or a sliding window. `credit`, what
 * remains plus what was sent, grows by the refill alone, except while the bucket is full.
 */
export class RefillModel {
  #anchor: { readonly ticket: number; readonly atMs: number; readonly remaining: number } | undefined;
  #mostRemaining = 0;
  #throttled = 0;
  /** Since the bucket was last full. */
  #samples: Sample[] = [];
  /** Of the last second or two. */
  #recent: Sample[] = [];
  #refillPerSecond = FIRST_PER_SECOND;
  #measuredAtMs: number | undefined;
  /** How much faster than the refill to send. */
  #growth = 1;

  /** The most that ever remained: the size of the bucket, less the request itself. */
  get mostRemaining(): number {
    return this.#mostRemaining;
  }

  /** Requests per second that use the refill, and find out whether there is more. */
  get perSecond(): number {
    return Math.max(this.#refillPerSecond * this.#growth, this.#sparePerSecond);
  }

  /** How full the bucket was at the last response, from 0 to 1. */
  get fullness(): number {
    return this.#anchor && this.#mostRemaining > 0 ? this.#anchor.remaining / this.#mostRemaining : 0;
  }

  /** A bucket that stays full says nothing about its refill. Without this rate, a service with a high limit is asked slowly for seconds. */
  get #sparePerSecond(): number {
    if (!this.#anchor || this.#measuredAtMs !== undefined) return 0;
    return (this.#anchor.remaining - this.#mostRemaining * SPARE_PART) / SPEND_SECONDS;
  }

  observe(ticket: number, nowMs: number, remaining: number, isThrottled: boolean): void {
    if (isThrottled) this.#throttled++;
    if (this.#anchor && ticket < this.#anchor.ticket) return;
    const elapsedMs = Math.min(MAX_STEP_MS, nowMs - (this.#anchor?.atMs ?? nowMs));
    this.#anchor = { ticket, atMs: nowMs, remaining };
    this.#mostRemaining = Math.max(this.#mostRemaining, remaining);
    const sample = { atMs: nowMs, credit: remaining + ticket - this.#throttled };
    if (this.#isFull(remaining)) this.#samples = [];
    this.#samples.push(sample);
    this.#recent.push(sample);
    this.#measure(sample);
    this.#grow(nowMs, elapsedMs);
  }

  /** A throttled response although a token was predicted: the refill is slower. */
  decrease(nowMs: number): void {
    if (this.#measuredAtMs !== undefined) this.#measuredAtMs = nowMs;
    this.#growth = Math.max(1, this.#growth * 0.7);
    this.#refillPerSecond = Math.max(MIN_PER_SECOND, this.#refillPerSecond * 0.9);
  }

  /** Until a token is left beside the reserve. @param roundTripMs the shortest so far */
  waitMs(nowMs: number, lastTicket: number, roundTripMs: number, reserve: number): number {
    if (!this.#anchor) return 0;
    const { ticket, atMs, remaining } = this.#anchor;
    const perMs = (this.#refillPerSecond * PREDICTED_PART) / 1000;
    // A request arrives half a round trip from now, and the answer was given half a round trip ago.
    const refilled = (nowMs - atMs + roundTripMs) * perMs;
    // A sliding window gives back in bursts: no more is expected than responses confirm one by one, beside the reserve.
    const expected = Math.min(refilled, roundTripMs * perMs + MAX_EXPECTED + Math.max(0, reserve - remaining));
    const level = Math.min(this.#mostRemaining + 1, remaining + expected) - (lastTicket - ticket);
    return level >= 1 + reserve ? 0 : (1 + reserve - level) / perMs;
  }

  #isFull(remaining: number): boolean {
    return remaining >= this.#mostRemaining - (this.#mostRemaining > 3 ? 1 : 0);
  }

  #grow(nowMs: number, elapsedMs: number): void {
    if (this.fullness <= LOW_PART) return;
    const isPausing =
      this.#measuredAtMs !== undefined && this.fullness > 0.9 && nowMs - this.#measuredAtMs < FULL_PAUSE_MS;
    if (isPausing) return;
    const isFast = this.#measuredAtMs === undefined || this.fullness > 0.6;
    const perSecond = isFast ? FIRST_GROWTH_PER_SECOND : GROWTH_PER_SECOND;
    this.#growth = Math.min(MAX_GROWTH, this.#growth * (1 + (perSecond * elapsedMs) / 1000));
  }

  /** Measures the refill while the limit is in use; at other times, only that it is at least so much. */
  #measure(last: Sample): void {
    const least = slope(this.#recent, last, MIN_SPAN_MS, 0);
    dropOld(this.#recent, last, MIN_SPAN_MS, 0);
    if (least !== undefined && least > this.#refillPerSecond) {
      this.#growth = Math.max(1, this.perSecond / least);
      this.#refillPerSecond = least;
    }
    if (this.fullness > LOW_PART) return;
    const measured = slope(this.#samples, last, MIN_SPAN_MS, MIN_TOKENS);
    dropOld(this.#samples, last, MIN_SPAN_MS, MIN_TOKENS);
    if (measured === undefined) return;
    this.#refillPerSecond = Math.max(MIN_PER_SECOND, measured, this.#refillPerSecond / 4);
    this.#growth = 1;
    // A time without any refill measures nothing: a long window has not ended.
    this.#measuredAtMs = measured > MIN_PER_SECOND ? last.atMs : undefined;
  }
}

/** Tokens per second between the first and the last sample; undefined where they are too near. */
function slope(samples: readonly Sample[], last: Sample, spanMs: number, tokens: number): number | undefined {
  const [first] = samples;
  if (!first) return undefined;
  const elapsedMs = last.atMs - first.atMs;
  const gained = last.credit - first.credit;
  if (elapsedMs < spanMs || (gained < tokens && elapsedMs < MAX_SPAN_MS)) return undefined;
  return (gained / elapsedMs) * 1000;
}

/** Drops samples that a measurement no longer needs. */
function dropOld(samples: Sample[], last: Sample, spanMs: number, tokens: number): void {
  const isEnough = ({ atMs, credit }: Sample) => last.credit - credit >= tokens && last.atMs - atMs >= spanMs;
  while (samples[1] && (isEnough(samples[1]) || last.atMs - samples[1].atMs > MAX_SPAN_MS)) samples.shift();
}
