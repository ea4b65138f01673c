import { existsSync } from 'node:fs';
import pLimit from 'p-limit';
import type { Config } from '../config/config.ts';
import { formatTimestamp, HOUR_MS } from '../core/clock.ts';
import type { JobContext } from '../core/context.ts';
import { EXIT, type ExitCode } from '../core/errors.ts';
import { listInFlight, markInFlight } from '../extract/resume.ts';
import { isLoaded, type Pull, type RunContext } from '../extract/run-context.ts';
import { landingDirectory } from '../landing/store.ts';
import type { PullOutcome } from '../load/record-pulls.ts';
import type { Database } from '../warehouse/database.ts';
import type { Warehouse, WarehouseWriter } from '../warehouse/session.ts';
import type { SqlFiles } from '../warehouse/sql-files.ts';
import { pruneAfterRun } from './retention/index.ts';

export type RunStatus = 'complete' | 'incomplete' | 'failed' | 'interrupted';

export interface RunResult {
  readonly run_id: string;
  readonly job: string;
  readonly status: RunStatus;
  /** `valid_from` of what the run changed, ISO 8601. */
  readonly as_of: string;
  readonly pulls: readonly PullOutcome[];
}

export interface RunOptions {
  readonly config: Config;
  readonly context: JobContext;
  /** Recorded in `runs`: the job's name, or `pull`. */
  readonly job: string;
  readonly pulls: readonly Pull[];
  /** Time of the landing that is loaded again: such a run is not resumed. @default now */
  readonly asOf?: Date;
}

interface EndedRun<T> {
  readonly result: RunResult;
  /** What the stages returned. */
  readonly stages: T;
}

/**
 * Records a run around `work`, and publishes the result. The run stays marked as unfinished: the caller clears the mark when all that
 * the run promised is done.
 * @returns the run as recorded, and what `work` returned.
 */
export async function withRun<T extends { readonly pulls: readonly PullOutcome[] }>(
  options: RunOptions,
  writer: WarehouseWriter,
  work: (run: RunContext) => Promise<T>,
): Promise<EndedRun<T>> {
  const now = options.context.clock.now();
  const ended = await writer.write(
    async (warehouse) => recordRun(await beginRun(options, warehouse, now), work),
    options.context.signal,
  );
  await pruneAfterRun(options.config, options.context, writer);
  return ended;
}

async function beginRun(options: RunOptions, warehouse: Warehouse, now: Date): Promise<RunContext> {
  const { config, context, job, pulls } = options;
  const { database, files } = warehouse;
  const unfinished = (await listInFlight(config)).map(({ run_id }) => run_id);
  await database.run(files.read('warehouse/interrupt_runs'), { now: now.toISOString(), run_ids: unfinished });
  const asOf = await chooseValidFrom(warehouse, options.asOf ?? now);
  const problem = explainFuture(asOf, now);
  if (problem !== undefined) context.log.warn(problem);
  const runId = await allocateRunId(warehouse, config, asOf);
  await database.run(files.read('warehouse/begin_run'), {
    run_id: runId,
    target: [...new Set(pulls.map(({ target }) => target.name))].join(', '),
    job,
    started_at: asOf.toISOString(),
  });
  if (!options.asOf) {
    const keys = pulls.map(({ target, source }) => `${target.name}/${source.name}`);
    await markInFlight(config, { run_id: runId, job, started_at: asOf.toISOString(), pulls: keys });
  }
  return { ...context, config, job, runId, asOf, warehouse, writes: pLimit(1) };
}

async function recordRun<T extends { readonly pulls: readonly PullOutcome[] }>(
  run: RunContext,
  work: (run: RunContext) => Promise<T>,
): Promise<EndedRun<T>> {
  const { runId, job, asOf } = run;
  try {
    const stages = await work(run);
    const status = runStatus(stages.pulls, run.signal);
    await finishRun(run, status);
    return { result: { run_id: runId, job, status, as_of: asOf.toISOString(), pulls: stages.pulls }, stages };
  } catch (error) {
    await finishRun(run, 'failed').catch(() => undefined); // the database may be what failed
    throw error;
  }
}

async function finishRun({ runId, asOf, clock, warehouse: { database, files } }: RunContext, status: RunStatus) {
  const finishedAt = new Date(Math.max(clock.now().getTime(), asOf.getTime())).toISOString();
  await database.run(files.read('warehouse/finish_run'), { run_id: runId, status, finished_at: finishedAt });
}

/**
 * The `valid_from` of a run: now, but always later than anything in the warehouse. So neither a clock that went back nor two runs
 * within one millisecond reorder or overlap history.
 */
async function chooseValidFrom({ database, files }: Warehouse, now: Date): Promise<Date> {
  const latest = await readLatest(database, files);
  return latest && now <= latest ? new Date(latest.getTime() + 1) : now;
}

/** The latest time of the warehouse; undefined before the first run. */
export async function readLatest(database: Pick<Database, 'rows'>, files: SqlFiles): Promise<Date | undefined> {
  const [row] = await database.rows(files.read('warehouse/latest_run'));
  return typeof row?.latest === 'string' ? new Date(row.latest) : undefined;
}

/** What a clock that was ahead has left, since whatever follows is dated after it; undefined for a time that is no such. */
export function explainFuture(latest: Date, now: Date): string | undefined {
  if (latest.getTime() - now.getTime() <= HOUR_MS) return undefined;
  const [time, present] = [formatTimestamp(latest), formatTimestamp(now)];
  return `the warehouse is of ${time}, and the clock says ${present}: one of them is wrong. Until then runs are dated ${time} and ages are unknown; correct the clock, or restore a backup of before`;
}

/** Adds a counter if the warehouse has a run of the same second, or a landing has the name. */
async function allocateRunId({ database, files }: Warehouse, config: Config, asOf: Date): Promise<string> {
  // The runs of all shards meet in the lake.
  const base = config.shard ? `${formatRunId(asOf)}-s${config.shard.index}` : formatRunId(asOf);
  const [row] = await database.rows(files.read('warehouse/count_run_ids'), { run_id: base });
  for (let counter = Number(row?.taken) + 1; ; counter++) {
    const candidate = counter === 1 ? base : `${base}-${counter}`;
    if (!existsSync(landingDirectory(config, candidate))) return candidate;
  }
}

/** `20261120T021500Z`: sorts by time, and is a valid folder name everywhere. */
function formatRunId(asOf: Date): string {
  return `${asOf.toISOString().replaceAll(/[-:]/gu, '').slice(0, 15)}Z`;
}

function runStatus(outcomes: readonly PullOutcome[], signal: AbortSignal): RunStatus {
  if (signal.aborted) return 'interrupted';
  if (outcomes.every(({ status }) => status === 'complete')) return 'complete';
  return outcomes.some(({ status }) => isLoaded(status)) ? 'incomplete' : 'failed';
}

/** `done` if every pull is complete, `incomplete` if some are, `unavailable` if none is. */
export function exitCode({ status, pulls }: RunResult): ExitCode {
  if (status === 'complete') return EXIT.done;
  const hasQuarantined = pulls.some((pull) => pull.status === 'quarantined');
  return status === 'failed' && !hasQuarantined ? EXIT.unavailable : EXIT.incomplete;
}
