import { randomInt } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Config } from '../config/config.ts';
import { TidemarkError } from '../core/errors.ts';
import { overlayRoots } from '../core/paths.ts';
import { warehouseFiles } from '../warehouse/publish.ts';
import { assertReadable } from '../warehouse/session.ts';
import { createSqlFiles } from '../warehouse/sql-files.ts';
import { loadTables } from '../warehouse/tables.ts';
import { openWithOwnFolder } from '../warehouse/temporary-folder.ts';
import { appendToTable, ConflictError } from './commit.ts';
import { compactLake } from './compact.ts';
import { changesTable } from './layout.ts';
import { BEGINNING } from './pending.ts';
import { createLakeReader, type LakeReader } from './reader.ts';
import { type Publishing, type StagedTable, stageRelation } from './relation-publisher.ts';
import { listRelations, type Relation, RUNS } from './relations.ts';
import { defaultRunName, type ShardOfRun, stageRuns } from './shards.ts';
import { claimPath, writeStatement } from './statements.ts';
import { createOrRead, type LakeStore } from './store.ts';
import { readVisible } from './visible.ts';

export interface PublishedTable {
  readonly table: string;
  readonly rows: number;
  readonly files: number;
  readonly bytes: number;
}

export interface PublishResult {
  /** Number of the publish; null if the lake had everything already. */
  readonly publish: number | null;
  /** The time up to which the lake has runs, ISO 8601. */
  readonly as_of: string;
  readonly tables: readonly PublishedTable[];
}

export interface PublishOptions {
  readonly config: Config;
  readonly store: LakeStore;
  readonly now: Date;
  /** Name of the run that a shard is a part of, the same for all shards. @default the date of `now` in UTC */
  readonly run?: string | undefined;
}

/** Publishes that overlap begin again. More than these in a row means that they never end. */
const ATTEMPTS = 10;
const MAX_PAUSE_MS = 500;

/**
 * Appends to the lake what the published warehouse has and the lake does not. Readers see it when `runs` is committed, which is last:
 * all of it or nothing. What a killed publish has left is never seen, and the next publish writes it again.
 * @throws TidemarkError UNREACHABLE without a warehouse or a run; UNSAFE if the lake has runs that the warehouse does not have; LOCKED if
 * other publishes do not end
 */
export async function publishToLake(options: PublishOptions): Promise<PublishResult> {
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    try {
      return await publishOnce(options);
    } catch (error) {
      // A publish of a later run may have ended after this one had opened the warehouse.
      const isPassing = error instanceof TidemarkError && error.code === 'UNSAFE' && attempt === 1;
      if (!(error instanceof ConflictError) && !isPassing) throw error;
      await sleep(randomInt(MAX_PAUSE_MS));
    }
  }
  throw new TidemarkError('LOCKED', `other publishes to ${options.store.name} do not end`, {
    hint: 'let one process publish at a time',
  });
}

async function publishOnce({ config, store, now, run }: PublishOptions): Promise<PublishResult> {
  await assertReadable(warehouseFiles(config.data).published);
  return withPublishedReader(config, store, async (reader) => {
    const { database, files } = reader;
    const relations = await listRelations(database, files, await loadTables(files));
    const publishing = await beginPublish(reader, { now, writer: config.shard?.index ?? 0 });
    const shard = config.shard && { ...config.shard, run: run ?? defaultRunName(now) };
    const result = await publishRelations(publishing, relations, shard);
    if (result.publish === null) {
      await store.remove(claimPath(publishing.publish));
      return result;
    }
    await writeStatement(store, publishing.publish, await publishing.reader.snapshots());
    // Those of a shard are put together when its run is closed.
    if (!shard) await compactLake(publishing);
    return result;
  });
}

/** The time up to which readers of the lake see the runs of this warehouse; undefined where they see none. */
export function readPublishedUntil(config: Config, store: LakeStore): Promise<Date | undefined> {
  return withPublishedReader(config, store, async (reader) => {
    const { after } = await readVisible(reader, config.shard?.index ?? 0);
    return after === undefined ? undefined : new Date(after);
  });
}

/** Reads the lake in the database of the published warehouse. */
async function withPublishedReader<T>(
  { data, directory, memoryLimit }: Config,
  store: LakeStore,
  work: (reader: LakeReader) => Promise<T>,
): Promise<T> {
  const database = await openWithOwnFolder(warehouseFiles(data).published, { readOnly: true, memoryLimit }, data);
  try {
    return await work(createLakeReader(store, database, createSqlFiles(overlayRoots(directory))));
  } finally {
    database.close();
  }
}

