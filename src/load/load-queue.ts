import { TidemarkError } from '../core/errors.ts';
import { groupBy } from '../core/group-by.ts';
import type { ActivePull, RunContext } from '../extract/run-context.ts';
import { landingDirectory, type Manifest } from '../landing/store.ts';
import { firstLine, interruptible } from '../warehouse/database.ts';
import { classifyStorageError, isOutOfMemory } from '../warehouse/storage.ts';
import { tablesForSource } from '../warehouse/tables.ts';
import { judge, type Limits, outOfMemory } from './judge.ts';
import { merge } from './merge.ts';
import { type PullOutcome, type PullResult, readOrigin, recordPullsStatement, toPullOutcome } from './record-pulls.ts';
import { type Destination, type Landed, type Stage, stage } from './stage.ts';

/** A batch is one transaction: its size bounds what a crash costs, and the memory of its stages. */
const MAX_BATCH = 200;
const MAX_BATCH_BYTES = 32 * 1024 * 1024;

interface Waiting extends Landed {
  readonly pull: ActivePull;
  readonly resolve: (outcome: PullOutcome) => void;
  readonly reject: (error: unknown) => void;
}

/** Loads a landing into all tables of its source and records the pull. */
export type QueueLoad = ReturnType<typeof createLoadQueue>;

/**
 * The landings of a run that wait to be loaded. Loads happen one after another; what lands during one is loaded by the next, many
 * landings at once (docs/decisions.md#loads).
 * @returns a function that adds a landing. @throws TidemarkError that says why the landing is refused; a storage failure; the reason of an
 * abort
 */
export function createLoadQueue(run: RunContext) {
  const waiting: Waiting[] = [];
  return (pull: ActivePull, manifest: Manifest, acceptDrop: boolean, acceptEmpty = false): Promise<PullOutcome> => {
    const directory = landingDirectory(run.config, manifest.run_id, manifest.target);
    pull.expectedRows = manifest.expected_rows;
    return new Promise((resolve, reject) => {
      waiting.push({ pull, manifest, directory, acceptDrop, acceptEmpty, resolve, reject });
      run.writes(() => loadNext(run, waiting)).catch(reject);
    });
  };
}

/** Loads what waits, up to the bounds of a batch. It is called once for each landing, so that nothing is left. */
async function loadNext(run: RunContext, waiting: Waiting[]): Promise<void> {
  const next = takeBatch(waiting);
  if (next.length === 0) return;
  const loading = interruptible(run.warehouse.database, run.signal, () => load(run, next));
  await loading.catch((error: unknown) => {
    for (const { reject } of next) reject(error);
  });
}

/**
 * Loads landings of any targets and sources together. Where a statement about all of them fails, each is loaded alone, so that only the
 * one that causes it is refused.
 * @throws storage failures; the reason of the signal. Nothing of the transaction is loaded then.
 */
async function load(run: RunContext, landings: readonly Waiting[]): Promise<void> {
  try {
    await loadTogether(run, landings);
  } catch (error) {
    run.signal.throwIfAborted();
    if (classifyStorageError(error)) throw error;
    const [first] = landings;
    if (first && landings.length === 1) first.reject(describeFailure(first, error, run.config));
    else for (const landed of landings) await load(run, [landed]);
  }
}

/** Loads what is accepted in one transaction, into all tables that it fills. What is refused leaves its tables as they are. */
async function loadTogether(run: RunContext, landings: readonly Waiting[]): Promise<void> {
  const { warehouse, config, asOf, signal } = run;
  const stages = await stageAll(warehouse, landings, signal);
  const accepted = new Map<Waiting, PullResult>();
  const refused = new Map<Waiting, TidemarkError>();
  for (const landed of landings) {
    const own = stages.filter(({ facts }) => facts.has(landed));
    const verdict = await judge(landed, own, config, () => readOrigin(run, landed.manifest));
    if (verdict instanceof TidemarkError) refused.set(landed, verdict);
    else accepted.set(landed, verdict);
  }
  signal.throwIfAborted();
  const ended = [...accepted].map(([{ pull }, result]) => [pull, result] as const);
  const record = recordPullsStatement(run, ended);
  await merge(warehouse, stages, { accepted, asOf: asOf.toISOString(), record });
  for (const [{ reject }, error] of refused) reject(error);
  for (const [{ resolve, pull }, result] of accepted) resolve(toPullOutcome(run, pull, result));
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

function describeFailure(landed: Landed, error: unknown, { memoryLimit }: Limits): TidemarkError {
  if (isOutOfMemory(error)) return outOfMemory(landed, memoryLimit, error);
  const { source, run_id } = landed.manifest;
  const hint = `its landing is kept: load it again with \`tidemark pull --from ${run_id}\``;
  return new TidemarkError('INCOMPLETE', `${source} cannot be loaded: ${firstLine(error)}`, { hint, cause: error });
}

/** A stage for each table of each source, the main table of a source first. */
async function stageAll(to: Destination, landings: readonly Landed[], signal: AbortSignal): Promise<readonly Stage[]> {
  const stages: Stage[] = [];
  for (const [source, group] of groupBy(landings, ({ manifest }) => manifest.source)) {
    for (const table of tablesForSource(source, to.tables)) {
      signal.throwIfAborted();
      stages.push(await stage(to, table, group));
    }
  }
  return stages;
}
