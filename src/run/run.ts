import { existsSync } from 'node:fs';
import pLimit from 'p-limit';
import type { JobPlaybookResult } from '../act/job.ts';
import type { Config } from '../config/config.ts';
import { formatCompact, formatTimestamp, frozenClock, HOUR_MS } from '../core/clock.ts';
import type { JobContext } from '../core/context.ts';
import { EXIT, type ExitCode, formatError } from '../core/errors.ts';
import { plural } from '../core/plural.ts';
import { clearInFlight, listInFlight, markInFlight } from '../extract/resume.ts';
import { isLoaded, type Pull, type RunContext } from '../extract/run-context.ts';
import { withLakeStore } from '../lake/open-store.ts';
import { publishToLake } from '../lake/publish.ts';
import { landingDirectory } from '../landing/store.ts';
import type { PullOutcome } from '../load/record-pulls.ts';
import type { FindingsSummary } from '../tell/findings/evaluate.ts';
import { chooseTime } from '../warehouse/latest.ts';
import { type Warehouse, type WriteWarehouse, withWarehouseLock } from '../warehouse/session.ts';
import type { MailResult, Rendered } from './deliver.ts';
import { pruneAfterRun } from './retention.ts';

export type RunStatus = 'complete' | 'incomplete' | 'failed' | 'interrupted';

export interface RunResult {
  readonly run_id: string;
  readonly job: string;
  readonly status: RunStatus;
  /** `valid_from` of what the run changed, ISO 8601. */
  readonly as_of: string;
  readonly pulls: readonly PullOutcome[];
  /** The publish to the lake, as in the JSON output; null without one. */
  readonly lake: Readonly<Awaited<ReturnType<typeof lakeStage>>>;
}

/** What a job has beside its pulls. */
export interface JobStages extends Rendered {
  readonly findings: FindingsSummary | null;
  readonly playbooks: readonly JobPlaybookResult[];
  /** Why the ledger was refused, so that no playbook acted; null where it was not. */
  readonly refused_ledger: string | null;
  readonly mail: MailResult;
}

export type JobResult = RunResult & JobStages;

interface RunOptions {
  readonly config: Config;
  readonly context: JobContext;
  /** Recorded in `runs`: the job's name, or `pull`. */
  readonly job: string;
  readonly pulls: readonly Pull[];
  /** Time of the landing that is loaded again: such a run is not resumed. @default now */
  readonly asOf?: Date;
}

/** The state of a run once the warehouse is published. */
export type EndedRun = Omit<RunResult, 'lake'>;

/**
 * Runs under one lock: `fill` writes to the warehouse, which is then published; `deliver` does what follows from it, and the lake is last.
 * A run that is cut off before the end stays marked as unfinished: for the next one, nothing of it counts as reported.
 */
export async function executeRun<T extends Pick<RunResult, 'pulls'>, D extends object>(
  options: RunOptions,
  fill: (run: RunContext) => Promise<T>,
  deliver: (filled: T, ended: EndedRun, write: WriteWarehouse) => Promise<D>,
): Promise<RunResult & D> {
  const { config, context, job } = options;
  const now = context.clock.now();
  return withWarehouseLock({ config, purpose: job, now, log: context.log }, async (write) => {
    const { ended, filled } = await write(
      async (warehouse) => recordRun(await beginRun(options, warehouse, now), fill),
      context.signal,
    );
    await pruneAfterRun(config, { ...context, clock: frozenClock(now) }, write); // the clock may have gone ahead meanwhile
    const delivered = await deliver(filled, ended, write);
    if (ended.status === 'interrupted') return { ...ended, ...delivered, lake: null };
    if (!context.signal.aborted) await clearInFlight(config, job);
    return { ...ended, ...delivered, lake: await lakeStage(config, context) };
  });
}

/**
 * Publishes a run that has ended to the lake of the configuration. The warehouse has the run already, so that a failure of any kind is
 * shown and loses nothing.
 * @returns null without a lake. `publish`: its number; null if it failed, or the lake had everything already. `problem`: why the lake does
 * not have the run, which the next publish adds; null if it has.
 */
