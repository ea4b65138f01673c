import { rm, writeFile } from 'node:fs/promises';
import type { Database } from '../warehouse/database.ts';
import { quoteLiteral, type SqlFiles } from '../warehouse/sql-files.ts';
import { type Action, checkpointPath, lastCheckpointPath, type Snapshot } from './delta-log.ts';
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
    await store.putFile(checkpointPath(table, snapshot.version), parquet);
  } finally {
    await rm(json, { force: true });
    await rm(parquet, { force: true });
  }
  const { version, files: added } = snapshot;
  const last = { version, size: actions.length, numOfAddFiles: added.size };
  await store.put(lastCheckpointPath(table), `${JSON.stringify(last)}\n`);
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
