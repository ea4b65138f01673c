import { randomUUID } from 'node:crypto';
import { TidemarkError } from '../core/errors.ts';
import type { LakeStore } from './store.ts';

/**
 * The log of a Delta table: reader version 1, writer version 2, no optional features
 * (PROTOCOL.md of delta-io/delta: "Actions", "Delta Log Entries", "Checkpoints").
 */

/** A data file of a table. */
export interface AddAction {
  /** Path within the table. */
  readonly path: string;
  readonly partitionValues: Readonly<Record<string, string | null>>;
  readonly size: number;
  readonly modificationTime: number;
  readonly dataChange: boolean;
  /** JSON: `numRecords`, `minValues`, `maxValues`, `nullCount`. */
  readonly stats?: string | null;
  readonly tags?: Readonly<Record<string, string>> | null;
}

interface RemoveAction {
  readonly path: string;
  readonly deletionTimestamp?: number | null;
  readonly dataChange: boolean;
}

export interface DeltaField {
  readonly name: string;
  readonly type: string | { readonly type: 'array'; readonly elementType: string; readonly containsNull: boolean };
  readonly nullable: boolean;
  readonly metadata: Readonly<Record<string, string>>;
}

export interface MetaData {
  readonly id: string;
  readonly name?: string | null;
  readonly description?: string | null;
  readonly format: { readonly provider: string; readonly options: Readonly<Record<string, string>> };
  /** JSON of a struct of `DeltaField`. */
  readonly schemaString: string;
  readonly partitionColumns: readonly string[];
  readonly createdTime?: number | null;
  readonly configuration: Readonly<Record<string, string>>;
}

interface Protocol {
  readonly minReaderVersion: number;
  readonly minWriterVersion: number;
}

/** One line of a commit. */
export interface Action {
  readonly protocol?: Protocol | null;
  readonly metaData?: MetaData | null;
  readonly txn?: { readonly appId: string; readonly version: number; readonly lastUpdated?: number | null } | null;
  readonly add?: AddAction | null;
  readonly remove?: RemoveAction | null;
  readonly commitInfo?: Readonly<Record<string, unknown>> | null;
}

/** A table as of its last commit. */
export interface Snapshot {
  /** -1 if the table does not exist. */
  readonly version: number;
  /** Of the checkpoint that was read; -1 for none. */
  readonly checkpoint: number;
  readonly protocol: Protocol;
  readonly metaData: MetaData | undefined;
  readonly files: ReadonlyMap<string, AddAction>;
  /** Files that an engine has replaced, for example by OPTIMIZE. */
  readonly removed: ReadonlyMap<string, RemoveAction>;
  /** The last version of each application. */
  readonly transactions: ReadonlyMap<string, number>;
}

/** The application of our commits in `txn`. Its version is the number of the publish. */
export const APP_ID = 'tidemark';

export const PROTOCOL: Protocol = { minReaderVersion: 1, minWriterVersion: 2 };

/** Without these, engines delete log files after a month, and Spark refuses times before the last week. */
const KEEP = 'interval 3650 days';

export function newMetaData(
  name: string,
  description: string,
  fields: readonly DeltaField[],
  options: {
    readonly partitionColumns: readonly string[];
    readonly properties: Readonly<Record<string, string>>;
    readonly nowMs: number;
  },
): MetaData {
  return {
    id: randomUUID(),
    name,
    description,
    format: { provider: 'parquet', options: {} },
    schemaString: JSON.stringify({ type: 'struct', fields }),
    partitionColumns: options.partitionColumns,
    createdTime: options.nowMs,
    configuration: {
      'delta.appendOnly': 'true',
      'delta.logRetentionDuration': KEEP,
      'delta.deletedFileRetentionDuration': KEEP,
      ...options.properties,
    },
  };
}

export function parseFields({ schemaString }: MetaData): readonly DeltaField[] {
  return (JSON.parse(schemaString) as { readonly fields: readonly DeltaField[] }).fields;
}

export const logFolder = (table: string): string => `${table}/_delta_log`;

const versionName = (version: number): string => String(version).padStart(20, '0');

export const commitPath = (table: string, version: number): string =>
  `${logFolder(table)}/${versionName(version)}.json`;

export const checkpointPath = (table: string, version: number): string =>
  `${logFolder(table)}/${versionName(version)}.checkpoint.parquet`;

const lastCheckpointPath = (table: string): string => `${logFolder(table)}/_last_checkpoint`;

/** Reads the actions of a checkpoint file. */
export type ReadCheckpoint = (path: string) => Promise<readonly Action[]>;

/**
 * Reads the log of a table: its last checkpoint and the commits after it.
 * @throws TidemarkError DATA if another program has given the table features that we do not know, or a commit cannot be read
 */
