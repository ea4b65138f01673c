import { randomInt } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import pLimit from 'p-limit';
import { z } from 'zod';
import { TidemarkError } from '../core/errors.ts';
import { ignoreMissing } from '../core/fs.ts';
import { tryParseJson } from '../core/json.ts';
import type { OpenWarehouse } from '../warehouse/session.ts';
import { quoteLiteral } from '../warehouse/sql-files.ts';
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
import { RUNS_TABLE } from './table.ts';

/** What a lake is read and written with. */
export interface Lake extends OpenWarehouse {
  readonly store: LakeStore;
  /** The time of what is written, in milliseconds since 1970. */
  readonly nowMs: number;
}

/** What a table lacks. */
export interface LakeProblem {
  readonly table: string;
  /** Empty for a problem of the whole table. */
  readonly file: string;
  readonly problem: string;
}

export const describeProblem = ({ table, file, problem }: LakeProblem): string =>
  `${file === '' ? table : `${table}/${file}`} ${problem}`;

/** Small files that are read at the same time: of a store over a network, each takes a round trip. */
export const READ_AHEAD = 16;

/**
 * Reads the log of a table: its last checkpoint and the commits after it, which the store lists. A commit that is asked for and not there
 * would be taken for the end of the log.
 * @param problems receives what the log lacks: the snapshot is that of the rest
 * @throws TidemarkError DATA if another program has given the table features that we do not know
 */
export async function readLog(lake: Lake, table: string, problems: LakeProblem[]): Promise<Snapshot> {
  const add = (problem: string, path = '') => problems.push({ table, file: path.slice(table.length + 1), problem });
  const begin = await readBegin(lake, table, add);
  const versions = await listVersions(lake, table, begin.version);
  findGaps(versions, begin.version + 1, add);
  const read = (version: number) => readCommit(lake, commitPath(table, version), add);
  const actions = await pLimit(READ_AHEAD).map(versions, read);
  const snapshot = replay(begin, versions.at(-1) ?? begin.version, actions.flat());
  const { minReaderVersion, minWriterVersion } = snapshot.protocol;
  if (minReaderVersion <= 1 && minWriterVersion <= 2) return snapshot;
  const what = `${lake.store.name}/${table}: another program has raised the protocol of the table`;
  throw new TidemarkError('DATA', what, {
    hint: 'Tidemark writes tables of reader version 1 and writer version 2 only: publish to a new lake',
  });
}

export function damagedError({ name }: LakeStore, problem: LakeProblem): TidemarkError {
  return new TidemarkError('DATA', `${name}/${describeProblem(problem)}`, {
    hint: '`tidemark lake verify` names all that is damaged; bring it back from a copy of the lake',
  });
}

type AddProblem = (problem: string, path?: string) => void;

/** The table as of its last checkpoint. One that is damaged is left out: the commits before it are there. */
async function readBegin({ store, database, files }: Lake, table: string, add: AddProblem): Promise<Snapshot> {
  const last = lastCheckpointPath(table);
  const text = await store.read(last).catch(ignoreMissing);
  if (text === undefined) return NO_TABLE;
  const content = tryParseJson(text);
  if (content === undefined) add('is not JSON', last);
  const found = checkpoint.safeParse(content).data;
  if (!found) return NO_TABLE;
  const { version } = found;
  const path = checkpointPath(table, version);
  try {
    const file = quoteLiteral(await store.locate(path));
    const rows = await database.rows(files.render('lake/read_checkpoint', { file }));
    const actions = parseActions(rows.map((row) => String(row.action)).join('\n'));
    if (actions) return replay({ ...NO_TABLE, checkpoint: version }, version, actions);
  } catch (error) {
    if (error instanceof TidemarkError && error.code !== 'DATA') throw error;
  }
  add('is missing or damaged', path);
  return NO_TABLE;
}

/** What another program wrote in several parts is not used. */
const checkpoint = z.object({ version: z.int(), parts: z.never().optional(), v2Checkpoint: z.never().optional() });

