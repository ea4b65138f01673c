import { existsSync } from 'node:fs';
import type { Config } from '../core/config.ts';
import type { Context } from '../core/context.ts';
import { EXIT, type ExitCode, TidemarkError } from '../core/errors.ts';
import type { Manifest } from '../landing/manifest.ts';
import { landingDirectory, pruneLandings, readLanding } from '../landing/store.ts';
import { raiseMemoryLimit } from '../warehouse/memory-limit.ts';
import { type Warehouse, withWarehouse } from '../warehouse/session.ts';
import { findResumable } from './continue.ts';
import { formatRunId, nextAsOf } from './moment.ts';
import type { PullOutcome } from './outcome.ts';
import { createProgress, type Progress } from './progress.ts';
import { type Pull, pullAll } from './pull.ts';
import { clearInFlight, listInFlight, markInFlight } from './resume.ts';

export type RunStatus = 'complete' | 'incomplete' | 'failed' | 'interrupted';

export interface RunResult {
  readonly run_id: string;
  readonly job: string;
  readonly status: RunStatus;
  /** The moment that the run's changes are valid from, ISO 8601. */
  readonly as_of: string;
  readonly pulls: readonly PullOutcome[];
}

export interface RunOptions {
  readonly config: Config;
  readonly context: Context;
  /** What `runs` records: a job's name, or `pull`. */
  readonly job: string;
  readonly pulls: readonly Pull[];
  readonly acceptShrink?: readonly string[];
  /** Loads what this earlier run landed instead of asking the network. */
  readonly from?: string;
  /** Asks for everything anew, whatever an interrupted run has landed. */
  readonly fresh?: boolean;
  readonly progress?: Progress;
  /** What follows the loads, still under the lock, before publishing: findings, the outbox. */
  readonly afterLoad?: (warehouse: Warehouse, run: { readonly runId: string; readonly asOf: Date }) => Promise<void>;
}

/** Pulls and loads under the lock, records the run, and publishes the warehouse. */
export async function runPulls(options: RunOptions): Promise<RunResult> {
  const { config, context, job } = options;
  const now = context.clock.now();
  // Until its changes are published, a run can be continued.
  const published = async ({ status }: RunResult) => {
    if (status !== 'interrupted') await clearInFlight(config, await listInFlight(config, job));
  };
  const session = { config, purpose: job, now, log: context.log, published, settlesItself: true };
  const result = await withWarehouse(session, (warehouse) => recordedRun(options, warehouse, now));
  await pruneLandings(config, now);
  return result;
}

async function recordedRun(options: RunOptions, warehouse: Warehouse, now: Date): Promise<RunResult> {
  const { config, context, job, pulls } = options;
  const { database, files } = warehouse;
  await database.run(await files.read('warehouse/interrupt_runs'), { now: now.toISOString() });
  const fromRun = options.from === undefined ? undefined : await readLanding(config, options.from);
  const asOf = await nextAsOf(database, files, fromRun?.asOf ?? now);
  const runId = await allocateRunId(warehouse, config, asOf);
  const started_at = asOf.toISOString();
  const targets = [...new Set(pulls.map(({ target }) => target.name))].join(', ');
  await database.run(await files.read('warehouse/begin_run'), { run_id: runId, target: targets, job, started_at });

  const finish = async (status: RunStatus) => {
    const finished_at = new Date(Math.max(context.clock.now().getTime(), asOf.getTime())).toISOString();
    await database.run(await files.read('warehouse/finish_run'), { run_id: runId, status, finished_at });
  };
  try {
    const outcomes = await pulled(options, warehouse, { runId, asOf, fromRun: fromRun?.manifests });
    const status = runStatus(outcomes, context.signal);
    if (status !== 'interrupted' && options.afterLoad) {
      await raiseMemoryLimit(database, files, config.memoryLimit);
      await options.afterLoad(warehouse, { runId, asOf });
    }
    await finish(status);
    return { run_id: runId, job, status, as_of: started_at, pulls: outcomes };
  } catch (error) {
    await finish('failed').catch(() => undefined); // the database may be what failed
    throw error;
  }
}

interface Begun {
  readonly runId: string;
  readonly asOf: Date;
  readonly fromRun: ReadonlyMap<string, Manifest> | undefined;
}

/** Pulls, beginning with what interrupted runs of the job have landed. */
async function pulled(options: RunOptions, warehouse: Warehouse, run: Begun): Promise<readonly PullOutcome[]> {
  const { config, context, job, pulls } = options;
  const { runId, asOf, fromRun } = run;
  const progress = options.progress ?? (await createProgress(context));
  const manifests = await findResumable(config, job, asOf, options.fresh || fromRun ? [] : pulls, context.log);
  if (!fromRun) await markInFlight(config, { run_id: runId, job, started_at: asOf.toISOString() });
  return pullAll({
    config,
    warehouse,
    pulls,
    runId,
    asOf,
    clock: context.clock,
    env: context.env,
    log: progress.log,
    redactor: context.redactor,
    signal: context.signal,
    progress,
    ...(context.timing && { timing: context.timing }),
    acceptShrink: new Set(options.acceptShrink),
    continued: manifests,
    ...(fromRun && { fromRun }),
  }).finally(() => progress.end());
}

/** Runs of one second get a counter; so does one whose name an older landing still bears. */
async function allocateRunId({ database, files }: Warehouse, config: Config, asOf: Date): Promise<string> {
  const base = formatRunId(asOf);
  const [row] = await database.rows(await files.read('warehouse/run_names'), { run_id: base });
  for (let counter = Number(row?.taken) + 1; ; counter++) {
    const candidate = counter === 1 ? base : `${base}-${counter}`;
    if (!existsSync(landingDirectory(config, candidate))) return candidate;
  }
}

function runStatus(outcomes: readonly PullOutcome[], signal: AbortSignal): RunStatus {
  if (signal.aborted) return 'interrupted';
  const complete = outcomes.filter(({ status }) => status === 'complete').length;
  if (complete === outcomes.length) return 'complete';
  return complete === 0 ? 'failed' : 'incomplete';
}

/** 0 when all came, 1 when some did, 3 when nothing did. */
export function exitCode({ status, pulls }: RunResult): ExitCode {
  if (status === 'complete') return EXIT.done;
  const quarantined = pulls.some((pull) => pull.status === 'quarantined');
  return status === 'failed' && !quarantined ? EXIT.nothing : EXIT.incomplete;
}

/** Nothing to pull is a mistake in the selection. */
export function assertPulls(pulls: readonly Pull[]): readonly Pull[] {
  if (pulls.length > 0) return pulls;
  throw new TidemarkError('USAGE', 'the selected targets have none of the selected sources');
}
