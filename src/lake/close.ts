import { setTimeout as sleep } from 'node:timers/promises';
import pLimit from 'p-limit';
import { z } from 'zod';
import type { Shard } from '../config/config.ts';
import { DAY_MS } from '../core/clock.ts';
import { TidemarkError } from '../core/errors.ts';
import { ignoreMissing } from '../core/fs.ts';
import { tryParseJson } from '../core/json.ts';
import { plural } from '../core/plural.ts';
import { isMassLoss } from '../load/judge.ts';
import { compactLake } from './data-files.ts';
import { addAction, metaData } from './delta-log.ts';
import { targetLoss } from './difference.ts';
import { type Lake, READ_AHEAD, retryConflicts } from './log.ts';
import { appendToTable, createLakeReader, createTableView, dataPath, type LakeReader, viewRuns } from './reader.ts';
import { WRITERS, writeStatement } from './statements.ts';
import type { LakeStore, StoredFile } from './store.ts';
import { changesTable, PULL_FIELDS, RUNS_TABLE } from './table.ts';

export interface ShardOfRun extends Shard {
  /** The name of the run, the same for all shards. */
  readonly run: string;
}

/** What a shard has published, and readers do not see before its runs are committed. */
const stagedShard = z.object({
  shard: z.number(),
  shards: z.number(),
  publish: z.number(),
  /** Time of the last run of the shard, ISO 8601. */
  as_of: z.string(),
  /** Rows of targets that have come to the shard, which its warehouse never had; an earlier version does not say. */
  losses: z.array(targetLoss).readonly().optional(),
  /** The changes of `runs`; an earlier version has its state as well. */
  tables: z.array(z.object({ table: z.string(), adds: z.array(addAction).readonly(), metaData: metaData.nullable() })),
});
type StagedShard = Readonly<z.infer<typeof stagedShard>>;

const RUN_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/u;

/** The name of a run: by default, the date in UTC. @throws TidemarkError USAGE for a name that is not one of a folder */
export function nameRun(now: Date, run = now.toISOString().slice(0, 10)): string {
  if (RUN_NAME.test(run)) return run;
  throw new TidemarkError('USAGE', `${JSON.stringify(run)} is not the name of a run`, {
    hint: 'give `--run` or TIDEMARK_RUN letters, digits, `.`, `_` and `-`, such as 2026-11-22',
  });
}

const SHARDS = '_shards';
const runFolder = (run: string): string => `${SHARDS}/${run}`;
const stagedPath = ({ run, index, count }: ShardOfRun): string => `${runFolder(run)}/${index}-of-${count}.json`;

/** Records what a shard has published, for `tidemark lake close`. A later publish of the shard for the same run replaces it. */
export async function writeStagedShard(
  store: LakeStore,
  shard: ShardOfRun,
  content: Omit<StagedShard, 'shard' | 'shards'>,
): Promise<void> {
  const staged: StagedShard = { shard: shard.index, shards: shard.count, ...content };
  await store.put(stagedPath(shard), `${JSON.stringify(staged)}\n`);
}

/** With a database in memory. */
export interface CloseOptions extends Lake {
  readonly run: string;
  readonly shards: number;
  /** Waits so long for shards that have not published. @default 0 */
  readonly waitMs?: number;
  readonly shrinkPercent: number;
  /** Closes shards whose targets lost more rows than `shrinkPercent`. @default false */
  readonly acceptShrink?: boolean;
  readonly signal: AbortSignal;
}

const POLL_MS = 2_000;

/**
 * Makes what the shards of a run have published visible, in one commit. A shard that is missing or refused changes nothing: it can be
 * closed later. Closing twice, or by two processes at once, is harmless.
 */
export async function closeRun(options: CloseOptions) {
  const { waitMs = 0, shards, signal } = options;
  const deadline = performance.now() + waitMs; // a clock that is set back changes nothing
  for (;;) {
    const remaining = deadline - performance.now();
    if ((await listStaged(options)).length === shards || remaining <= 0) break;
    await sleep(Math.min(POLL_MS, remaining), undefined, { signal });
  }
  return retryConflicts(options.store, () => closeOnce(options));
}

async function listStaged({ store, run, shards: count }: CloseOptions): Promise<readonly string[]> {
  const stored = new Set((await store.list(runFolder(run))).map(({ path }) => path));
  const paths = Array.from({ length: count }, (_, index) => stagedPath({ run, index: index + 1, count }));
  return paths.filter((path) => stored.has(path));
}

/** Undefined for a file that is gone or damaged. */
async function findStaged(store: LakeStore, path: string): Promise<StagedShard | undefined> {
  return stagedShard.safeParse(tryParseJson((await store.read(path).catch(ignoreMissing)) ?? '')).data;
}

async function readStaged(store: LakeStore, path: string): Promise<StagedShard> {
  const staged = await findStaged(store, path);
  if (staged) return staged;
  throw new TidemarkError('DATA', `${store.name}/${path} is not what a shard has published`, {
    hint: 'run the shard again',
  });
}

