import { randomUUID } from 'node:crypto';
import { TidemarkError } from '../core/errors.ts';
import { ignoreMissing } from '../core/fs.ts';
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

/** Reads the actions of a checkpoint file. */
export type ReadCheckpoint = (path: string) => Promise<readonly Action[]>;

/** Receives each problem of a file of a table, or of the table itself (an empty name). Unless it throws, the rest is read. */
export type ReportProblem = (file: string, problem: string) => void;

/**
 * Reads the log of a table: its last checkpoint and the commits after it, which the store lists. A commit that is asked for and not there
 * would be taken for the end of the log.
 * @param report by default a problem is an error
 * @throws TidemarkError DATA if another program has given the table features that we do not know
 */
export async function readSnapshot(
  store: LakeStore,
  table: string,
  readCheckpoint: ReadCheckpoint,
  report: ReportProblem = (file, problem) => {
    throw damagedError(store, describePlace(table, file), problem);
  },
): Promise<Snapshot> {
  const state = await readBegin(store, table, readCheckpoint, report);
  const listed = await listVersions(store, table, state.checkpoint);
  reportGaps(listed, state.checkpoint + 1, report);
  for (let start = 0; start < listed.length; start += READ_AHEAD) {
    const versions = listed.slice(start, start + READ_AHEAD);
    for (const actions of await Promise.all(versions.map((version) => readCommit(store, table, version, report)))) {
      replay(state, actions);
    }
  }
  state.version = listed.at(-1) ?? state.checkpoint;
  if (state.protocol.minReaderVersion > 1 || state.protocol.minWriterVersion > 2) {
    throw new TidemarkError('DATA', `${store.name}/${table}: another program has raised the protocol of the table`, {
      hint: 'Tidemark writes tables of reader version 1 and writer version 2 only: publish to a new lake',
    });
  }
  return state;
}

export const describePlace = (table: string, file: string): string => (file === '' ? table : `${table}/${file}`);

export function damagedError({ name }: LakeStore, place: string, problem: string): TidemarkError {
  return new TidemarkError('DATA', `${name}/${place} ${problem}`, {
    hint: '`tidemark lake verify` names all that is damaged; bring it back from a copy of the lake',
  });
}

/** The table as of its last checkpoint. One that is damaged is left out: the commits before it are there. */
async function readBegin(
  store: LakeStore,
  table: string,
  readCheckpoint: ReadCheckpoint,
  report: ReportProblem,
): Promise<MutableState> {
  const version = await findCheckpoint(store, table, report);
  const state = emptyState(version);
  if (version < 0) return state;
  const path = checkpointPath(table, version);
  try {
    replay(state, await readCheckpoint(path));
    return state;
  } catch (error) {
    if (error instanceof TidemarkError && error.code !== 'DATA') throw error;
    report(logName(path), 'is missing or damaged');
    return emptyState(-1);
  }
}

/** Commits that are read at the same time: of a store over a network, each takes a round trip. */
const READ_AHEAD = 16;

/** The versions of a table after one, in order. */
async function listVersions(store: LakeStore, table: string, after: number): Promise<readonly number[]> {
  const from = after < 0 ? undefined : commitPath(table, after);
  const listed = await store.list(logFolder(table), from);
  return listed.map(({ path }) => COMMIT.exec(path)?.[1]).flatMap((name) => (name === undefined ? [] : [Number(name)]));
}

const COMMIT = /\/(\d{20})\.json$/u;

/** A log has every version: what is missing was removed, with the rows that it named. */
function reportGaps(versions: readonly number[], first: number, report: ReportProblem): void {
  let expected = first;
  for (const version of versions) {
    if (version > expected) report('', `lacks version ${describeRange(expected, version - 1)} of its log`);
    expected = version + 1;
  }
}

const describeRange = (from: number, to: number): string => (from === to ? String(from) : `${from} to ${to}`);

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
async function findCheckpoint(store: LakeStore, table: string, report: ReportProblem): Promise<number> {
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

async function readCommit(
  store: LakeStore,
  table: string,
  version: number,
  report: ReportProblem,
): Promise<readonly Action[]> {
  const path = commitPath(table, version);
  const actions = parseActions((await store.read(path).catch(ignoreMissing)) ?? '');
  if (!actions) report(logName(path), 'is not a commit');
  return actions ?? [];
}

/** The path of a file of a log within its table. */
const logName = (path: string): string => path.slice(path.indexOf('/') + 1);

/** @returns undefined for a text that is no commit: half of one, or none */
export function parseActions(text: string): readonly Action[] | undefined {
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  try {
    return lines.length > 0 ? lines.map((line) => JSON.parse(line) as Action) : undefined;
  } catch {
    return undefined;
  }
}
