/** A token bucket whose rate may change between calls. */
export class TokenBucket {
  #tokens: number;
  #lastMs: number | undefined;

  constructor(tokens = 1) {
    this.#tokens = tokens;
  }

  waitMs(nowMs: number, perSecond: number, burstSeconds: number): number {
    if (!Number.isFinite(perSecond)) {
      this.#lastMs = undefined;
      this.#tokens = 1;
      return 0;
    }
    const burst = Math.max(1, perSecond * burstSeconds);
    const refill = ((nowMs - (this.#lastMs ?? nowMs)) / 1000) * perSecond;
    this.#tokens = Math.min(burst, this.#tokens + refill);
    this.#lastMs = nowMs;
    return this.#tokens >= 1 ? 0 : ((1 - this.#tokens) / perSecond) * 1000;
  }

  take(): void {
    this.#tokens -= 1;
  }
}
