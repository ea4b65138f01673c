import { rm, writeFile } from 'node:fs/promises';
import { TidemarkError } from '../core/errors.ts';
import { ignoreMissing } from '../core/fs.ts';
import type { Database } from '../warehouse/database.ts';
import { quoteLiteral, type SqlFiles } from '../warehouse/sql-files.ts';
import {
  type Action,
  APP_ID,
  checkpointPath,
  commitPath,
  lastCheckpointPath,
  logFolder,
  NO_TABLE,
  parseActions,
  replay,
  type Snapshot,
} from './delta-log.ts';
import { createOrRead, type LakeStore } from './store.ts';

/** What a lake is read and written with. */
export interface Lake {
  readonly store: LakeStore;
  readonly database: Database;
  readonly files: SqlFiles;
}

/** The log of a table. */
export interface TableLog extends Lake {
  readonly table: string;
  /** Receives each problem of a file of the table, or of the table itself (an empty name). Unless it throws, the rest is read. */
  report(file: string, problem: string): void;
}

/** Commits that are read at the same time: of a store over a network, each takes a round trip. */
const READ_AHEAD = 16;

/**
 * Reads the log of a table: its last checkpoint and the commits after it, which the store lists. A commit that is asked for and not there
 * would be taken for the end of the log.
 * @throws TidemarkError DATA if another program has given the table features that we do not know
 */
export async function readSnapshot(log: TableLog): Promise<Snapshot> {
  const begin = await readBegin(log);
  const versions = await listVersions(log, begin.version);
  reportGaps(log, versions, begin.version + 1);
  const actions: Action[] = [];
  for (let start = 0; start < versions.length; start += READ_AHEAD) {
    const ahead = versions.slice(start, start + READ_AHEAD).map((version) => readCommit(log, version));
    actions.push(...(await Promise.all(ahead)).flat());
  }
  const snapshot = replay(begin, versions.at(-1) ?? begin.version, actions);
  const { minReaderVersion, minWriterVersion } = snapshot.protocol;
  if (minReaderVersion <= 1 && minWriterVersion <= 2) return snapshot;
  const what = `${log.store.name}/${log.table}: another program has raised the protocol of the table`;
  throw new TidemarkError('DATA', what, {
    hint: 'Tidemark writes tables of reader version 1 and writer version 2 only: publish to a new lake',
  });
}

export function damagedError({ name }: LakeStore, place: string, problem: string): TidemarkError {
  return new TidemarkError('DATA', `${name}/${place} ${problem}`, {
    hint: '`tidemark lake verify` names all that is damaged; bring it back from a copy of the lake',
  });
}

/** The table as of its last checkpoint. One that is damaged is left out: the commits before it are there. */
async function readBegin(log: TableLog): Promise<Snapshot> {
  const version = await findCheckpoint(log);
  if (version < 0) return NO_TABLE;
  const path = checkpointPath(log.table, version);
  try {
    const file = quoteLiteral(await log.store.locate(path));
    const rows = await log.database.rows(await log.files.render('lake/read_checkpoint', { file }));
    const actions = rows.map(({ action }) => JSON.parse(String(action)) as Action);
    return replay({ ...NO_TABLE, checkpoint: version }, version, actions);
  } catch (error) {
    if (error instanceof TidemarkError && error.code !== 'DATA') throw error;
    log.report(logName(path), 'is missing or damaged');
    return NO_TABLE;
  }
}

/** The version of the last checkpoint in one file, -1 for none: what another program wrote in several parts is not used. */
async function findCheckpoint({ store, table, report }: TableLog): Promise<number> {
  const path = lastCheckpointPath(table);
  const text = await store.read(path).catch(ignoreMissing);
  if (text === undefined) return -1;
  try {
    const { version, parts, v2Checkpoint } = JSON.parse(text) as Record<string, unknown>;
    const isOurs = Number.isSafeInteger(version) && parts === undefined && v2Checkpoint === undefined;
    return isOurs ? Number(version) : -1;
  } catch {
    report(logName(path), 'is not JSON');
    return -1;
  }
}

