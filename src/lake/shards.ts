import type { Shard } from '../config/shard.ts';
import { TidemarkError } from '../core/errors.ts';
import { ignoreMissing } from '../core/fs.ts';
import type { AddAction, MetaData } from './delta-log.ts';
import type { Loss } from './pending.ts';
import type { Publishing, StagedTable } from './relation-publisher.ts';
import type { LakeStore } from './store.ts';

/** A shard, and the run that it is a part of. */
export interface ShardOfRun extends Shard {
  /** The name of the run, the same for all shards. */
  readonly run: string;
}

/** What a shard has published, and readers do not see before its runs are committed. */
export interface StagedShard {
  readonly shard: number;
  readonly shards: number;
  readonly publish: number;
  /** Time of the last run of the shard, ISO 8601. */
  readonly as_of: string;
  /** Rows of targets that have come to the shard, which its warehouse never had; an earlier version does not say. */
  readonly losses?: readonly Loss[];
  /** The changes of `runs`; an earlier version has its state as well. */
  readonly tables: readonly StagedRuns[];
}

interface StagedRuns {
  readonly table: string;
  readonly metaData: MetaData | null;
  readonly adds: readonly AddAction[];
}

const FOLDER = '_shards';
const RUN_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/u;

/** The date in UTC. */
export function defaultRunName(now: Date): string {
  return now.toISOString().slice(0, 10);
}

/** @throws TidemarkError USAGE for a name that is not one of a folder */
export function assertRunName(run: string): string {
  if (RUN_NAME.test(run)) return run;
  throw new TidemarkError('USAGE', `--run ${run} is not the name of a run`, {
    hint: 'give letters, digits, `.`, `_` and `-`, such as 2026-11-22',
  });
}

function stagedPath(run: string, shard: number, shards: number): string {
  return `${FOLDER}/${run}/${shard}-of-${shards}.json`;
}

/** Records what a shard has published, for `tidemark lake close`. A later publish of the shard for the same run replaces it. */
export async function stageRuns(
  { reader, publish, now }: Publishing,
  { run, index, count }: ShardOfRun,
  staged: StagedTable,
  losses: readonly Loss[],
): Promise<void> {
  const content: StagedShard = {
    shard: index,
    shards: count,
    publish,
    as_of: now,
    losses,
    tables: [{ table: staged.table, metaData: staged.design.metaData ?? null, adds: staged.adds }],
  };
  await reader.store.put(stagedPath(assertRunName(run), index, count), `${JSON.stringify(content)}\n`);
}

/** What the shards of a run have published, by shard; null where a shard has not. */
export async function readStagedShards(
  store: LakeStore,
  run: string,
  shards: number,
): Promise<ReadonlyMap<number, StagedShard | null>> {
  const staged = new Map<number, StagedShard | null>();
  for (let shard = 1; shard <= shards; shard++) {
    staged.set(shard, await readStaged(store, stagedPath(assertRunName(run), shard, shards)));
  }
  return staged;
}

async function readStaged(store: LakeStore, path: string): Promise<StagedShard | null> {
  const text = await store.read(path).catch(ignoreMissing);
  return text === undefined ? null : (JSON.parse(text) as StagedShard);
}