export async function readSnapshot(store: LakeStore, table: string, readCheckpoint: ReadCheckpoint): Promise<Snapshot> {
  const checkpoint = await findCheckpoint(store, table);
  const state = emptyState(checkpoint);
  if (checkpoint >= 0) replay(state, await readCheckpoint(checkpointPath(table, checkpoint)));
  for await (const actions of readCommits(store, table, checkpoint + 1)) {
    replay(state, actions);
    state.version += 1;
  }
  if (state.protocol.minReaderVersion > 1 || state.protocol.minWriterVersion > 2) {
    throw new TidemarkError('DATA', `${store.name}/${table}: another program has raised the protocol of the table`, {
      hint: 'Tidemark writes tables of reader version 1 and writer version 2 only: publish to a new lake',
    });
  }
  return state;
}

type MutableState = { -readonly [K in keyof Snapshot]: Snapshot[K] } & {
  readonly files: Map<string, AddAction>;
  readonly removed: Map<string, RemoveAction>;
  readonly transactions: Map<string, number>;
};

function emptyState(checkpoint: number): MutableState {
  return {
    version: checkpoint,
    checkpoint,
    protocol: PROTOCOL,
    metaData: undefined,
    files: new Map(),
    removed: new Map(),
    transactions: new Map(),
  };
}

function replay(state: MutableState, actions: readonly Action[]): void {
  for (const { protocol, metaData, txn, add, remove } of actions) {
    if (protocol) state.protocol = protocol;
    if (metaData) state.metaData = metaData;
    if (txn) state.transactions.set(txn.appId, Number(txn.version));
    if (add) {
      state.files.set(add.path, add);
      state.removed.delete(add.path);
    }
    if (remove) {
      state.files.delete(remove.path);
      state.removed.set(remove.path, remove);
    }
  }
}

/** The table after a commit that directly follows it; undefined if there were others in between. */
export function applyCommit(before: Snapshot, version: number, actions: readonly Action[]): Snapshot | undefined {
  if (version !== before.version + 1) return undefined;
  const state: MutableState = {
    ...before,
    version,
    files: new Map(before.files),
    removed: new Map(before.removed),
    transactions: new Map(before.transactions),
  };
  replay(state, actions);
  return state;
}

/** The version of the last checkpoint in one file, -1 for none: what another program wrote in several parts is not used. */
async function findCheckpoint(store: LakeStore, table: string): Promise<number> {
  const text = await readIfPresent(store, lastCheckpointPath(table));
  if (text === undefined) return -1;
  const { version, parts, v2Checkpoint } = parseLine(store, lastCheckpointPath(table), text) as Record<string, unknown>;
  return Number.isSafeInteger(version) && parts === undefined && v2Checkpoint === undefined ? Number(version) : -1;
}

/** Commits that are read at the same time: of a store over a network, each takes a round trip. */
const READ_AHEAD = 16;

/** The commits of a table from a version on. The number that is read at the same time doubles, since most logs are short. */
async function* readCommits(
  store: LakeStore,
  table: string,
  from: number,
): AsyncGenerator<readonly Action[], void, undefined> {
  let version = from;
  for (let count = 1; ; count = Math.min(2 * count, READ_AHEAD)) {
    const versions = Array.from({ length: count }, (_, index) => version + index);
    for (const actions of await Promise.all(versions.map((one) => readCommit(store, table, one)))) {
      if (actions === undefined) return;
      yield actions;
    }
    version += count;
  }
}

/** @returns undefined if there is no such commit */
export async function readCommit(
  store: LakeStore,
  table: string,
  version: number,
): Promise<readonly Action[] | undefined> {
  const path = commitPath(table, version);
  const text = await readIfPresent(store, path);
  if (text === undefined) return undefined;
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  if (lines.length === 0) throw unreadable(store, path);
  return lines.map((line) => parseLine(store, path, line) as Action);
}

async function readIfPresent(store: LakeStore, path: string): Promise<string | undefined> {
  try {
    return await store.read(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

function parseLine(store: LakeStore, path: string, line: string): unknown {
  try {
    return JSON.parse(line);
  } catch (cause) {
    throw unreadable(store, path, cause);
  }
}

function unreadable(store: LakeStore, path: string, cause?: unknown): TidemarkError {
  return new TidemarkError('DATA', `${store.name}/${path} is not a commit of a Delta table`, {
    hint: 'restore the file from a backup; without it the table cannot be read',
    ...(cause !== undefined && { cause }),
  });
}

/** Names a checkpoint that exists as the last one. */
export async function putLastCheckpoint(
  store: LakeStore,
  table: string,
  checkpoint: { readonly version: number; readonly size: number; readonly numOfAddFiles: number },
): Promise<void> {
  await store.put(lastCheckpointPath(table), `${JSON.stringify(checkpoint)}\n`);
}
