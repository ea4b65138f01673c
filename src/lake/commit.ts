import { rm, writeFile } from 'node:fs/promises';
import type { Database } from '../warehouse/database.ts';
import { quoteLiteral, type SqlFiles } from '../warehouse/sql-files.ts';
import { appendCommit, findPublish } from './append-commit.ts';
import {
  type Action,
  type AddAction,
  APP_ID,
  applyCommit,
  checkpointPath,
  type MetaData,
  PROTOCOL,
  putLastCheckpoint,
  type Snapshot,
} from './delta-log.ts';
import type { LakeStore } from './store.ts';

/** Commits between two checkpoints: a reader reads at most so many files of JSON. */
const COMMITS = 100;

/** The actions of a checkpoint file. */
export async function readCheckpointFile(
  database: Database,
  files: SqlFiles,
  file: string,
): Promise<readonly Action[]> {
  const sql = await files.render('lake/read_checkpoint', { file: quoteLiteral(file) });
  const rows = await database.rows(sql);
  return rows.map(({ action }) => JSON.parse(String(action)) as Action);
}

/** Writes a checkpoint of a table if the last one is old. The commits that it contains stay. */
export async function checkpointIfDue(
  store: LakeStore,
  database: Database,
  files: SqlFiles,
  table: string,
  snapshot: Snapshot,
): Promise<void> {
  if (snapshot.version - snapshot.checkpoint < COMMITS || !snapshot.metaData) return;
  const actions = checkpointActions(snapshot);
  const [json, parquet] = [await store.scratch(), await store.scratch()];
  try {
    await writeFile(json, actions.map((action) => JSON.stringify(action)).join('\n'));
    await database.run(
      await files.render('lake/write_checkpoint', { actions: quoteLiteral(json), file: quoteLiteral(parquet) }),
    );
    await store.createFileIfAbsent(checkpointPath(table, snapshot.version), parquet);
  } finally {
    await rm(json, { force: true });
    await rm(parquet, { force: true });
  }
  const { version, files: added } = snapshot;
  await putLastCheckpoint(store, table, { version, size: actions.length, numOfAddFiles: added.size });
}

/** The state of a table as actions; a checkpoint changes no data. */
function checkpointActions({ protocol, metaData, transactions, files, removed }: Snapshot): readonly Action[] {
  return [
    { protocol },
    { metaData: metaData ?? null },
    ...[...transactions].map(([appId, version]) => ({ txn: { appId, version } })),
    ...[...files.values()].map((add) => ({ add: { ...add, dataChange: false } })),
    ...[...removed.values()].map((remove) => ({ remove: { ...remove, dataChange: false } })),
  ];
}

/** What a publish adds to a table. */
export interface TableCommit {
  readonly table: string;
  /** The table as the caller has read it. */
  readonly snapshot: Snapshot;
  /** The new description; undefined if the table has it already. */
  readonly metaData: MetaData | undefined;
  readonly adds: readonly AddAction[];
  readonly publish: number;
  /** Another publish in between is a conflict. @default only one that describes the table too */
  readonly isExclusive: boolean;
}

/** Appends a commit to a table, and a checkpoint if one is due. Does nothing without files and description. @throws ConflictError */
export async function appendToTable(
  { store, database, files, nowMs }: CommitContext,
  { table, snapshot, metaData, adds, publish, isExclusive }: TableCommit,
): Promise<void> {
  if (adds.length === 0 && !metaData) return;
  const operation = { operation: 'WRITE', operationParameters: { mode: 'Append' }, isBlindAppend: true };
  const actions: readonly Action[] = [
    { commitInfo: { timestamp: nowMs, ...operation } },
    ...(snapshot.version < 0 ? [{ protocol: PROTOCOL }] : []),
    ...(metaData ? [{ metaData }] : []),
    { txn: { appId: APP_ID, version: publish, lastUpdated: nowMs } },
    ...adds.map((add) => ({ add })),
  ];
  const version = await appendCommit(store, table, actions, {
    after: snapshot.version,
    ...(isExclusive && { conflicts: (other) => findPublish(other) !== undefined }),
  });
  const after = applyCommit(snapshot, version, actions);
  if (after) await checkpointIfDue(store, database, files, table, after);
}

interface CommitContext {
  readonly store: LakeStore;
  readonly database: Database;
  readonly files: SqlFiles;
  readonly nowMs: number;
}
