import { randomUUID } from 'node:crypto';
import type { Config } from '../config/config.ts';
import { TidemarkError } from '../core/errors.ts';
import { ignoreMissing } from '../core/fs.ts';
import { type OpenWarehouse, withPublished } from '../warehouse/session.ts';
import { nameRun, type ShardOfRun, writeStagedShard } from './close.ts';
import { compactLake, migrateTable, writeRows } from './data-files.ts';
import { BEGINNING, fillPending, readVisible, type VisiblePublishes } from './difference.ts';
import { ConflictError, retryConflicts } from './log.ts';
import { appendToTable, createLakeReader, type LakeReader } from './reader.ts';
import { listRelations, type Relation, RUNS } from './relations.ts';
import { claimPath, expectedRows, WRITERS, writeStatement } from './statements.ts';
import { contradictionError, type LakeStore } from './store.ts';
import { changesTable, designTable } from './table.ts';

export type PublishResult = Readonly<Awaited<ReturnType<typeof publishOnce>>>;

interface PublishOptions {
  readonly config: Config;
  readonly store: LakeStore;
  readonly now: Date;
  /** Name of the run that a shard is a part of, the same for all shards. @default the date of `now` in UTC */
  readonly run?: string | undefined;
}

/**
 * Appends to the lake what the published warehouse has and the lake does not. Readers see it when `runs` is committed, which is last:
 * all of it or nothing. What a killed publish has left is never seen, and the next publish writes it again.
 * @throws TidemarkError UNREACHABLE without a warehouse or a run; UNSAFE if the lake has runs that the warehouse does not have; LOCKED if
 * other publishes do not end
 */
export function publishToLake(options: PublishOptions): Promise<PublishResult> {
  return retryConflicts(options.store, (attempt) => publishOnce(options, attempt === 1));
}

interface Publishing {
  readonly reader: LakeReader;
  /** Its number, which no other publish has. */
  readonly publish: number;
  readonly visible: VisiblePublishes;
  /** The time of the last run of the warehouse, ISO 8601. */
  readonly as_of: string;
  readonly shard: ShardOfRun | undefined;
}

/** Each relation is written and committed before the next one, so that a publish holds the rows of only one. */
async function publishOnce(options: PublishOptions, isFirst: boolean) {
  const { config, store, now, run } = options;
  const shard = config.shard && { ...config.shard, run: nameRun(now, run) };
  return withVisible(options, async (reader, visible) => {
    await reader.snapshots(); // nothing is added to a lake that is damaged
    const asOf = assertPublishable(store, visible, isFirst);
    const publish = await claimNumber(store, visible);
    const publishing = { reader, visible, publish, as_of: asOf, shard };
    const relations = await listRelations(reader);
    const committed: StagedTable[] = [];
    for (const relation of relations) {
      const publishOne = relation.name === RUNS ? publishRuns : publishRelation;
      committed.push(...(await publishOne(publishing, relation, committed)));
    }
    const hasRows = committed.length > 0;
    if (hasRows) await writeStatement(store, publish, await reader.snapshots());
    else await store.remove(claimPath(publish));
    // Those of a shard are put together when its run is closed.
    if (hasRows && !shard) await compactLake(reader);
    return {
      /** Number of the publish; null if the lake had everything already. */
      publish: hasRows ? publish : null,
      /** The time up to which the lake has runs, ISO 8601. */
      as_of: asOf,
      tables: committed.map(describeTable),
    };
  });
}

/** The time up to which readers of the lake see the runs of this warehouse; undefined where they see none. */
export function readPublishedUntil(options: PublishOptions): Promise<Date | undefined> {
  return withVisible(options, async (_, { after }) => (after === BEGINNING ? undefined : new Date(after)));
}

/** Reads every log, and finds what would refuse a publish now. @returns as `readPublishedUntil` @throws as `publishToLake` */
export function checkPublishable(options: PublishOptions): Promise<Date | undefined> {
  return withVisible(options, async (reader, visible) => {
    await reader.snapshots();
    if (visible.latest !== null) assertPublishable(options.store, visible, false);
    return visible.after === BEGINNING ? undefined : new Date(visible.after);
  });
}

/** Reads the lake in the database of the published warehouse. */
function withVisible<T>(
  { config, store, now }: PublishOptions,
  work: (reader: LakeReader, visible: VisiblePublishes) => Promise<T>,
): Promise<T> {
  const read = async (published: OpenWarehouse) => {
    const { database, files } = published;
    // A warehouse of an earlier version lacks what the roll-up calls.
    for (const name of ['known_drift', 'known_failing'])
      await database.run(files.render(`warehouse/${name}`, { scope: 'temp ' }));
    const reader = createLakeReader({ ...published, store, nowMs: now.getTime() });
    return work(reader, await readVisible(reader, config.shard?.index ?? 0));
  };
  return withPublished(config, read, { threads: undefined });
}

