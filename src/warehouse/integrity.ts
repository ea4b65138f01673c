import { existsSync } from 'node:fs';
import { readFile, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { errorMessage, TidemarkError } from '../core/errors.ts';
import { PRIVATE_FILE } from '../core/fs.ts';
import type { Database } from './database.ts';
import { quoteIdent, type SqlFiles } from './sql-files.ts';

/** Storage failures, which abort the run: the disk is full, or the working file is corrupt. */
export type FatalStorageError = 'disk-full' | 'corrupt';

/** The working file opens, but it is another database. */
export class CorruptDatabaseError extends Error {}

/** Errors of DuckDB itself. Messages of other kinds may quote the text of a row. */
const INTERNAL = /^(?:IO|FATAL|INTERNAL|Serialization|TransactionContext|Out of Memory) Error/u;
const DISK_FULL = /no space left on device|disk quota exceeded|file too large|max_temp_directory_size/iu;
const CORRUPT = /corrupt|checksum|has been invalidated|serializ|replaying WAL|not a valid DuckDB/iu;

/** Whether a statement needed more memory than DuckDB may use. It is rolled back, and the database stays usable. */
export function isOutOfMemory(error: unknown): boolean {
  return (
    error instanceof Error && /^Out of Memory Error/u.test(error.message) && classifyStorageError(error) === undefined
  );
}

/** Reads DuckDB's messages, since it has no error codes. A full disk during a checkpoint also invalidates the database. */
export function classifyStorageError(error: unknown): FatalStorageError | undefined {
  for (let inner = error; inner instanceof Error; inner = inner.cause) {
    if (inner instanceof CorruptDatabaseError) return 'corrupt';
    if (inner instanceof TidemarkError) continue;
    if ('code' in inner && (inner.code === 'ENOSPC' || inner.code === 'EDQUOT')) return 'disk-full';
    const message = errorMessage(inner).split('\n', 1)[0] ?? '';
    if (!INTERNAL.test(message)) continue;
    if (DISK_FULL.test(message)) return 'disk-full';
    if (CORRUPT.test(message)) return 'corrupt';
  }
  return undefined;
}

/** The fingerprint of a file that its last session closed cleanly. */
const fingerprintPath = (file: string) => join(dirname(file), 'as-left.json');

async function readFingerprint(file: string): Promise<string> {
  const { size, mtimeMs, ino } = await stat(file);
  return JSON.stringify({ size, mtimeMs, ino });
}

/** Records how a session leaves a file that it closed cleanly. */
export async function recordFingerprint(file: string): Promise<void> {
  await writeFile(fingerprintPath(file), await readFingerprint(file), { mode: PRIVATE_FILE });
}

/** Whether a file is unchanged since `recordFingerprint`. The fingerprint is single-use: the file is opened for writing next. */
export async function isUnchanged(file: string): Promise<boolean> {
  const path = fingerprintPath(file);
  if (!existsSync(path) || !existsSync(file)) return false;
  const isSame = (await readFile(path, 'utf8')) === (await readFingerprint(file));
  await rm(path);
  return isSame;
}

/**
 * Reads the whole database, so that DuckDB verifies the checksum of every block.
 * @param isPublished whether a warehouse was published before: an empty database must not replace it
 * @throws DuckDB's error for a corrupt block; CorruptDatabaseError if the file is another database.
 */
export async function verifyChecksums(database: Database, files: SqlFiles, isPublished: boolean): Promise<void> {
  const tables = (await database.rows(files.read('warehouse/stored_tables'))).map(({ name }) => String(name));
  if (isPublished && !tables.includes('runs')) throw new CorruptDatabaseError('the working file holds no warehouse');
  for (const name of tables) {
    await database.run(files.render('warehouse/scan_table', { table: quoteIdent(name) }));
  }
}
