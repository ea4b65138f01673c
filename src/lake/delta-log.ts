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

/** The description of a new table, whose fields and properties are set with it. */
export function newMetaData(name: string, description: string, nowMs: number): MetaData {
  return {
    id: randomUUID(),
    name,
    description,
    format: { provider: 'parquet', options: {} },
    schemaString: '',
    partitionColumns: [],
    createdTime: nowMs,
    configuration: {
      'delta.appendOnly': 'true',
      'delta.logRetentionDuration': KEEP,
      'delta.deletedFileRetentionDuration': KEEP,
    },
  };
}

export const toSchemaString = (fields: readonly DeltaField[]): string => JSON.stringify({ type: 'struct', fields });

export function parseFields(metaData: MetaData | undefined): readonly DeltaField[] {
  return metaData ? (JSON.parse(metaData.schemaString) as { readonly fields: readonly DeltaField[] }).fields : [];
}

export const logFolder = (table: string): string => `${table}/_delta_log`;

const versionName = (version: number): string => String(version).padStart(20, '0');

export const commitPath = (table: string, version: number): string =>
  `${logFolder(table)}/${versionName(version)}.json`;

export const checkpointPath = (table: string, version: number): string =>
  `${logFolder(table)}/${versionName(version)}.checkpoint.parquet`;

export const lastCheckpointPath = (table: string): string => `${logFolder(table)}/_last_checkpoint`;

export const NO_TABLE: Snapshot = {
  version: -1,
  checkpoint: -1,
  protocol: PROTOCOL,
  metaData: undefined,
  files: new Map(),
  removed: new Map(),
  transactions: new Map(),
};

/** The table after more actions, which end with those of `version`. */
export function replay(before: Snapshot, version: number, actions: readonly Action[]): Snapshot {
  const files = new Map(before.files);
  const removed = new Map(before.removed);
  const transactions = new Map(before.transactions);
  for (const { txn, add, remove } of actions) {
    if (txn) transactions.set(txn.appId, Number(txn.version));
    if (add) {
      files.set(add.path, add);
      removed.delete(add.path);
    }
    if (remove) {
      files.delete(remove.path);
      removed.set(remove.path, remove);
    }
  }
  const protocol = actions.findLast((action) => action.protocol)?.protocol ?? before.protocol;
  const metaData = actions.findLast((action) => action.metaData)?.metaData ?? before.metaData;
  return { ...before, version, protocol, metaData, files, removed, transactions };
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
