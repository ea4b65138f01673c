import { isLoaded } from '../extract/run-context.ts';
import type { PullOutcome } from '../load/record-pulls.ts';

/** The pulls of one target in a run. One that waits for the others counts as ended for them. */
export class Siblings {
  #running: number;
  readonly #failed: string[] = [];
  readonly #waiting: (() => void)[] = [];

  constructor(pulls: number) {
    this.#running = pulls;
  }

  /** Runs a pull, and takes its outcome. */
  async run(source: string, pull: () => Promise<PullOutcome>): Promise<PullOutcome> {
    let outcome: PullOutcome | undefined;
    try {
      outcome = await pull();
      return outcome;
    } finally {
      if (!outcome || !isLoaded(outcome.status)) this.#failed.push(source);
      this.#leave();
    }
  }

  /** Waits until every other pull has ended, or waits as well. @returns the sources that were not loaded */
  async failed(): Promise<readonly string[]> {
    await new Promise<void>((resolve) => {
      this.#waiting.push(resolve);
      this.#leave();
    });
    return [...this.#failed].sort();
  }

  #leave(): void {
    this.#running--;
    if (this.#running > 0) return;
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}