/** @returns the time of the last run of the warehouse */
function assertPublishable(
  { name }: LakeStore,
  { after, latest, is_ahead: isAhead }: VisiblePublishes,
  isFirst: boolean,
) {
  if (latest === null) {
    throw new TidemarkError('UNREACHABLE', 'the warehouse has no run yet', { hint: 'pull first: `tidemark pull`' });
  }
  if (!isAhead) return latest;
  // A publish of a later run may have ended after this one had opened the warehouse.
  if (isFirst) throw new ConflictError(`${name} has a later run`);
  throw new TidemarkError('UNSAFE', `${name} has runs up to ${after}, and this warehouse does not`, {
    hint: 'the lake belongs to another warehouse, or this one was restored from an older backup: publish to a new folder, or get the warehouse from the lake with `tidemark lake restore`',
  });
}

/** Numbers in a row that a store may refuse and not have. */
const MAX_REFUSED = 1_000;

/**
 * Takes the next number of the writer that no publish has had, not even one that was killed: its rows must never become visible. A number
 * that a publish has taken back is as good as any, but a bucket with versions may refuse to create again what was removed.
 * @throws TidemarkError REFUSED if the store contradicts itself
 */
async function claimNumber(store: LakeStore, { last_of_all: last, writer }: VisiblePublishes): Promise<number> {
  const first = (Math.floor(last / WRITERS) + 1) * WRITERS + writer;
  // A store may say that a number is taken by what this publish has written, after it has lost the first answer.
  const own = `${JSON.stringify({ claim: randomUUID() })}\n`;
  let refused = 0;
  for (let publish = first; refused < MAX_REFUSED; publish += WRITERS) {
    if (await store.createIfAbsent(claimPath(publish), own)) return publish;
    const found = await store.read(claimPath(publish)).catch(ignoreMissing);
    if (found === own) return publish;
    refused = found === undefined ? refused + 1 : 0;
  }
  throw contradictionError(store, claimPath(first));
}

/** Rows of a table that a publish has written to files, not yet in the log. `losses`: what `tidemark lake close` judges. */
type StagedTable = Awaited<ReturnType<typeof stageRelation>>;

const describeTable = ({ table, adds }: StagedTable) => ({
  table,
  rows: adds.reduce((sum, add) => sum + (expectedRows(add) ?? 0), 0),
  files: adds.length,
  bytes: adds.reduce((sum, { size }) => sum + size, 0),
});

/** Another publish may describe the table at the same time, as all shards do in their first run: then the relation is written again. */
async function publishRelation(publishing: Publishing, relation: Relation): Promise<readonly StagedTable[]> {
  const attempt = async () => commitTable(publishing, await stageRelation(publishing, relation));
  return retryConflicts(publishing.reader.store, attempt);
}

/** The runs of a shard are left to `tidemark lake close`, which commits those of all shards at once. */
async function publishRuns(publishing: Publishing, relation: Relation, committed: readonly StagedTable[]) {
  const { reader, publish, as_of, shard } = publishing;
  const staged = await stageRelation(publishing, relation, committed.length > 0);
  if (!shard) return commitTable(publishing, staged);
  const { table, adds, metaData = null } = staged;
  const losses = committed.flatMap((one) => one.losses);
  await writeStagedShard(reader.store, shard, { publish, as_of, losses, tables: [{ table, metaData, adds }] });
  return [staged];
}

async function commitTable({ reader, publish }: Publishing, staged: StagedTable): Promise<readonly StagedTable[]> {
  return (await appendToTable(reader, staged, publish)) ? [staged] : [];
}

/**
 * Writes the data files of what a relation has and the lake does not. Nothing of it is in a log.
 * @param isRepeated writes the last run once more if no run has changed: `runs` makes a publish visible
 */
async function stageRelation({ reader, publish, visible }: Publishing, relation: Relation, isRepeated = false) {
  const table = changesTable(relation.name);
  await migrateTable(reader, table);
  const { metaData } = await reader.snapshot(table);
  const design = designTable(relation, metaData, publish, reader.nowMs);
  const losses = await fillPending(reader, visible, relation, design, isRepeated);
  const adds = await writeRows(reader, design.relation, 'lake_pending', `${publish}::bigint`);
  return { table, adds, metaData: design.metaData, losses };
}