/** The versions of a table after one, in order. */
async function listVersions({ store }: Lake, table: string, after: number): Promise<readonly number[]> {
  const listed = await store.list(logFolder(table), after < 0 ? undefined : commitPath(table, after));
  return listed.flatMap(({ path }) => COMMIT.exec(path)?.[1] ?? []).map(Number);
}

const COMMIT = /\/(\d{20})\.json$/u;

/** A log has every version: what is missing was removed, with the rows that it named. */
function findGaps(versions: readonly number[], first: number, add: AddProblem): void {
  let expected = first;
  for (const version of versions) {
    const last = version - 1;
    if (last === expected) add(`lacks version ${last} of its log`);
    else if (last > expected) add(`lacks version ${expected} to ${last} of its log`);
    expected = version + 1;
  }
}

async function readCommit({ store }: Lake, path: string, add: AddProblem): Promise<readonly Action[]> {
  const actions = parseActions((await store.read(path).catch(ignoreMissing)) ?? '');
  if (!actions) add('is not a commit', path);
  return actions ?? [];
}

/** The table has a commit that the caller has not read and must take into account. */
export class ConflictError extends Error {}

/** Publishes that overlap begin again. More than these in a row means that they never end. */
const ATTEMPTS = 20;
const MAX_PAUSE_MS = 500;

/** Begins again when another program has committed in between. @throws TidemarkError LOCKED if others do not end */
export async function retryConflicts<T>({ name }: LakeStore, work: (attempt: number) => Promise<T>): Promise<T> {
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    try {
      return await work(attempt);
    } catch (error) {
      if (!(error instanceof ConflictError)) throw error;
      if (attempt < ATTEMPTS) await sleep(randomInt(MAX_PAUSE_MS));
    }
  }
  throw new TidemarkError('LOCKED', `other publishes to ${name} do not end`, {
    hint: 'let one process publish at a time',
  });
}

/**
 * Appends a commit to the log of a table of which the caller has read version `after`. If another program has committed in between, the
 * next version is tried. A repeat is harmless: a commit with the same content that is already there counts as this one.
 * @throws ConflictError
 * @returns the version
 */
export async function appendCommit(store: LakeStore, table: string, after: number, actions: readonly Action[]) {
  const text = `${actions.map((action) => JSON.stringify(action)).join('\n')}\n`;
  for (let version = after + 1; ; version++) {
    const existing = await createOrRead(store, commitPath(table, version), text);
    if (existing === undefined || existing === text) return version;
    const other = parseActions(existing) ?? [];
    if (isConflict(table, actions, other)) throw new ConflictError(`another publish has committed to ${table}`);
  }
}

/**
 * Whether a commit must take another one in between into account: one that writes a table in a new layout takes every one, one that
 * describes the table or replaces files those that do so too. In `runs`, publishes follow each other.
 */
function isConflict(table: string, own: readonly Action[], other: readonly Action[]): boolean {
  const describes = (actions: readonly Action[]) => actions.some(({ metaData }) => metaData);
  const replaces = (actions: readonly Action[]) => actions.some(({ remove }) => remove);
  const changes = (actions: readonly Action[]) => describes(actions) || replaces(actions);
  const isPublish = (actions: readonly Action[]) => actions.some(({ txn }) => txn?.appId === APP_ID);
  return (
    (describes(own) && replaces(own)) ||
    (changes(own) && changes(other)) ||
    (table === RUNS_TABLE && isPublish(own) && isPublish(other))
  );
}

/** Commits between two checkpoints: a reader reads at most so many files of JSON. */
const COMMITS = 100;

/** Writes a checkpoint of a table if the last one is old. The commits that it contains stay. */
export async function checkpointIfDue({ store, database, files }: Lake, table: string, snapshot: Snapshot) {
  const { version, checkpoint, metaData, files: added } = snapshot;
  if (version - checkpoint < COMMITS || !metaData) return;
  const actions = checkpointActions(snapshot);
  const text = quoteLiteral(JSON.stringify(actions));
  await store.putFile(checkpointPath(table, version), (file) =>
    database.run(files.render('lake/write_checkpoint', { actions: text, file: quoteLiteral(file) })),
  );
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
