import pLimit, { type LimitFunction } from 'p-limit';
import type { Config } from '../config/config.ts';
import { linkSignals } from '../core/abort.ts';
import type { JobContext } from '../core/context.ts';
import { TidemarkError } from '../core/errors.ts';
import { groupBy } from '../core/group-by.ts';
import { createOnce, startTimeBound } from '../extract/extract.ts';
import { findResumable } from '../extract/resume.ts';
import { isLoaded, type Pull, type RunContext } from '../extract/run-context.ts';
import { findUnanswered } from '../extract/sources/index.ts';
import { hasSource, isWanted, type SourceDefinition } from '../extract/sources/source.ts';
import { createRequestMetrics } from '../http/response-body.ts';
import { type Manifest, type Manifests, readLanding } from '../landing/store.ts';
import { createLoadQueue } from '../load/load-queue.ts';
import type { PullOutcome } from '../load/record-pulls.ts';
import { ServiceClients } from '../services/client.ts';
import { identifyService } from '../services/describe-server.ts';
import type { SqlFiles } from '../warehouse/sql-files.ts';
import { loadTables } from '../warehouse/tables.ts';
import { refreshLifecycle } from './lifecycle.ts';
import { createProgress, type Progress } from './progress.ts';
import { type PullTask, pullSource } from './pull-source.ts';
import { executeRun, pullKey } from './run.ts';

/** The pulls of the selected targets and sources. @default all */
export function selectPulls(
  config: Config,
  selected: { readonly targets?: readonly string[]; readonly sources?: readonly string[] },
  sources: readonly SourceDefinition[],
): readonly Pull[] {
  const isSelected = (names: readonly string[] | undefined, name: string) => !names?.length || names.includes(name);
  const targets = config.targets.filter(({ name }) => isSelected(selected.targets, name));
  return targets.flatMap((target) => {
    const own = sources.filter((source) => hasSource(target, source) && isSelected(selected.sources, source.name));
    return own.map((source) => ({ target, source }));
  });
}

/** @throws TidemarkError USAGE if the selection is empty. In a shard it may be: other shards have the targets of the selection. */
export function assertPulls({ shard }: Config, pulls: readonly Pull[]): readonly Pull[] {
  if (pulls.length > 0 || shard !== undefined) return pulls;
  throw new TidemarkError('USAGE', 'the selected targets have none of the selected sources');
}

export interface PullOptions {
  readonly pulls: readonly Pull[];
  /** All that there are, pulled or not. */
  readonly sources: readonly SourceDefinition[];
  /** Sources whose mass disappearance of rows is accepted. */
  readonly acceptShrink?: readonly string[];
  /** Extracts everything, even what an interrupted run has landed. */
  readonly fresh?: boolean;
}

/** Runs `tidemark pull`. @param from a run whose landing is loaded again, without the network */
export async function runPulls(config: Config, context: JobContext, options: PullOptions, from?: string) {
  const replay = from === undefined ? undefined : await readLanding(config, from);
  const { pulls } = options;
  const fill = async (run: RunContext) => {
    const pulled = await pullSources(run, options, replay);
    await refreshLifecycle(run, replay !== undefined);
    return { pulls: pulled };
  };
  const [first] = replay?.values() ?? [];
  const planned = { config, context, job: 'pull', pulls, ...(first && { asOf: new Date(first.as_of) }) };
  return executeRun(planned, fill, async () => ({}));
}

/** Each has pages and buffers in memory. More are no faster, as one process reads all responses. */
const TARGETS_AT_ONCE = 24;

/**
 * Extracts the sources of many targets concurrently, each within its target's rate limit, and loads what has landed meanwhile. A failed
 * source is recorded and does not stop the others; a storage failure stops all of them.
 */
export async function pullSources(run: RunContext, options: PullOptions, replay?: Manifests) {
  const { config } = run;
  const { pulls, sources, acceptShrink = [], fresh = false } = options;
  const keys = new Set(fresh || replay ? [] : pulls.map(pullKey));
  const resumable = await findResumable(run, keys);
  const progress = await createProgress(run);
  const halt = new AbortController();
  const { signal, abort, release } = linkSignals(run.signal, halt.signal);
  const timer = startTimeBound('the run', config.maxRunTime, 'maxRunTime', abort);
  const running: RunContext = { ...run, log: progress.log, signal };
  const canReuse = !fresh && !replay && config.fullReadDays > 0;
  const clients = new ServiceClients(config, run, signal);
  const tools = { queue: createLoadQueue(running), clients, progress, resumable, acceptShrink, replay, canReuse, halt };
  const targets = pLimit(TARGETS_AT_ONCE);
  try {
    const outcomes: PullOutcome[] = [];
    for (const wave of [pulls.filter((pull) => !isLast(pull)), pulls.filter(isLast)]) {
      outcomes.push(...(await mapTargets(wave, targets, (own) => pullTarget(running, own, tools))));
      halt.signal.throwIfAborted();
    }
    await recordLeftOut(run, sources);
    return outcomes;
  } finally {
    clearTimeout(timer);
    release();
    await clients.close();
    progress.end();
  }
}

/** Whether a pull needs what the others have loaded. */
const isLast = ({ source }: Pull): boolean => source.readsTables === true;

