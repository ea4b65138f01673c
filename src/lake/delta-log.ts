import { randomUUID } from 'node:crypto';

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
    partitionColumns: [],
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

export const lastCheckpointPath = (table: string): string => `${logFolder(table)}/_last_checkpoint`;

/** A table, or one of its files, in messages. */
export const describePlace = (table: string, file: string): string => (file === '' ? table : `${table}/${file}`);

/** A table while its log is replayed. */
export type MutableState = { -readonly [K in keyof Snapshot]: Snapshot[K] } & {
  readonly files: Map<string, AddAction>;
  readonly removed: Map<string, RemoveAction>;
  readonly transactions: Map<string, number>;
};

export function emptyState(checkpoint: number): MutableState {
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

export function replay(state: MutableState, actions: readonly Action[]): void {
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

/** @returns undefined for a text that is no commit: half of one, or none */
export function parseActions(text: string): readonly Action[] | undefined {
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  try {
    return lines.length > 0 ? lines.map((line) => JSON.parse(line) as Action) : undefined;
  } catch {
    return undefined;
  }
}