async function beginPublish(
  reader: LakeReader,
  { now, writer }: { readonly now: Date; readonly writer: number },
): Promise<Publishing> {
  await reader.snapshots(); // nothing is added to a lake that is damaged
  const visible = await readVisible(reader, writer);
  const { after = BEGINNING, latest, isAhead, lastOfAll } = visible;
  if (latest === undefined) {
    throw new TidemarkError('UNREACHABLE', 'the warehouse has no run yet', { hint: 'pull first: `tidemark pull`' });
  }
  if (isAhead) throw aheadError(reader.store, after);
  const publish = await claimNumber(reader.store, lastOfAll, writer, now);
  return {
    reader,
    publish,
    writer,
    nowMs: now.getTime(),
    after,
    now: latest,
    visible,
  };
}

function aheadError({ name }: LakeStore, asOf: string): TidemarkError {
  return new TidemarkError('UNSAFE', `${name} has runs up to ${asOf}, and this warehouse does not`, {
    hint: 'the lake belongs to another warehouse, or this one was restored from an older backup: publish to a new folder, or get the warehouse from the lake with `tidemark lake restore`',
  });
}

/** The remainder of a publish by this number is its writer: the number of a shard, or 0. `queries/lake/at.sql` divides by it too. */
const WRITERS = 1024;

/**
 * Takes the next number of the writer that no publish has had, not even one that was killed: its rows must never become visible.
 * @param last the last publish of any writer
 */
async function claimNumber(store: LakeStore, last: number, writer: number, now: Date): Promise<number> {
  const claim = `${JSON.stringify({ startedAt: now.toISOString() })}\n`;
  for (let publish = (Math.floor(last / WRITERS) + 1) * WRITERS + writer; ; publish += WRITERS) {
    if ((await createOrRead(store, claimPath(publish), claim)) === undefined) return publish;
  }
}

/**
 * Each relation is written and committed before the next one, so that a publish holds the rows of only one. The runs of a shard are
 * left to `tidemark lake close`, which commits those of all shards at once.
 */
async function publishRelations(
  publishing: Publishing,
  relations: readonly Relation[],
  shard: ShardOfRun | undefined,
): Promise<PublishResult> {
  const committed: StagedTable[] = [];
  for (const relation of relations) {
    if (relation.name !== RUNS) committed.push(...(await publishRelation(publishing, relation)));
  }
  const isRepeated = committed.length > 0;
  for (const relation of relations.filter(({ name }) => name === RUNS)) {
    const staged = await stageRelation(publishing, relation, { isRepeated });
    if (shard)
      await stageRuns(
        publishing,
        shard,
        staged,
        committed.flatMap(({ losses }) => losses),
      );
    committed.push(...(shard ? [staged] : await commitRelation(publishing, staged)));
  }
  return {
    publish: committed.length > 0 ? publishing.publish : null,
    as_of: publishing.now,
    tables: committed.map(({ table, adds }) => ({
      table,
      rows: adds.reduce((sum, { tags }) => sum + Number(tags?.rows ?? 0), 0),
      files: adds.length,
      bytes: adds.reduce((sum, { size }) => sum + size, 0),
    })),
  };
}

/** Another publish may describe the table at the same time, as all shards do in their first run: then the relation is written again. */
async function publishRelation(publishing: Publishing, relation: Relation): Promise<readonly StagedTable[]> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await commitRelation(publishing, await stageRelation(publishing, relation));
    } catch (error) {
      if (!(error instanceof ConflictError) || attempt === ATTEMPTS) throw error;
      publishing.reader.remember(changesTable(relation.name));
    }
  }
}

/** Commits the files of a table, in one commit with its new description if it has changed. @throws ConflictError */
async function commitRelation(publishing: Publishing, staged: StagedTable): Promise<readonly StagedTable[]> {
  const { table, snapshot, adds, design } = staged;
  const { metaData, relation } = design;
  if (adds.length === 0 && !metaData) return [];
  const { publish } = publishing;
  await appendToTable(publishing, { table, snapshot, metaData, adds, publish, isExclusive: relation.name === RUNS });
  return [staged];
}
