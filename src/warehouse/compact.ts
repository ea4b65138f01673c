import { stat } from 'node:fs/promises';
import { PRIVATE_FILE } from '../core/fs.ts';
import type { Log } from '../core/log.ts';
import { type Database, firstLine, interruptible } from './database.ts';
import { nextPath, removeNext, replaceByNext } from './publish.ts';
import { quoteIdent, quoteLiteral, type SqlFiles } from './sql-files.ts';
import { classifyStorageError } from './storage.ts';

/** A smaller file is not worth the time. */
const MIN_BYTES = 16 * 1024 * 1024;

interface CompactOptions {
  readonly log: Log;
  /** Ends a copy in progress: a large file takes a minute, and a stopped command has seconds. */
  readonly signal: AbortSignal;
  /** @default 16 MiB */
  readonly minBytes?: number;
}

/**
 * Writes a compact copy of an open, checkpointed file of which a third is free (docs/decisions.md#compaction). `replaceByCompact`
 * puts it in the place of the file.
 * @returns whether there is a copy. Without one, the file can be used as it is: it is small, or not fragmented, or the copy failed.
 * @throws DuckDB's error for a corrupt block
 */
export async function writeCompactCopy(
  database: Database,
  files: SqlFiles,
  file: string,
  { log, signal, minBytes = MIN_BYTES }: CompactOptions,
): Promise<boolean> {
  try {
    const [row] = await database.rows(files.read('warehouse/compact_due'), { least_bytes: minBytes });
    if (signal.aborted || row?.is_due !== true) return false;
    await interruptible(database, signal, () => copyDatabase(database, files, file));
    signal.throwIfAborted(); // the last statement has ended before it was interrupted
    return true;
  } catch (error) {
    await removeNext(file);
    if (classifyStorageError(error) === 'corrupt') throw error;
    if (!signal.aborted) log.warn(`the warehouse is not compacted, and stays as it is: ${firstLine(error)}`);
    return false;
  }
}

async function copyDatabase(database: Database, files: SqlFiles, file: string): Promise<void> {
  const detach = files.read('warehouse/detach_compact');
  await removeNext(file);
  try {
    await database.run(files.render('warehouse/attach_compact', { file: quoteLiteral(nextPath(file)) }));
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

/** Puts the copy of `writeCompactCopy` in the place of its file, which is closed. */
export async function replaceByCompact(file: string, log: Log): Promise<void> {
  const { size } = await stat(file);
  await replaceByNext(file, PRIVATE_FILE);
  const { size: left } = await stat(file);
  log.info(`compacted the warehouse from ${formatMegabytes(size)} to ${formatMegabytes(left)}`);
}

const formatMegabytes = (bytes: number): string => `${(bytes / 1e6).toFixed(1)} MB`;
