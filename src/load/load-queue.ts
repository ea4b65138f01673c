import { meshMounts } from '../config/config.ts';
import { TidemarkError } from '../core/errors.ts';
import type { ActivePull, RunContext } from '../extract/run-context.ts';
import { landingDirectory, listUnknown, type Manifest } from '../landing/store.ts';
import type { Acceptance } from './judge.ts';
import { loadLandings } from './load-landings.ts';
import { formatNotes, isPartial, manifestNotes } from './pull-notes.ts';
import { describePull, type PullOutcome, recordPullsStatement } from './record-pulls.ts';
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
    try {
      for (const [{ resolve, reject }, end] of await this.#load(next)) {
        if (end instanceof TidemarkError) reject(end);
        else resolve(end);
      }
    } catch (error) {
      for (const { reject } of next) reject(error);
    }
  }

  async #load(next: readonly Waiting[]): Promise<ReadonlyMap<Waiting, PullOutcome | TidemarkError>> {
    const { warehouse, config, asOf, signal } = this.#run;
    const ends = new Map<Waiting, PullOutcome | TidemarkError>();
    const record = (accepted: ReadonlyMap<Waiting, Acceptance>) => {
      const described = [...accepted].map(([landed, { delta, notes }]) => {
        const { manifest, acceptDrop } = landed;
        const { outcome, row } = describePull(this.#run, landed.pull, {
          status: isPartial(manifest, acceptDrop) ? 'partial' : 'complete',
          delta,
          extractedAt: manifest.as_of,
          note: formatNotes([...manifestNotes(manifest, acceptDrop), ...notes]),
          unknownParts: manifest.unknown_parts && listUnknown(manifest, acceptDrop),
        });
        ends.set(landed, outcome);
        return row;
      });
      return recordPullsStatement(this.#run, described);
    };
    const { shrinkPercent, memoryLimit } = config;
    const options = { shrinkPercent, memoryLimit, asOf: asOf.toISOString(), signal, record };
    const verdicts = await interruptible(this.#run, () => loadLandings(warehouse, next, options));
    for (const [landed, verdict] of verdicts) if (verdict instanceof TidemarkError) ends.set(landed, verdict);
    return ends;
  }
}

/** Interrupts the current statement when the run is aborted; the transaction is then rolled back. */
async function interruptible<T>({ signal, warehouse }: RunContext, work: () => Promise<T>): Promise<T> {
  const interrupt = () => warehouse.database.connection.interrupt();
  signal.throwIfAborted();
  signal.addEventListener('abort', interrupt, { once: true });
  try {
    return await work();
  } catch (error) {
    signal.throwIfAborted(); // DuckDB's own error does not say why
    throw error;
  } finally {
    signal.removeEventListener('abort', interrupt);
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