async function lakeStage(config: Config, context: JobContext) {
  if (config.lake === undefined) return null;
  const { clock, log, env } = context;
  try {
    const { publish, tables } = await withLakeStore(context, config, (store) =>
      publishToLake({ config, store, now: clock.now(), run: env.TIDEMARK_RUN }),
    );
    const rows = tables.reduce((sum, table) => sum + table.rows, 0);
    log.info(`lake: ${plural(rows, 'row')} published`);
    return { publish, rows, problem: null };
  } catch (error) {
    log.error(`lake: ${formatError(error)}`);
    return { publish: null, rows: 0, problem: formatError(error) };
  }
}

/** The key of manifests: `TARGET/SOURCE`. */
export function pullKey({ target, source }: Pull): string {
  return `${target.name}/${source.name}`;
}

async function beginRun(options: RunOptions, warehouse: Warehouse, now: Date): Promise<RunContext> {
  const { config, context, job, pulls } = options;
  const { database, files } = warehouse;
  const unfinished = (await listInFlight(config)).map(({ run_id }) => run_id);
  await database.run(files.read('warehouse/interrupt_runs'), { now: now.toISOString(), run_ids: unfinished });
  const asOf = await chooseTime(warehouse, options.asOf ?? now);
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
    await markInFlight(config, { run_id: runId, job, started_at: asOf.toISOString(), pulls: pulls.map(pullKey) });
  }
  return { ...context, config, job, runId, asOf, warehouse, writes: pLimit(1) };
}

async function recordRun<T extends Pick<RunResult, 'pulls'>>(run: RunContext, fill: (run: RunContext) => Promise<T>) {
  const { runId, job, asOf } = run;
  try {
    const filled = await fill(run);
    const status = runStatus(filled.pulls, run.signal);
    await finishRun(run, status);
    const ended: EndedRun = { run_id: runId, job, status, as_of: asOf.toISOString(), pulls: filled.pulls };
    return { ended, filled };
  } catch (error) {
    await finishRun(run, 'failed').catch(() => undefined); // the database may be what failed
    throw error;
  }
}

async function finishRun({ runId, asOf, clock, warehouse: { database, files } }: RunContext, status: RunStatus) {
  const finishedAt = new Date(Math.max(clock.now().getTime(), asOf.getTime())).toISOString();
  await database.run(files.read('warehouse/finish_run'), { run_id: runId, status, finished_at: finishedAt });
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
  const base = `${formatCompact(asOf)}${config.shard ? `-s${config.shard.index}` : ''}`;
  const [row] = await database.rows(files.read('warehouse/count_run_ids'), { run_id: base });
  for (let counter = Number(row?.taken) + 1; ; counter++) {
    const candidate = counter === 1 ? base : `${base}-${counter}`;
    if (!existsSync(landingDirectory(config, candidate))) return candidate;
  }
}

function runStatus(outcomes: readonly PullOutcome[], signal: AbortSignal): RunStatus {
  if (signal.aborted) return 'interrupted';
  if (outcomes.every(({ status }) => status === 'complete')) return 'complete';
  return outcomes.some(({ status }) => isLoaded(status)) ? 'incomplete' : 'failed';
}

/**
 * `done` if every pull is complete and nothing else failed, `data` for a refused ledger, `unavailable` if no pull is loaded or
 * quarantined, else `incomplete`.
 */
export function exitCode(result: RunResult & Partial<JobStages>): ExitCode {
  const { status, pulls } = result;
  if (status === 'complete') {
    if (typeof result.refused_ledger === 'string') return EXIT.data;
    return listFailures(result).length > 0 ? EXIT.incomplete : EXIT.done;
  }
  const hasQuarantined = pulls.some((pull) => pull.status === 'quarantined');
  return status === 'failed' && !hasQuarantined ? EXIT.unavailable : EXIT.incomplete;
}

/** What failed beside the pulls: `rule own`, `report pools`, `mail`. */
export function listFailures(result: RunResult & Partial<JobStages>): readonly string[] {
  const { findings, refused_ledger, playbooks = [], failed_reports = [], mail, lake } = result;
  const isUnsent = mail && (mail.problem !== null || mail.deliveries.some(({ status }) => status !== 'sent'));
  return [
    ...(findings?.failed ?? []).map(({ rule }) => `rule ${rule}`),
    ...(typeof refused_ledger === 'string' ? ['ledger'] : []),
    ...playbooks.flatMap(({ name, exit }) => (exit === EXIT.done ? [] : [`playbook ${name}`])),
    ...failed_reports.map(({ report }) => `report ${report}`),
    ...(isUnsent ? ['mail'] : []),
    ...(typeof lake?.problem === 'string' ? ['lake'] : []),
  ];
}
