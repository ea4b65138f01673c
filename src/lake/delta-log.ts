import { z } from 'zod';
import { tryParseJson } from '../core/json.ts';

/**
 * The log of a Delta table: reader version 1, writer version 2, no optional features
 * (PROTOCOL.md of delta-io/delta: "Actions", "Delta Log Entries", "Checkpoints").
 */

/** A text with JSON of this form. */
const jsonText = (form: z.ZodType) => z.string().refine((text) => form.safeParse(tryParseJson(text)).success);

const texts = z.record(z.string(), z.string());

/** A path within the table, as a URI; none that a file cannot have. */
const isWithin = (path: string): boolean => {
  const decoded = decodePath(path);
  return decoded !== undefined && !decoded.includes('\0') && !decoded.split('/').includes('..');
};

/** A data file of a table. */
export const addAction = z.object({
  path: z.string().refine(isWithin),
  partitionValues: z.record(z.string(), z.string().nullable()).nullish(),
  size: z.number(),
  modificationTime: z.number(),
  dataChange: z.boolean(),
  /** JSON: `numRecords`, `minValues`, `maxValues`, `nullCount`. */
  stats: jsonText(z.object({ numRecords: z.number().optional() })).nullish(),
  tags: texts.nullish(),
});
export type AddAction = Readonly<z.infer<typeof addAction>>;

const removeAction = z.object({
  path: z.string().refine(isWithin),
  deletionTimestamp: z.number().nullish(),
  dataChange: z.boolean(),
});
type RemoveAction = Readonly<z.infer<typeof removeAction>>;

/** A type is a name, or an object for a nested one. */
const deltaField = z.object({
  name: z.string(),
  type: z.union([z.string(), z.looseObject({ type: z.string() })]),
  nullable: z.boolean(),
  metadata: z.record(z.string(), z.unknown()),
});
export type DeltaField = Readonly<z.infer<typeof deltaField>>;

export const metaData = z.object({
  id: z.string(),
  name: z.string().nullish(),
  description: z.string().nullish(),
  format: z.object({ provider: z.string(), options: texts }),
  /** JSON of a struct of `DeltaField`. */
  schemaString: jsonText(z.object({ fields: z.array(deltaField) })),
  partitionColumns: z.array(z.string()),
  createdTime: z.number().nullish(),
  configuration: texts,
});
export type MetaData = Readonly<z.infer<typeof metaData>>;

const protocol = z.object({ minReaderVersion: z.number(), minWriterVersion: z.number() });

/** One line of a commit. */
const action = z.object({
  protocol: protocol.nullish(),
  metaData: metaData.nullish(),
  txn: z.object({ appId: z.string(), version: z.number(), lastUpdated: z.number().nullish() }).nullish(),
  add: addAction.nullish(),
  remove: removeAction.nullish(),
  commitInfo: z.record(z.string(), z.unknown()).nullish(),
});
export type Action = Readonly<z.infer<typeof action>>;

/** The application of our commits in `txn`. Its version is the number of the publish. */
export const APP_ID = 'tidemark';

export const PROTOCOL = { minReaderVersion: 1, minWriterVersion: 2 };

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

/** A table as of its last commit. */
export interface Snapshot {
  /** -1 if the table does not exist. */
  readonly version: number;
  /** Of the checkpoint that was read; -1 for none. */
  readonly checkpoint: number;
  readonly protocol: z.infer<typeof protocol>;
  readonly metaData: MetaData | undefined;
  readonly files: ReadonlyMap<string, AddAction>;
  /** Files that an engine has replaced, for example by OPTIMIZE. */
  readonly removed: ReadonlyMap<string, RemoveAction>;
  /** The last version of each application. */
  readonly transactions: ReadonlyMap<string, number>;
}

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
    if (txn) transactions.set(txn.appId, txn.version);
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

/** The path of a file, of which a log or a list has the URI; undefined for what is none. */
export function decodePath(path: string): string | undefined {
  try {
    return decodeURIComponent(path);
  } catch {
    return undefined;
  }
}

/** @returns undefined for a text that is no commit: half of one, none, or other JSON */
export function parseActions(text: string): readonly Action[] | undefined {
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  const { data } = z.array(action).min(1).safeParse(lines.map(tryParseJson));
  return data;
}
