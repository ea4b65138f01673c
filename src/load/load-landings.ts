import { TidemarkError } from '../core/errors.ts';
import { firstLine } from '../warehouse/database.ts';
import { classifyStorageError, isOutOfMemory } from '../warehouse/integrity.ts';
import { tablesForSource } from '../warehouse/tables.ts';
import { type Acceptance, judge, type Limits, outOfMemory, type Verdict } from './judge.ts';
import { dropStages, merge } from './merge.ts';
import { type Destination, type Landed, type Stage, stage } from './stage.ts';

export interface LoadOptions<L extends Landed> extends Limits {
  /** Later than any `valid_from` of the warehouse (ISO 8601). */
  readonly asOf: string;
  readonly signal: AbortSignal;
  /** The statement that records what is accepted, which belongs to the transaction that loads it. */
  readonly record: (accepted: ReadonlyMap<L, Acceptance>) => string;
}

/**
 * Loads landings of any targets and sources into all tables that they fill: what is accepted in one transaction, while what is refused
 * leaves its tables as they are. Where a statement about all of them fails, each is loaded alone, so that only the one that causes it
 * is refused.
 * @throws storage failures; the reason of the signal. Nothing of the transaction is loaded then.
 */
export async function loadLandings<L extends Landed>(
  to: Destination,
  landings: readonly L[],
  options: LoadOptions<L>,
): Promise<ReadonlyMap<L, Verdict>> {
  try {
    return await loadStages(to, landings, await stageAll(to, landings, options.signal), options);
  } catch (error) {
    options.signal.throwIfAborted();
    if (classifyStorageError(error)) throw error;
    const [first] = landings;
    if (first && landings.length === 1) return new Map([[first, describeFailure(first, error, options)]]);
    const alone: (readonly [L, Verdict])[] = [];
    for (const landed of landings) alone.push(...(await loadLandings(to, [landed], options)));
    return new Map(alone);
  }
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
  for (const source of new Set(landings.map(({ manifest }) => manifest.source))) {
    const group = landings.filter(({ manifest }) => manifest.source === source);
    for (const table of tablesForSource(source, to.tables)) {
      signal.throwIfAborted();
      stages.push(await stage(to, table, group));
    }
  }
  return stages;
}

async function loadStages<L extends Landed>(
  to: Destination,
  landings: readonly L[],
  stages: readonly Stage[],
  { asOf, signal, record, ...limits }: LoadOptions<L>,
): Promise<ReadonlyMap<L, Verdict>> {
  const verdicts = new Map<L, Verdict>();
  for (const landed of landings) {
    const own = stages.filter(({ facts }) => facts.has(landed));
    verdicts.set(landed, await judge(landed, own, limits));
  }
  const accepted = new Map<L, Acceptance>();
  for (const [landed, verdict] of verdicts) if (!(verdict instanceof TidemarkError)) accepted.set(landed, verdict);
  signal.throwIfAborted();
  if (accepted.size > 0) await merge(to, stages, { accepted, asOf, record: record(accepted) });
  else await dropStages(to, stages);
  return verdicts;
}