/** The versions of a table after one, in order. */
async function listVersions({ store, table }: TableLog, after: number): Promise<readonly number[]> {
  const listed = await store.list(logFolder(table), after < 0 ? undefined : commitPath(table, after));
  return listed.flatMap(({ path }) => COMMIT.exec(path)?.[1] ?? []).map(Number);
}

const COMMIT = /\/(\d{20})\.json$/u;

/** A log has every version: what is missing was removed, with the rows that it named. */
function reportGaps({ report }: TableLog, versions: readonly number[], first: number): void {
  let expected = first;
  for (const version of versions) {
    const last = version - 1;
    if (last === expected) report('', `lacks version ${last} of its log`);
    else if (last > expected) report('', `lacks version ${expected} to ${last} of its log`);
    expected = version + 1;
  }
}

async function readCommit({ store, table, report }: TableLog, version: number): Promise<readonly Action[]> {
  const path = commitPath(table, version);
  const actions = parseActions((await store.read(path).catch(ignoreMissing)) ?? '');
  if (!actions) report(logName(path), 'is not a commit');
  return actions ?? [];
}

/** The path of a file of a log within its table. */
const logName = (path: string): string => path.slice(path.indexOf('/') + 1);

/** The table has a commit that the caller has not read and must take into account. */
export class ConflictError extends Error {
  constructor(readonly table: string) {
    super(`another publish has committed to ${table}`);
    this.name = 'ConflictError';
  }
}

/** Begins again when another program has committed in between. @throws ConflictError after so many attempts in a row */
export async function retryConflicts<T>(attempts: number, work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof ConflictError) || attempt === attempts) throw error;
    }
  }
}

/** Whether the commit of another program in between must be taken into account. */
export type Conflicts = (actions: readonly Action[]) => boolean;

const definesTable: Conflicts = (actions) => actions.some(({ metaData }) => metaData);

/**
 * Appends a commit to the log of a table of which the caller has read version `after`. If another program has committed in between, the
 * next version is tried. A repeat is harmless: a commit with the same content that is already there counts as this one.
 * @param conflicts @default a commit that changes the metadata, if this one does
 * @throws ConflictError
 * @returns the version
 */
export async function appendCommit(
  store: LakeStore,
  table: string,
  after: number,
  actions: readonly Action[],
  conflicts: Conflicts = (other) => definesTable(actions) && definesTable(other),
): Promise<number> {
  const text = `${actions.map((action) => JSON.stringify(action)).join('\n')}\n`;
  for (let version = after + 1; ; version++) {
    const existing = await createOrRead(store, commitPath(table, version), text);
    if (existing === undefined || existing === text) return version;
    if (conflicts(parseActions(existing) ?? [])) throw new ConflictError(table);
  }
}

/** The number of the publish that made a commit; undefined for one of another program. */
export function findPublish(actions: readonly Action[]): number | undefined {
  return actions.find(({ txn }) => txn?.appId === APP_ID)?.txn?.version;
}

/** Commits between two checkpoints: a reader reads at most so many files of JSON. */
const COMMITS = 100;

/** Writes a checkpoint of a table if the last one is old. The commits that it contains stay. */
export async function checkpointIfDue(
  { store, database, files }: Lake,
  table: string,
  snapshot: Snapshot,
): Promise<void> {
  const { version, checkpoint, metaData, files: added } = snapshot;
  if (version - checkpoint < COMMITS || !metaData) return;
  const actions = checkpointActions(snapshot);
  const [json, parquet] = [await store.scratch(), await store.scratch()];
  try {
    await writeFile(json, actions.map((action) => JSON.stringify(action)).join('\n'));
    const parts = { actions: quoteLiteral(json), file: quoteLiteral(parquet) };
    await database.run(await files.render('lake/write_checkpoint', parts));
    await store.putFile(checkpointPath(table, version), parquet);
  } finally {
    await rm(json, { force: true });
    await rm(parquet, { force: true });
  }
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
