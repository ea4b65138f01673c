import { setTimeout as sleep } from 'node:timers/promises';
import { TidemarkError } from '../core/errors.ts';
import { plural } from '../core/plural.ts';
import { isMassLoss } from '../load/judge.ts';
import type { Database } from '../warehouse/database.ts';
import type { SqlFiles } from '../warehouse/sql-files.ts';
import { appendToTable, ConflictError } from './commit.ts';
import { compactLake } from './compact.ts';
import type { MetaData } from './delta-log.ts';
import { changesTable } from './layout.ts';
import type { Loss } from './pending.ts';
import { createLakeReader, type LakeReader } from './reader.ts';
import { RUNS } from './relations.ts';
import { readStagedShards, type StagedShard } from './shards.ts';
import { writeStatement } from './statements.ts';
import type { LakeStore } from './store.ts';
import { viewRuns } from './visible.ts';

export interface CloseOptions {
  readonly store: LakeStore;
  /** In memory. */
  readonly database: Database;
  readonly files: SqlFiles;
  readonly run: string;
  readonly shards: number;
  /** Waits so long for shards that have not published. @default 0 */
  readonly waitMs?: number;
  readonly shrinkPercent: number;
  /** Closes shards whose targets lost more rows than `shrinkPercent`. @default false */
  readonly acceptShrink?: boolean;
  readonly nowMs: number;
  readonly signal: AbortSignal;
}

export interface CloseResult {
  readonly run: string;
  /** Shards that readers see from now on. */
  readonly closed: readonly number[];
  /** Shards that an earlier close has committed. */
  readonly known: readonly number[];
  /** Shards that have not published: their targets stay as they were, and are stale. */
  readonly missing: readonly number[];
  /** Shards that stay invisible, and why. */
  readonly refused: readonly { readonly shard: number; readonly why: string }[];
}

const POLL_MS = 2_000;
const ATTEMPTS = 20;

/**
 * Makes what the shards of a run have published visible, in one commit. A shard that is missing or refused changes nothing: it can be
 * closed later. Closing twice, or by two processes at once, is harmless.
 */
export async function closeRun(options: CloseOptions): Promise<CloseResult> {
  await waitForShards(options);
  for (let attempt = 1; ; attempt++) {
    try {
      return await closeOnce(options);
    } catch (error) {
      if (!(error instanceof ConflictError) || attempt === ATTEMPTS) throw error;
    }
  }
}

async function waitForShards({ store, run, shards, waitMs = 0, signal }: CloseOptions): Promise<void> {
  const deadline = Date.now() + waitMs;
  for (;;) {
    const staged = await readStagedShards(store, run, shards);
    const isComplete = [...staged.values()].every((shard) => shard !== null);
    const remaining = deadline - Date.now();
    if (isComplete || remaining <= 0) return;
    await sleep(Math.min(POLL_MS, remaining), undefined, { signal });
  }
}

async function closeOnce(options: CloseOptions): Promise<CloseResult> {
  const { store, database, files, run, shards } = options;
  const staged = await readStagedShards(store, run, shards);
  const reader = createLakeReader(store, database, files);
  await reader.snapshots(); // nothing is added to a lake that is damaged
  const present = [...staged.values()].filter((shard) => shard !== null);
  const visible = await readVisible(reader);
  const [known, due] = split(present, ({ publish }) => visible.has(publish));
  const refused = due.length > 0 ? await refuseShards(options, due) : [];
  const closed = due.filter(({ shard }) => !refused.some((one) => one.shard === shard));
  await commitRuns(options, reader, closed);
  if (closed.length > 0) {
    await writeStatement(store, Math.max(...closed.map(({ publish }) => publish)), await reader.snapshots());
    await compactLake({ reader, nowMs: options.nowMs });
  }
  const numbers = (all: readonly StagedShard[]) => all.map(({ shard }) => shard);
  const missing = [...staged].filter(([, shard]) => shard === null).map(([index]) => index);
  return { run, closed: numbers(closed), known: numbers(known), missing, refused };
}

function split<T>(items: readonly T[], test: (item: T) => boolean): readonly [readonly T[], readonly T[]] {
  return [items.filter(test), items.filter((item) => !test(item))];
}

async function readVisible(reader: LakeReader): Promise<ReadonlySet<number>> {
  await viewRuns(reader);
  const rows = await reader.database.rows(await reader.files.read('lake/publishes'));
  return new Set(rows.map(({ publish }) => Number(publish)));
}

/** Shards whose files are gone, or to which targets have come that lost so many rows that a fault is more likely than a change. */
async function refuseShards(
  { store, shrinkPercent, acceptShrink = false }: CloseOptions,
  due: readonly StagedShard[],
): Promise<CloseResult['refused']> {
  const stored = new Set((await store.list(changesTable(RUNS))).map(({ path }) => path));
  return due.flatMap((shard) => {
    const paths = stagedRuns(shard).flatMap(({ table, adds }) => adds.map(({ path }) => `${table}/${path}`));
    const gone = paths.find((path) => !stored.has(path));
    if (gone !== undefined) return [{ shard: shard.shard, why: `its file ${gone} is gone: run the shard again` }];
    const loss = acceptShrink ? undefined : shard.losses?.find((one) => isMassLoss(one, one, shrinkPercent));
    return loss ? [{ shard: shard.shard, why: describeLoss(loss) }] : [];
  });
}

const describeLoss = ({ target, relation, deleted, held }: Loss): string =>
  `${target} has come from another shard, and ${deleted} of its ${plural(held, 'row')} of ${relation} would go`;

const stagedRuns = ({ tables }: StagedShard) => tables.filter(({ table }) => table === changesTable(RUNS));

/** Commits the runs of all shards in one commit. @throws ConflictError if another process has closed meanwhile */
async function commitRuns(options: CloseOptions, reader: LakeReader, shards: readonly StagedShard[]): Promise<void> {
  const table = changesTable(RUNS);
  const staged = shards.flatMap(stagedRuns);
  const adds = staged.flatMap((one) => one.adds);
  const snapshot = await reader.snapshot(table);
  const metaData = chooseMetaData(
    snapshot.metaData,
    staged.map((one) => one.metaData),
  );
  const publish = Math.max(0, ...shards.map((shard) => shard.publish));
  await appendToTable(
    { reader, nowMs: options.nowMs },
    { table, snapshot, metaData, adds, publish, isExclusive: true },
  );
}

/** The description of the last shard that has one; a table keeps its identity. */
function chooseMetaData(held: MetaData | undefined, staged: readonly (MetaData | null)[]): MetaData | undefined {
  const last = staged.findLast((metaData) => metaData !== null) ?? undefined;
  if (!last || !held) return last;
  if (last.schemaString === held.schemaString) return undefined;
  return { ...last, id: held.id, ...(held.createdTime !== undefined && { createdTime: held.createdTime }) };
}

/** @throws TidemarkError USAGE */
export function assertShards(shards: number): number {
  if (Number.isSafeInteger(shards) && shards >= 1 && shards <= 1_000) return shards;
  throw new TidemarkError('USAGE', `--shards ${shards} is not a number of shards`, { hint: 'give 1 to 1000' });
}
