import { rm, writeFile } from 'node:fs/promises';
import { quoteLiteral } from '../warehouse/sql-files.ts';
import {
  type Action,
  type AddAction,
  APP_ID,
  applyCommit,
  checkpointPath,
  commitPath,
  lastCheckpointPath,
  type MetaData,
  PROTOCOL,
  parseActions,
  type Snapshot,
} from './delta-log.ts';
import type { LakeReader, LakeWriter } from './reader.ts';
import { createOrRead, type LakeStore } from './store.ts';

/** The table has a commit that the caller has not read and must take into account. */
export class ConflictError extends Error {
  constructor(readonly table: string) {
    super(`another publish has committed to ${table}`);
    this.name = 'ConflictError';
  }
}

interface CommitOptions {
  /** The version that the caller has read. */
  readonly after: number;
  /** The commits in between that the caller must take into account. @default those that change the metadata, if this one does */
  readonly conflicts?: (actions: readonly Action[]) => boolean;
}

/**
 * Appends a commit. If another program has committed in between, the next version is tried. A repeat is harmless: a commit of the same
 * publish that is already there counts as this one.
 * @throws ConflictError for a commit in between that `conflicts` names
 * @returns the version
 */
export async function appendCommit(
  store: LakeStore,
  table: string,
  actions: readonly Action[],
  { after, conflicts = definesTable(actions) ? definesTable : () => false }: CommitOptions,
): Promise<number> {
  const text = `${actions.map((action) => JSON.stringify(action)).join('\n')}\n`;
  const publish = findPublish(actions);
  for (let version = after + 1; ; version++) {
    const path = commitPath(table, version);
    const existing = await createOrRead(store, path, text);
    if (existing === undefined) return version;
    const other = parseActions(existing) ?? [];
    if (publish !== undefined && findPublish(other) === publish) return version;
    if (conflicts(other)) throw new ConflictError(table);
  }
}

const definesTable = (actions: readonly Action[]): boolean => actions.some(({ metaData }) => metaData);

/** The number of the publish that made a commit; undefined for one of another program. */
export function findPublish(actions: readonly Action[]): number | undefined {
  return actions.find(({ txn }) => txn?.appId === APP_ID)?.txn?.version;
}

/** What a commit changes. */
interface Change {
  readonly table: string;
  /** The table as the caller has read it. */
  readonly snapshot: Snapshot;
}

/** What a publish adds to a table. */
export interface TableCommit extends Change {
  /** The new description; undefined if the table has it already. */
  readonly metaData: MetaData | undefined;
  readonly adds: readonly AddAction[];
  readonly publish: number;
  /** Another publish in between is a conflict. @default only one that describes the table too */
  readonly isExclusive: boolean;
}

/** Commits what a publish adds to a table. Does nothing without files and description. @throws ConflictError */
export async function appendToTable(
  { reader, nowMs }: LakeWriter,
  { metaData, adds, publish, isExclusive, ...change }: TableCommit,
): Promise<void> {
  if (adds.length === 0 && !metaData) return;
  const operation = { operation: 'WRITE', operationParameters: { mode: 'Append' }, isBlindAppend: true };
  const actions: readonly Action[] = [
    { commitInfo: { timestamp: nowMs, ...operation } },
    ...(change.snapshot.version < 0 ? [{ protocol: PROTOCOL }] : []),
    ...(metaData ? [{ metaData }] : []),
    { txn: { appId: APP_ID, version: publish, lastUpdated: nowMs } },
    ...adds.map((add) => ({ add })),
  ];
  await commit(reader, change, actions, isExclusive ? (other) => findPublish(other) !== undefined : undefined);
}

/** Commits actions to a table, remembers it as it is then, and writes a checkpoint if one is due. @throws ConflictError */
export async function commit(
  reader: LakeReader,
  { table, snapshot }: Change,
  actions: readonly Action[],
  conflicts?: CommitOptions['conflicts'],
): Promise<void> {
  const options = { after: snapshot.version, ...(conflicts && { conflicts }) };
  const after = applyCommit(snapshot, await appendCommit(reader.store, table, actions, options), actions);
  reader.remember(table, after);
  if (after) await checkpointIfDue(reader, table, after);
}

/** Commits between two checkpoints: a reader reads at most so many files of JSON. */
const COMMITS = 100;

/** Writes a checkpoint of a table if the last one is old. The commits that it contains stay. */
export async function checkpointIfDue(
  { store, database, files }: Pick<LakeReader, 'store' | 'database' | 'files'>,
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
