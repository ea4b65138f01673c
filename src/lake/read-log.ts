import { TidemarkError } from '../core/errors.ts';
import { ignoreMissing } from '../core/fs.ts';
import type { Database } from '../warehouse/database.ts';
import { quoteLiteral, type SqlFiles } from '../warehouse/sql-files.ts';
import {
  type Action,
  checkpointPath,
  commitPath,
  emptyState,
  lastCheckpointPath,
  logFolder,
  type MutableState,
  parseActions,
  replay,
  type Snapshot,
} from './delta-log.ts';
import type { LakeStore } from './store.ts';

/** The log of a table, and what it is read with. */
export interface TableLog {
  readonly store: LakeStore;
  readonly database: Database;
  readonly files: SqlFiles;
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
  const state = await readBegin(log);
  const listed = await listVersions(log, state.checkpoint);
  reportGaps(log, listed, state.checkpoint + 1);
  for (let start = 0; start < listed.length; start += READ_AHEAD) {
    const versions = listed.slice(start, start + READ_AHEAD);
    for (const actions of await Promise.all(versions.map((version) => readCommit(log, version)))) {
      replay(state, actions);
    }
  }
  state.version = listed.at(-1) ?? state.checkpoint;
  if (state.protocol.minReaderVersion > 1 || state.protocol.minWriterVersion > 2) {
    throw new TidemarkError(
      'DATA',
      `${log.store.name}/${log.table}: another program has raised the protocol of the table`,
      {
        hint: 'Tidemark writes tables of reader version 1 and writer version 2 only: publish to a new lake',
      },
    );
  }
  return state;
}

export function damagedError({ name }: LakeStore, place: string, problem: string): TidemarkError {
  return new TidemarkError('DATA', `${name}/${place} ${problem}`, {
    hint: '`tidemark lake verify` names all that is damaged; bring it back from a copy of the lake',
  });
}

/** The table as of its last checkpoint. One that is damaged is left out: the commits before it are there. */
async function readBegin(log: TableLog): Promise<MutableState> {
  const version = await findCheckpoint(log);
  const state = emptyState(version);
  if (version < 0) return state;
  const path = checkpointPath(log.table, version);
  try {
    replay(state, await readCheckpoint(log, path));
    return state;
  } catch (error) {
    if (error instanceof TidemarkError && error.code !== 'DATA') throw error;
    log.report(logName(path), 'is missing or damaged');
    return emptyState(-1);
  }
}

async function readCheckpoint({ store, database, files }: TableLog, path: string): Promise<readonly Action[]> {
  const sql = await files.render('lake/read_checkpoint', { file: quoteLiteral(await store.locate(path)) });
  return (await database.rows(sql)).map(({ action }) => JSON.parse(String(action)) as Action);
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
  const from = after < 0 ? undefined : commitPath(table, after);
  const listed = await store.list(logFolder(table), from);
  return listed.map(({ path }) => COMMIT.exec(path)?.[1]).flatMap((name) => (name === undefined ? [] : [Number(name)]));
}

const COMMIT = /\/(\d{20})\.json$/u;

/** A log has every version: what is missing was removed, with the rows that it named. */
function reportGaps({ report }: TableLog, versions: readonly number[], first: number): void {
  let expected = first;
  for (const version of versions) {
    if (version > expected) report('', `lacks version ${describeRange(expected, version - 1)} of its log`);
    expected = version + 1;
  }
}

const describeRange = (from: number, to: number): string => (from === to ? String(from) : `${from} to ${to}`);

async function readCommit({ store, table, report }: TableLog, version: number): Promise<readonly Action[]> {
  const path = commitPath(table, version);
  const actions = parseActions((await store.read(path).catch(ignoreMissing)) ?? '');
  if (!actions) report(logName(path), 'is not a commit');
  return actions ?? [];
}

/** The path of a file of a log within its table. */
const logName = (path: string): string => path.slice(path.indexOf('/') + 1);
