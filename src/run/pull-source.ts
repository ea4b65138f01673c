import { sep } from 'node:path';
import { formatError, TidemarkError } from '../core/errors.ts';
import { createOnce, extract, openLanding } from '../extract/extract.ts';
import type { ActivePull, Extraction, RunContext } from '../extract/run-context.ts';
import { MissingColumnError } from '../extract/sources/explorer/csv-export.ts';
import type { SourceDefinition } from '../extract/sources/source.ts';
import { type FailureKind, ServiceError } from '../http/errors.ts';
import { landingDirectory, type Manifest, quarantineLanding, verifyLanding } from '../landing/store.ts';
import { EmptiedTableError, RowDropError } from '../load/judge.ts';
import type { QueueLoad } from '../load/load-queue.ts';
import { type PullOutcome, readExtractedAt, recordPull, toPullOutcome } from '../load/record-pulls.ts';
import { IncompleteListError } from '../services/pagination.ts';
import { classifyStorageError } from '../warehouse/storage.ts';

export interface PullTask extends Extraction {
  readonly queue: QueueLoad;
  /** Loads a mass disappearance of rows instead of quarantining it. */
  readonly acceptDrop: boolean;
  /** Loads this landing of an earlier run again, without the network; why not, if that run has none that can be loaded. */
  readonly replay?: Manifest | TidemarkError | undefined;
  /** What an interrupted run of the job has landed. */
  readonly resumable?: Manifest | undefined;
  /** Waits until the other sources of the target have ended, or wait as well. @returns those that failed @default refuse an empty table */
  readonly waitForOthers?: () => Promise<readonly string[]>;
}

/**
 * Brings one source of one target into the warehouse, or records why not. A failed pull leaves its tables unchanged.
 * @throws storage failures only: a full disk, a corrupt working file.
 */
export async function pullSource(task: PullTask): Promise<PullOutcome> {
  try {
    if (task.replay) return await replayLanding(task, task.replay);
    return (await resumeLanding(task)) ?? (await extractWithRetry(task));
  } catch (error) {
    return recordFailure(task, error);
  }
}

/** @throws storage failures */
function recordFailure({ run, pull }: PullTask, error: unknown): Promise<PullOutcome> {
  if (classifyStorageError(error)) throw error;
  const isQuarantined = error instanceof RowDropError || error instanceof MissingColumnError;
  const status = isQuarantined ? 'quarantined' : 'failed';
  const failure = error instanceof ServiceError ? error.parts : undefined;
  return run.writes(() => recordPull(run, pull, { status, error: formatError(error), failure }));
}

/** Extracts and loads. If the data is invalid, or the service fails, tries again with the next strategy; rejected files are kept. */
async function extractWithRetry(task: PullTask): Promise<PullOutcome> {
  const { run, pull } = task;
  const { source, target, metrics } = pull;
  let { once, canReuse } = task;
  let strategies: readonly Strategy[] = [source.extract, ...(source.fallbacks ?? [source.extract])];
  let missing: MissingColumnError | undefined;
  let note: string | undefined;
  for (;;) {
    const [strategy, ...rest] = strategies as [Strategy, ...Strategy[]];
    const landing = openLanding(task);
    if (note !== undefined) landing.addNote(note);
    let manifest: Manifest | undefined;
    try {
      manifest = await extract({ ...task, once, canReuse }, strategy, landing);
      return await load(task, manifest);
    } catch (error) {
      const isQuarantined = error instanceof RowDropError;
      if (manifest && isQuarantined) await quarantineLanding(run.config, manifest, error.message);
      if (manifest && (isQuarantined || !isInvalidData(error))) throw error; // its landing can be loaded later
      await (classifyStorageError(error) ? landing.discard() : landing.reject());
      if (error instanceof MissingColumnError) missing ??= error;
      strategies = rest.filter((next) => canRetryWith(next, strategy, error));
      if (run.signal.aborted || classifyStorageError(error)) throw error;
      // that another strategy failed as well does not make the missing column unimportant
      if (strategies.length === 0) throw withRejectedHint(missing ?? error, run, pull);
      // What is wrong with an address is said once for a target, at its end.
      if (!(error instanceof ServiceError && error.failure === 'not-found'))
        run.log.info(`${target.name}: ${source.name}: ${formatError(error)}; retrying`);
      if (isInvalidData(error)) note = `extracted again: ${error.message}`;
      metrics.retries++;
      canReuse = false;
      once = createOnce(); // a shared result may be what was wrong
    }
  }
}

/** A way to extract a source: its own, or one of its fallbacks. */
type Strategy = SourceDefinition['extract'];

