import { appendCommit, findPublish } from './append-commit.ts';
import { checkpointIfDue } from './checkpoint.ts';
import {
  type Action,
  type AddAction,
  APP_ID,
  applyCommit,
  type MetaData,
  PROTOCOL,
  type Snapshot,
} from './delta-log.ts';
import type { LakeReader } from './reader.ts';

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
  { reader, nowMs }: CommitContext,
  { table, snapshot, metaData, adds, publish, isExclusive }: TableCommit,
): Promise<void> {
  if (adds.length === 0 && !metaData) return;
  const { store, database, files } = reader;
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
  reader.remember(table, after);
  if (after) await checkpointIfDue(store, database, files, table, after);
}

interface CommitContext {
  readonly reader: LakeReader;
  readonly nowMs: number;
}
