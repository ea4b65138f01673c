import { existsSync } from 'node:fs';
import { chmod, readFile, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { PRIVATE_FILE, syncFolder, syncPath, writeFileAtomic } from '../core/fs.ts';
import type { Log } from '../core/log.ts';
import { type Database, firstLine, interruptible } from './database.ts';
import { classifyStorageError } from './integrity.ts';
import { quoteIdent, quoteLiteral, type SqlFiles } from './sql-files.ts';

/** A smaller file is not worth the time. */
const MIN_BYTES = 16 * 1024 * 1024;
/** How many times as large as after its last compaction a file may become. */
const MAX_GROWTH = 4 / 3;
/** A night or two after a compaction there are free blocks again, which the following nights use. */
const MIN_AGE_MS = 7 * 24 * 60 * 60 * 1000;

/** Where the compact copy of a file is written. */
const compactPath = (file: string) => `${file}.compact`;
/** Holds a `Compaction`: `14430208 bytes at 2026-11-20T02:15:00.000Z`. */
const statePath = (file: string) => join(dirname(file), 'compacted');

/** When a file was last compacted, or seen for the first time, and its size then. */
interface Compaction {
  readonly bytes: number;
  readonly atMs: number;
}

interface ReplaceOptions {
  readonly now: Date;
  readonly log: Log;
}

interface CompactOptions extends ReplaceOptions {
  /** Ends a copy in progress: a large file takes a minute, and a stopped command has seconds. */
  readonly signal: AbortSignal;
  /** @default 16 MiB */
  readonly minBytes?: number;
}

/**
 * Writes a compact copy of an open, checkpointed file that has grown by a third since the last one, a week ago or more. Each run writes the
 * last rows of a table to new blocks: the old blocks stay in the file, and tables come to consist of many small parts
 * (docs/decisions.md#compaction). `replaceWithCompact` puts the copy in the place of the file.
 * @returns whether there is a copy. Without one, the file can be used as it is: it is small, has not grown, or the copy failed.
 * @throws DuckDB's error for a corrupt block
 */
export async function writeCompactCopy(
  database: Database,
  files: SqlFiles,
  file: string,
  { now, log, signal, minBytes = MIN_BYTES }: CompactOptions,
): Promise<boolean> {
  try {
    if (signal.aborted || !(await isDue(file, now, minBytes))) return false;
    await interruptible(database, signal, () => copyDatabase(database, files, compactPath(file)));
    signal.throwIfAborted(); // the last statement has ended before it was interrupted
    return true;
  } catch (error) {
    await removeCompactCopy(file);
    if (classifyStorageError(error) === 'corrupt') throw error;
    if (!signal.aborted) log.warn(`the warehouse is not compacted, and stays as it is: ${firstLine(error)}`);
    return false;
  }
}

/** The size of a file that is seen for the first time is noted. */
async function isDue(file: string, now: Date, minBytes: number): Promise<boolean> {
  const { size } = await stat(file);
  if (size < minBytes) return false;
  const last = await readState(file);
  if (last === undefined) {
    await writeState(file, { bytes: size, atMs: now.getTime() });
    return false;
  }
  return size > last.bytes * MAX_GROWTH && now.getTime() - last.atMs >= MIN_AGE_MS;
}

async function copyDatabase(database: Database, files: SqlFiles, copy: string): Promise<void> {
  const detach = files.read('warehouse/detach_compact');
  await rm(copy, { force: true });
  try {
    await database.run(files.render('warehouse/attach_compact', { file: quoteLiteral(copy) }));
    await database.script(files.render('warehouse/copy_compact', { copy: 'compact' }));
    await assertSameRows(database, files);
  } catch (error) {
    // It fails as well where it was not attached, or a full disk ended DuckDB: the first error is the one to report.
    await database.run(detach).catch(() => undefined);
    throw error;
  }
  await database.run(detach);
}

async function assertSameRows(database: Database, files: SqlFiles): Promise<void> {
  const tables = (await database.rows(files.read('warehouse/stored_tables'))).map(({ name }) => String(name));
  // Each name is there twice, of the table and of its copy.
  for (const name of new Set(tables)) {
    const [row] = await database.rows(files.render('warehouse/compare_compact', { table: quoteIdent(name) }));
    if (row?.is_same !== true) throw new Error(`the copy of ${name} has other rows`);
  }
}

/** Replaces a closed file by its compact copy. */
export async function replaceWithCompact(file: string, { now, log }: ReplaceOptions): Promise<void> {
  const [before, after] = [(await stat(file)).size, (await stat(compactPath(file))).size];
  await chmod(compactPath(file), PRIVATE_FILE);
  await syncPath(compactPath(file));
  await rename(compactPath(file), file);
  await syncFolder(dirname(file));
  await writeState(file, { bytes: after, atMs: now.getTime() });
  log.info(`compacted the warehouse from ${formatMegabytes(before)} to ${formatMegabytes(after)}`);
}

/** Removes what a killed or failed compaction has left. */
export async function removeCompactCopy(file: string): Promise<void> {
  for (const path of [compactPath(file), `${compactPath(file)}.wal`]) await rm(path, { force: true });
}

const formatMegabytes = (bytes: number): string => `${(bytes / 1e6).toFixed(1)} MB`;

async function readState(file: string): Promise<Compaction | undefined> {
  const path = statePath(file);
  if (!existsSync(path)) return undefined;
  const [, bytes, time] = /^(\d+) bytes at (\S+)$/u.exec((await readFile(path, 'utf8')).trim()) ?? [];
  const state = { bytes: Number(bytes), atMs: Date.parse(time ?? '') };
  return Number.isNaN(state.atMs) ? undefined : state; // an unreadable one is written again
}

function writeState(file: string, { bytes, atMs }: Compaction): Promise<void> {
  return writeFileAtomic(statePath(file), `${bytes} bytes at ${new Date(atMs).toISOString()}\n`);
}
