import { meshMounts } from '../config/config.ts';
import { TidemarkError } from '../core/errors.ts';
import type { ActivePull, RunContext } from '../extract/run-context.ts';
import { landingDirectory, type Manifest } from '../landing/store.ts';
import { interruptible } from '../warehouse/database.ts';
import type { Acceptance } from './judge.ts';
import { loadLandings } from './load-landings.ts';
import { describeLoad, type PullOutcome, recordPullsStatement } from './record-pulls.ts';
import type { Landed } from './stage.ts';

/** A batch is one transaction: its size bounds what a crash costs, and the memory of its stages. */
const MAX_BATCH = 200;
const MAX_BATCH_BYTES = 32 * 1024 * 1024;

interface Waiting extends Landed {
  readonly pull: ActivePull;
  readonly resolve: (outcome: PullOutcome) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * The landings of a run that wait to be loaded. Loads happen one after another; what lands during one is loaded by the next, many
 * landings at once (docs/decisions.md#loads).
 */
export class LoadQueue {
  readonly #run: RunContext;
  readonly #waiting: Waiting[] = [];

  constructor(run: RunContext) {
    this.#run = run;
  }

  /**
   * Loads a landing into all tables of its source and records the pull.
   * @throws TidemarkError why the landing is refused; storage failures; the reason of an abort
   */
  add(pull: ActivePull, manifest: Manifest, acceptDrop: boolean, acceptEmpty = false): Promise<PullOutcome> {
    const directory = landingDirectory(this.#run.config, manifest.run_id, manifest.target);
    const [firstMount] = meshMounts(pull.target);
    pull.expectedRows = manifest.expected_rows;
    return new Promise((resolve, reject) => {
      this.#waiting.push({ pull, manifest, directory, acceptDrop, acceptEmpty, firstMount, resolve, reject });
      this.#run.writes(() => this.#loadNext()).catch(reject);
    });
  }

  /** Loads what waits, up to the bounds of a batch. It is called once for each landing, so that nothing is left. */
  async #loadNext(): Promise<void> {
    const next = takeBatch(this.#waiting);
    if (next.length === 0) return;
    const { warehouse, config, asOf, signal } = this.#run;
    const outcomes = new Map<Waiting, PullOutcome>();
    const record = (accepted: ReadonlyMap<Waiting, Acceptance>) => {
      const described = [...accepted].map(([landed, acceptance]) => {
        const { outcome, row } = describeLoad(this.#run, landed, acceptance);
        outcomes.set(landed, outcome);
        return row;
      });
      return recordPullsStatement(this.#run, described);
    };
    const { shrinkPercent, memoryLimit } = config;
    const options = { shrinkPercent, memoryLimit, asOf: asOf.toISOString(), signal, record };
    try {
      const load = () => loadLandings(warehouse, next, options);
      for (const [landed, verdict] of await interruptible(warehouse.database, signal, load)) {
        if (verdict instanceof TidemarkError) landed.reject(verdict);
        else landed.resolve(outcomes.get(landed) as PullOutcome);
      }
    } catch (error) {
      for (const { reject } of next) reject(error);
    }
  }
}

/** Takes the first landings, and at least one of them if there is any. */
function takeBatch(waiting: Waiting[]): readonly Waiting[] {
  let bytes = 0;
  const end = waiting.findIndex(({ manifest }, index) => {
    bytes += manifest.files.reduce((sum, file) => sum + file.bytes, 0);
    return index === MAX_BATCH || (index > 0 && bytes > MAX_BATCH_BYTES);
  });
  return waiting.splice(0, end === -1 ? waiting.length : end);
}
