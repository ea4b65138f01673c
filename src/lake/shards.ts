import type { Shard } from '../config/shard.ts';
import { TidemarkError } from '../core/errors.ts';
import { ignoreMissing } from '../core/fs.ts';
import type { AddAction, MetaData } from './delta-log.ts';
import type { Loss } from './difference.ts';
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
  readonly tables: readonly {
    readonly table: string;
    readonly metaData: MetaData | null;
    readonly adds: readonly AddAction[];
  }[];
}

/** The date in UTC. */
export function defaultRunName(now: Date): string {
  return now.toISOString().slice(0, 10);
}

const RUN_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/u;

/** @throws TidemarkError USAGE for a name that is not one of a folder */
export function assertRunName(run: string): string {
  if (RUN_NAME.test(run)) return run;
  throw new TidemarkError('USAGE', `--run ${run} is not the name of a run`, {
    hint: 'give letters, digits, `.`, `_` and `-`, such as 2026-11-22',
  });
}

const stagedPath = ({ run, index, count }: ShardOfRun): string =>
  `_shards/${assertRunName(run)}/${index}-of-${count}.json`;

/** Records what a shard has published, for `tidemark lake close`. A later publish of the shard for the same run replaces it. */
export async function writeStagedShard(
  store: LakeStore,
  shard: ShardOfRun,
  content: Omit<StagedShard, 'shard' | 'shards'>,
): Promise<void> {
  const staged: StagedShard = { shard: shard.index, shards: shard.count, ...content };
  await store.put(stagedPath(shard), `${JSON.stringify(staged)}\n`);
}

/** What a shard has published; undefined where it has not. */
export async function readStagedShard(store: LakeStore, shard: ShardOfRun): Promise<StagedShard | undefined> {
  const text = await store.read(stagedPath(shard)).catch(ignoreMissing);
  return text === undefined ? undefined : (JSON.parse(text) as StagedShard);
}