/** Failures that another strategy may avoid. A timeout is not among them, because it took minutes. */
const AVOIDABLE: readonly FailureKind[] = ['server', 'truncated', 'malformed', 'too-large', 'invalid', 'not-found'];

/** Requests were retried already, so a service error needs another strategy. Invalid data may be valid the next time. */
function canRetryWith(next: Strategy, tried: Strategy, error: unknown): boolean {
  if (error instanceof MissingColumnError) return next !== tried;
  if (error instanceof IncompleteListError) return true; // the list may keep still the next time
  if (error instanceof ServiceError) return next !== tried && AVOIDABLE.includes(error.failure);
  return isInvalidData(error) && error.constructor === TidemarkError;
}

/** Whether the rows themselves are wrong. */
function isInvalidData(error: unknown): error is TidemarkError {
  return error instanceof TidemarkError && error.code === 'DATA' && !classifyStorageError(error);
}

/** Adds where the rejected files are. */
function withRejectedHint(error: unknown, run: RunContext, { target }: ActivePull): unknown {
  if (!isInvalidData(error) || error.hint !== undefined) return error;
  const folder = landingDirectory(run.config, run.runId, target.name).split(sep).slice(-3).join('/');
  const hint = `the rejected files are in ${folder}, under names that end in .rejected`;
  return new TidemarkError('DATA', error.message, { hint, cause: error });
}

/**
 * Loads a landing. One that would empty a table is loaded unless other sources of the target failed: whatever answered in their place may
 * have answered here as well.
 */
async function load(task: PullTask, manifest: Manifest): Promise<PullOutcome> {
  const { pull, queue, acceptDrop, waitForOthers } = task;
  try {
    return await queue(pull, manifest, acceptDrop);
  } catch (error) {
    if (!(error instanceof EmptiedTableError) || !waitForOthers) throw error;
    const failed = await waitForOthers();
    if (failed.length === 0) return queue(pull, manifest, false, true);
    const what = `${error.message}, and ${failed.join(', ')} of the same target failed`;
    throw new RowDropError('DATA', what, { hint: error.hint, cause: error });
  }
}

/**
 * Loads an earlier landing again, unless newer rows are loaded: history is never written backwards. Where nothing is loaded, the state of
 * the source stays as it is.
 */
async function replayLanding(task: PullTask, replay: Manifest | TidemarkError): Promise<PullOutcome> {
  const { run, pull } = task;
  const refuse = (error: TidemarkError) => toPullOutcome(run, pull, { status: 'failed', error: formatError(error) });
  if (replay instanceof TidemarkError) return refuse(replay);
  const newer = await findNewer(task, replay);
  if (newer === undefined) return loadLanding(task, replay);
  const hint = `see its time with \`tidemark sql --as-of ${replay.as_of}\``;
  return refuse(new TidemarkError('DATA', `the loaded rows are of ${newer}, after that run`, { hint }));
}

/** Loads a landing of an earlier run. @throws RowDropError if it was quarantined, and nobody accepts it */
async function loadLanding(task: PullTask, manifest: Manifest): Promise<PullOutcome> {
  const { quarantined, source, run_id } = manifest;
  if (quarantined !== undefined && !task.acceptDrop) {
    throw new RowDropError('DATA', quarantined, {
      hint: `if this is correct, accept it with \`tidemark pull --from ${run_id} --accept-shrink ${source}\``,
    });
  }
  await verifyLanding(task.run.config, manifest);
  return load(task, manifest);
}

/**
 * Loads what an interrupted run has landed. Where that run has loaded it as well, nothing changes.
 * @returns undefined if the source has to be extracted: the landing is invalid, or older than the loaded rows.
 */
async function resumeLanding(task: PullTask): Promise<PullOutcome | undefined> {
  // Where nothing is left, the service is asked again.
  const { resumable: manifest, waitForOthers: _, ...alone } = task;
  const { run, pull } = task;
  if (!manifest || (await findNewer(task, manifest)) !== undefined) return undefined;
  try {
    return await loadLanding(alone, manifest);
  } catch (error) {
    const isRejected = error instanceof TidemarkError && error.code === 'DATA';
    if (!isRejected || classifyStorageError(error) || run.signal.aborted) throw error;
    run.log.info(`${pull.target.name}: ${pull.source.name}: ${formatError(error)}; extracting again`);
    return undefined;
  }
}

/** When the loaded rows were extracted, if that was after a landing. */
async function findNewer({ run, pull }: PullTask, { as_of }: Manifest): Promise<string | undefined> {
  const { target, source } = pull;
  const at = await run.writes(() => readExtractedAt(run.warehouse, { target: target.name, source: source.name }));
  return at !== undefined && Date.parse(at) > Date.parse(as_of) ? at : undefined;
}