type TargetPulls = readonly [Pull, ...Pull[]];

/** Works on all pulls of some targets at a time. @returns the results, target by target */
export async function mapTargets<T>(
  pulls: readonly Pull[],
  limit: LimitFunction,
  work: (pulls: TargetPulls) => Promise<readonly T[]>,
): Promise<readonly T[]> {
  return (await limit.map(groupBy(pulls, ({ target }) => target.name).values(), work)).flat();
}

/** What the pulls of one run share. */
interface PullTools extends Pick<PullTask, 'queue' | 'canReuse'> {
  readonly clients: ServiceClients;
  readonly progress: Progress;
  readonly resumable: Manifests;
  readonly acceptShrink: readonly string[];
  /** Of an earlier run, which is loaded again. */
  readonly replay: Manifests | undefined;
  /** Aborted with the storage failure that ends the run. */
  readonly halt: AbortController;
}

/** Pulls sources of one target. What they share, such as its pages, is needed until the last of them has ended. */
async function pullTarget(run: RunContext, pulls: TargetPulls, tools: PullTools): Promise<readonly PullOutcome[]> {
  const { queue, clients, progress, resumable, acceptShrink, replay, canReuse, halt } = tools;
  const stopAll = (error: unknown) => halt.abort(error); // only the first call sets the reason
  const once = createOnce();
  const identity = pLimit(1); // each question closes its connection
  const failed: string[] = [];
  const { arrive, isAwaited } = createMeeting(pulls);
  const pullOne = async (pull: Pull) => {
    const { target, source } = pull;
    const metrics = createRequestMetrics();
    progress.start(target.name, source.name, metrics);
    const active = { ...pull, metrics, startedAt: run.clock.now().toISOString(), expectedRows: null };
    try {
      const outcome = await pullSource({
        run,
        pull: active,
        queue,
        once,
        identify: () => identity(() => identifyService(clients, target)),
        canReuse,
        client: clients.get(target),
        acceptDrop: acceptShrink.includes(source.name),
        replay: replay && findReplay(replay, pull),
        resumable: resumable.get(pullKey(pull)),
        waitForOthers: async () => {
          await arrive(pull);
          return failed.sort();
        },
      });
      if (isAwaited(pull) && !isLoaded(outcome.status)) failed.push(source.name);
      progress.done(outcome);
      return outcome;
    } finally {
      void arrive(pull);
    }
  };
  const ended = await Promise.all(pulls.map((pull) => pullOne(pull).catch(stopAll)));
  const outcomes = ended.filter((outcome) => outcome !== undefined);
  progress.fail(outcomes.filter(({ status }) => status === 'failed'));
  await clients.release(pulls[0].target.name);
  return outcomes;
}

/** Where all pulls of a target arrive: they have ended, or wait for the others. */
function createMeeting(pulls: TargetPulls) {
  const awaited = new Set(pulls);
  let open = () => {};
  const isComplete = new Promise<void>((resolve) => {
    open = resolve;
  });
  return {
    /** @returns what waits for the others */
    arrive(pull: Pull): Promise<void> {
      awaited.delete(pull);
      if (awaited.size === 0) open();
      return isComplete;
    },
    isAwaited: (pull: Pull) => awaited.has(pull),
  };
}

function findReplay(manifests: Manifests, pull: Pull): Manifest | TidemarkError {
  const hint = `extract it with \`tidemark pull --target ${pull.target.name} --source ${pull.source.name}\``;
  return manifests.get(pullKey(pull)) ?? new TidemarkError('DATA', 'that run did not land this source', { hint });
}

/** Sources of declared tables that this process does not have: a program may pull them with the library (docs/library.md). */
function listOthers(files: SqlFiles, sources: readonly SourceDefinition[]): readonly string[] {
  const known = new Set<string | undefined>(sources.map(({ name }) => name));
  return [...loadTables(files).values()].flatMap(({ source }) => (known.has(source) ? [] : (source ?? [])));
}

/**
 * A source or target that the configuration leaves out, or that neither a plugin nor a table has any more, has no state, so that nothing reports it as failed or stale.
 * A target that another shard has is not left out. What the service of a target cannot answer is recorded as such.
 */
async function recordLeftOut(run: RunContext, sources: readonly SourceDefinition[]): Promise<void> {
  const { config, runId, asOf, warehouse, writes } = run;
  const { database, files } = warehouse;
  const others = listOthers(files, sources);
  const selections = config.targets.map((target) => {
    const wanted = sources.filter((source) => isWanted(target, source)).map(({ name }) => name);
    return { target: target.name, sources: target.sources === undefined ? [...wanted, ...others] : wanted };
  });
  const unanswered = JSON.stringify(findUnanswered(config.targets));
  const targets = [...config.targets.map(({ name }) => name), ...(config.elsewhere ?? [])];
  const at = { run_id: runId, as_of: asOf.toISOString() };
  const leftOut = { ...at, selections: JSON.stringify(selections), targets };
  await writes(async () => {
    await database.run(files.read('warehouse/record_left_out'), leftOut);
    await database.run(files.read('warehouse/record_unanswered'), { ...at, unanswered });
  });
}
