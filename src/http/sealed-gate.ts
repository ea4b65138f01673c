import type { Result } from './errors.ts';

/** How long a server that stayed sealed is not asked again. */
const REMEMBER_MS = 30_000;

/**
 * Lets one request of a target wait for a sealed or standby server. The others wait for the outcome of that one, so that there is
 * one wait and one message for the whole target.
 */
export class SealedGate {
  #waiting: Promise<unknown> | undefined;
  #failed: { readonly result: Result<never>; readonly atMs: number } | undefined;

  /**
   * @param attempt makes one attempt; undefined when its turn came while `isClosed`
   * @param repeat makes further attempts after a failed one; while one request does so for a sealed server, no other does
   */
  async run<T>(
    attempt: (isClosed: () => boolean) => Promise<Result<T> | undefined>,
    repeat: (first: Result<T>) => Promise<Result<T>>,
  ): Promise<Result<T>> {
    for (;;) {
      if (this.#waiting) await this.#waiting;
      if (this.#failed && this.#isRemembered()) return this.#failed.result;
      const result = await attempt(() => this.#waiting !== undefined || this.#isRemembered());
      if (result === undefined) continue;
      if (result.ok) return result;
      if (result.problem.failure !== 'sealed') return repeat(result);
      if (!this.#waiting) return this.#lead(() => repeat(result));
    }
  }

  #isRemembered(): boolean {
    return this.#failed !== undefined && performance.now() - this.#failed.atMs < REMEMBER_MS;
  }

  async #lead<T>(wait: () => Promise<Result<T>>): Promise<Result<T>> {
    const waiting = wait();
    this.#waiting = waiting.catch(() => undefined);
    try {
      const result = await waiting;
      const isSealed = !result.ok && result.problem.failure === 'sealed';
      this.#failed = isSealed
        ? { result: { ok: false, problem: { ...result.problem, retryable: 'no' } }, atMs: performance.now() }
        : undefined;
      return result;
    } finally {
      this.#waiting = undefined;
    }
  }
}
