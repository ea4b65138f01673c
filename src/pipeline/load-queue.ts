import { collectGarbage } from '../core/collect-garbage.ts';
import { landingDirectory, type Manifest } from '../landing/store.ts';
import { LARGE_LANDING_BYTES } from '../warehouse/database.ts';
import { type Load, loadAlone } from './load.ts';
import { isBatchable, loadBatch } from './load-batch.ts';
import type { ActivePull, PullOutcome, RunContext } from './run.ts';

/** A batch is one transaction: its size bounds what a crash costs, and the memory of its stages. */
const MAX_BATCH = 200;
const MAX_BATCH_BYTES = 32 * 1024 * 1024;

interface Waiting {
  readonly load: Load;
  readonly resolve: (outcome: PullOutcome) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * The landings of a run that wait to be loaded. Loads happen one after another; what lands during one is loaded by the next, many
 * landings at once (docs/decisions/0030-batches-of-loads.md).
 */
export class LoadQueue {
  readonly #run: RunContext;
  readonly #waiting: Waiting[] = [];

  constructor(run: RunContext) {
    this.#run = run;
  }

  /**
   * Loads a landing into all tables of its source and records the pull.
   * @throws TidemarkError as `loadAlone`; a storage failure; the reason of an abort
   */
  add(pull: ActivePull, manifest: Manifest, acceptDrop: boolean, acceptEmpty = false): Promise<PullOutcome> {
    const run = this.#run;
    const directory = landingDirectory(run.config, manifest.run_id, manifest.target);
    pull.expectedRows = manifest.expected_rows;
    const load = { run, pull, manifest, directory, acceptDrop, acceptEmpty, notes: [] };
    return new Promise((resolve, reject) => {
      this.#waiting.push({ load, resolve, reject });
      run.writes(() => this.#loadNext()).catch(reject);
    });
  }

  /** Loads what waits, up to the bounds of a batch. It is called once for each landing, so that nothing is left. */
  async #loadNext(): Promise<void> {
    const next = takeBatch(this.#waiting);
    const together = next.filter(({ load }) => isBatchable(load)).map(({ load }) => load);
    if (sumBytes(together) >= LARGE_LANDING_BYTES) collectGarbage();
    try {
      const outcomes = await loadBatch(this.#run, together);
      for (const { load, resolve, reject } of next) {
        const outcome = outcomes.get(load);
        if (outcome) resolve(outcome);
        else await loadAlone(load).then(resolve, reject);
      }
    } catch (error) {
      for (const { reject } of next) reject(error);
    }
  }
}

/** Takes the first landings, and at least one of them if there is any. */
function takeBatch(waiting: Waiting[]): readonly Waiting[] {
  let bytes = 0;
  const end = waiting.findIndex(({ load }, index) => {
    bytes += landingBytes(load);
    return index === MAX_BATCH || (index > 0 && bytes > MAX_BATCH_BYTES);
  });
  return waiting.splice(0, end === -1 ? waiting.length : end);
}

const sumBytes = (loads: readonly Load[]): number => loads.reduce((sum, load) => sum + landingBytes(load), 0);

function landingBytes({ manifest }: Load): number {
  return manifest.files.reduce((sum, { bytes }) => sum + bytes, 0);
}