async function closeOnce(options: CloseOptions) {
  const { store, run, shards } = options;
  const staged = await Promise.all((await listStaged(options)).map((path) => readStaged(store, path)));
  const reader = createLakeReader(options);
  await reader.snapshots(); // nothing is added to a lake that is damaged
  const isKnown = await findKnown(reader);
  const due = staged.filter((shard) => !isKnown(shard));
  const refused = due.length > 0 ? await refuseShards(options, reader, due) : [];
  const closed = due.filter(({ shard }) => !refused.some((one) => one.shard === shard));
  if (closed.length > 0) {
    const publish = Math.max(...closed.map((shard) => shard.publish));
    await commitRuns(reader, closed.flatMap(stagedRuns), publish);
    await writeStatement(store, publish, await reader.snapshots());
    await compactLake(reader);
  }
  const known = staged.filter(isKnown);
  const numbers = (all: readonly StagedShard[]) => all.map(({ shard }) => shard);
  const present = new Set(numbers(staged));
  const missing = Array.from({ length: shards }, (_, index) => index + 1).filter((shard) => !present.has(shard));
  return {
    run,
    /** Shards that readers see from now on. */
    closed: numbers(closed),
    /** Shards of which an earlier close has committed this publish, or a later one, which has all of it. */
    known: numbers(known),
    /** Shards that have not published: their targets stay as they were, and are stale. */
    missing,
    /** Shards that stay invisible, and why. */
    refused,
  };
}

/**
 * Which shards readers see already. A publish is made of what readers saw then: behind a later one of the same writer it would bring back
 * rows that have ended since.
 */
async function findKnown(reader: LakeReader): Promise<(staged: StagedShard) => boolean> {
  await viewRuns(reader);
  const rows = await reader.database.rows(reader.files.read('lake/publishes'));
  const seen = rows.map((row) => Number(row.publish));
  return ({ publish }) => seen.some((other) => other % WRITERS === publish % WRITERS && other >= publish);
}

/**
 * Shards whose files are gone, of which another shard has pulled a target since, or to which targets have come that lost so many rows that a
 * fault is more likely than a change.
 */
async function refuseShards(
  { store, shrinkPercent, acceptShrink = false }: CloseOptions,
  reader: LakeReader,
  due: readonly StagedShard[],
) {
  const overtaken = await findOvertaken(reader, due);
  const stored = new Set((await store.list(RUNS_TABLE)).map(({ path }) => path));
  return due.flatMap((staged) => {
    const { shard, losses = [] } = staged;
    const gone = stagedPaths(staged).find((path) => !stored.has(path));
    if (gone !== undefined) return [{ shard, why: `its file ${gone} is gone: run the shard again` }];
    const moved = overtaken.get(staged.publish);
    if (moved !== undefined) return [{ shard, why: `another shard has pulled ${moved} since: run the shard again` }];
    const loss = acceptShrink ? undefined : losses.find((one) => isMassLoss(one, one, shrinkPercent));
    if (!loss) return [];
    const { target, relation, deleted, held } = loss;
    const rows = `${deleted} of its ${plural(held, 'row')} of ${relation}`;
    return [{ shard, why: `${target} has come from another shard, and ${rows} would go` }];
  });
}

/** A target of each publish that another writer has pulled since. */
async function findOvertaken(reader: LakeReader, due: readonly StagedShard[]): Promise<ReadonlyMap<number, string>> {
  const { database, files } = reader;
  await createTableView(reader, 'lake_pulls', changesTable('pulls'), { fields: PULL_FIELDS });
  const publishes = due.map(({ publish }) => publish).join(', ');
  const rows = await database.rows(files.render('lake/overtaken', { publishes }));
  return new Map(rows.map(({ publish, target }) => [Number(publish), String(target)]));
}

const stagedRuns = ({ tables }: StagedShard) => tables.filter(({ table }) => table === RUNS_TABLE);

const stagedPaths = (staged: StagedShard): readonly string[] =>
  stagedRuns(staged).flatMap(({ table, adds }) => adds.map(({ path }) => dataPath(table, path)));

/** Until then, closing a run once more tells its shards as closed. */
const KEPT_MS = 32 * DAY_MS;

/**
 * What shards have published. `due`: the files of runs that readers do not see, which no log names before they are closed. `closed`: what they
 * have seen for so long that nobody closes it again.
 */
export async function listShardFiles(reader: LakeReader) {
  const { store, nowMs } = reader;
  const files = await store.list(SHARDS);
  const isKnown = files.length > 0 ? await findKnown(reader) : () => true;
  const [due, closed] = [new Set<string>(), [] as StoredFile[]];
  const read = async (file: StoredFile) => ({ file, staged: await findStaged(store, file.path) });
  for (const { file, staged } of await pLimit(READ_AHEAD).map(files, read)) {
    if (staged && !isKnown(staged)) for (const path of stagedPaths(staged)) due.add(path);
    else if (staged && file.modifiedMs <= nowMs - KEPT_MS) closed.push(file);
  }
  return { due, closed };
}

/** Commits the runs of all shards in one commit. @throws ConflictError if another process has closed meanwhile */
async function commitRuns(reader: LakeReader, staged: StagedShard['tables'], publish: number): Promise<void> {
  const { metaData: held } = await reader.snapshot(RUNS_TABLE);
  // The description of the last shard that has one; a table keeps its identity.
  const last = staged.findLast(({ metaData }) => metaData)?.metaData;
  const isNew = last && last.schemaString !== held?.schemaString;
  const metaData = isNew ? { ...last, ...(held && { id: held.id, createdTime: held.createdTime }) } : undefined;
  await appendToTable(reader, { table: RUNS_TABLE, adds: staged.flatMap(({ adds }) => adds), metaData }, publish);
}
