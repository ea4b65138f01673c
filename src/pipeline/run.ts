import { existsSync } from 'node:fs';
import pLimit, { type LimitFunction } from 'p-limit';
import type { Config, Target } from '../config/config.ts';
import type { Context } from '../core/context.ts';
import { EXIT, type ExitCode } from '../core/errors.ts';
import type { RequestMetrics } from '../http/request-metrics.ts';
import { landingDirectory, pruneLandings, recordPlanned, type UnknownPart } from '../landing/store.ts';
import type { Delta } from '../load/judge.ts';
import { prunePlans } from '../remediation/plan-store.ts';
import type { SourceDefinition } from '../sources/source.ts';
import type { Warehouse, WarehouseWriter } from '../warehouse/session.ts';
import { fillParams } from '../warehouse/sql-params.ts';
import { listInFlight, markInFlight } from './resume.ts';

/** What every stage of a run needs. */
export interface RunContext extends Context {
  readonly config: Config;
  /** The job's name, or `pull`. */
  readonly job: string;
  readonly runId: string;
  /** `valid_from` of what the run changes, later than any before. */
  readonly asOf: Date;
  readonly warehouse: Warehouse;
  /** Runs writes to the warehouse one after another. */
  readonly writes: LimitFunction;
}

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
  readonly context: Context;
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
  const ended = await writer.write(async (warehouse) => recordRun(await beginRun(options, warehouse, now), work), {
    deferMigration: true,
    compactUnless: options.context.signal,
  });
  await pruneLandings(options.config, now);
  await prunePlans(options.config, { now, log: options.context.log });
  return ended;
}

async function beginRun(options: RunOptions, warehouse: Warehouse, now: Date): Promise<RunContext> {
  const { config, context, job, pulls } = options;
  const { database, files } = warehouse;
  const unfinished = (await listInFlight(config)).map(({ run_id }) => run_id);
  await database.run(await files.read('warehouse/interrupt_runs'), { now: now.toISOString(), run_ids: unfinished });
  const asOf = await chooseValidFrom(warehouse, options.asOf ?? now);
  const runId = await allocateRunId(warehouse, config, asOf);
  await database.run(await files.read('warehouse/begin_run'), {
    run_id: runId,
    target: [...new Set(pulls.map(({ target }) => target.name))].join(', '),
    job,
    started_at: asOf.toISOString(),
  });
  if (!options.asOf) {
    await recordPlanned(
      config,
      runId,
      pulls.map(({ target, source }) => `${target.name}/${source.name}`),
    );
    await markInFlight(config, { run_id: runId, job, started_at: asOf.toISOString() });
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
  await database.run(await files.read('warehouse/finish_run'), { run_id: runId, status, finished_at: finishedAt });
}

/**
 * The `valid_from` of a run: now, but always later than anything in the warehouse. So neither a clock that went back nor two runs
 * within one millisecond reorder or overlap history.
 */
async function chooseValidFrom({ database, files }: Warehouse, now: Date): Promise<Date> {
  const [row] = await database.rows(await files.read('warehouse/latest_run'));
  const latest = typeof row?.latest === 'string' ? Date.parse(row.latest) : Number.NEGATIVE_INFINITY;
  return now.getTime() > latest ? now : new Date(latest + 1);
}

/** Adds a counter if the warehouse has a run of the same second, or a landing has the name. */
async function allocateRunId({ database, files }: Warehouse, config: Config, asOf: Date): Promise<string> {
  // The runs of all shards meet in the lake.
  const base = config.shard ? `${formatRunId(asOf)}-s${config.shard.index}` : formatRunId(asOf);
  const [row] = await database.rows(await files.read('warehouse/count_run_ids'), { run_id: base });
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

/** One source of one target. */
export interface Pull {
  readonly target: Target;
  readonly source: SourceDefinition;
}

/** A pull in progress. */
export interface ActivePull extends Pull {
  readonly metrics: RequestMetrics;
  /** ISO 8601. */
  readonly startedAt: string;
  /** Rows that the service reports; known once the source has landed. */
  expectedRows: number | null;
}

/** `partial`: some parts of the source could not be listed, and the others are loaded. */
export type PullStatus = 'complete' | 'partial' | 'failed' | 'quarantined';

/** Whether a pull with this status has changed the tables. */
export function isLoaded(status: PullStatus): boolean {
  return status === 'complete' || status === 'partial';
}

/** The result of a pull, as in the JSON output. */
export interface PullOutcome {
  readonly target: string;
  readonly source: string;
  readonly status: PullStatus;
  readonly rows: number | null;
  readonly expected_rows: number | null;
  readonly requests: number;
  readonly retries: number;
  readonly throttle_wait_ms: number;
  readonly bytes: number;
  /** Objects that are as the last pull read them, and were not read again. */
  readonly reused: number;
  readonly inserted: number;
  readonly changed: number;
  readonly deleted: number;
  readonly error: string | null;
  /** What a reader of the rows should know although the pull is complete. */
  readonly note: string | null;
}

export interface PullResult {
  readonly status: PullStatus;
  readonly delta?: Delta;
  /** When the rows were extracted, ISO 8601. */
  readonly extractedAt?: string;
  readonly error?: string;
  readonly note?: string | null;
  readonly unknownParts?: readonly UnknownPart[] | undefined;
}

export function toPullOutcome(pull: ActivePull, { status, delta, error, note }: PullResult): PullOutcome {
  const { target, source, metrics, expectedRows } = pull;
  return {
    target: target.name,
    source: source.name,
    status,
    rows: delta?.rowsAfter ?? null,
    expected_rows: expectedRows,
    requests: metrics.requests,
    retries: metrics.retries,
    throttle_wait_ms: Math.round(metrics.throttleWaitMs),
    bytes: metrics.bytes,
    reused: metrics.reused,
    inserted: delta?.inserted ?? 0,
    changed: delta?.changed ?? 0,
    deleted: delta?.deleted ?? 0,
    error: error ?? null,
    note: note ?? null,
  };
}

/** Writes a row of `pulls`. */
export async function recordPull(run: RunContext, pull: ActivePull, result: PullResult): Promise<PullOutcome> {
  const { outcome, row } = describePull(run, pull, result);
  await run.warehouse.database.script(await recordPullsStatement(run, [row]));
  return outcome;
}

/** A row of `pulls`. */
type PullRow = Readonly<Record<string, string | number | readonly UnknownPart[] | null>>;

/** The outcome of a pull, and the row that records it. */
export function describePull(
  { runId, asOf, clock }: RunContext,
  pull: ActivePull,
  result: PullResult,
): { readonly outcome: PullOutcome; readonly row: PullRow } {
  const outcome = toPullOutcome(pull, result);
  const row = {
    ...outcome,
    inserted: result.delta?.inserted ?? null,
    changed: result.delta?.changed ?? null,
    deleted: result.delta?.deleted ?? null,
    run_id: runId,
    started_at: pull.startedAt,
    finished_at: clock.now().toISOString(),
    as_of: asOf.toISOString(),
    extracted_at: result.extractedAt ?? null,
    throttled: pull.metrics.throttled,
    unknown_parts: result.unknownParts ?? null,
  };
  return { outcome, row };
}

/** The statement that writes rows of `pulls`. */
export async function recordPullsStatement({ warehouse }: RunContext, rows: readonly PullRow[]): Promise<string> {
  return fillParams(await warehouse.files.read('warehouse/record_pulls'), { pulls: JSON.stringify(rows) });
}
