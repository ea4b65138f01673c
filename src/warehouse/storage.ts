import { existsSync } from 'node:fs';
import { stat, statfs } from 'node:fs/promises';
import type { Config } from '../config/config.ts';
import { isMemoryError, TidemarkError } from '../core/errors.ts';
import { EDQUOT, ignoreMissing, systemLack } from '../core/fs.ts';
import { plural } from '../core/plural.ts';
import { landingBytes, landingDirectory, listLandings } from '../landing/store.ts';
import { type Database, firstLine } from './database.ts';
import { warehouseFiles } from './publish.ts';
import { quoteIdent, type SqlFiles } from './sql-files.ts';

/** The working file opens, but it is another database. */
export class CorruptDatabaseError extends Error {}

/** Errors of DuckDB itself. Messages of other kinds may quote the text of a row. */
const INTERNAL = /^(?:IO|FATAL|INTERNAL|Serialization|TransactionContext|Out of Memory) Error/u;
const DISK_FULL = /no space left on device|disk quota exceeded|file too large|max_temp_directory_size/iu;
const CORRUPT = /corrupt|checksum|has been invalidated|serializ|replaying WAL|not a valid DuckDB/iu;

/** Whether a statement needed more memory than DuckDB may use. It is rolled back, and the database stays usable. */
export function isOutOfMemory(error: unknown): boolean {
  return isMemoryError(error) && classifyStorageError(error) === undefined;
}

/**
 * Which failure of the storage an error is, which aborts the run: the disk is full, or the working file is corrupt. Reads DuckDB's
 * messages, since it has no error codes. A full disk during a checkpoint also invalidates the database.
 */
export function classifyStorageError(error: unknown): 'disk-full' | 'corrupt' | undefined {
  for (let inner = error; inner instanceof Error; inner = inner.cause) {
    if (inner instanceof CorruptDatabaseError) return 'corrupt';
    if (inner instanceof TidemarkError) continue;
    if ('code' in inner && (inner.code === 'ENOSPC' || inner.code === EDQUOT)) return 'disk-full';
    const message = firstLine(inner);
    if (!INTERNAL.test(message)) continue;
    if (DISK_FULL.test(message)) return 'disk-full';
    if (CORRUPT.test(message)) return 'corrupt';
  }
  return undefined;
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

/** An empty warehouse takes 4 MiB, and one of 10,000 workspaces 7. */
const NEW_FILE_BYTES = 8 * 1024 * 1024;

/** The landings whose files are measured: before one row is written, those of months at hundreds of targets would take minutes. */
const MEASURED_LANDINGS = 10;

/** Bytes that a run may need: the working file at twice its size, a copy of it to publish, and a landing as large as the largest of the last ones. */
async function requiredBytes(data: string): Promise<number> {
  const { work, published } = warehouseFiles(data);
  const files = [work, published].map((file) => stat(file).catch(ignoreMissing));
  const sizes = (await Promise.all(files)).map((file) => file?.size ?? 0);
  let largest = 0;
  for (const run of (await listLandings({ data })).slice(-MEASURED_LANDINGS))
    largest = Math.max(largest, await landingBytes(landingDirectory({ data }, run)));
  return 3 * Math.max(NEW_FILE_BYTES, ...sizes) + largest;
}

/** Runs before anything is written. @throws TidemarkError INCOMPLETE if the disk has too little free space. */
export async function assertDiskSpace(data: string): Promise<void> {
  const [needed, free] = [await requiredBytes(data), await freeBytes(data)];
  if (free < needed) throw diskFullError(data, needed, free);
}

/** Bytes that can still be written to the file system of `directory`. */
export async function freeBytes(directory: string): Promise<number> {
  const { bavail, bsize } = await statfs(directory);
  return bavail * bsize;
}

/** Reports a full disk of one of the folders that `work` writes to with the bytes needed. Other errors are thrown as they are. */
export async function reportFullDisk<T>({ data, output }: Pick<Config, 'data' | 'output'>, work: () => Promise<T>) {
  try {
    return await work();
  } catch (error) {
    if (classifyStorageError(error) !== 'disk-full') throw error;
    const folders = await Promise.all([data, output].filter((folder) => existsSync(folder)).map(measureFree));
    const { path = data, bytes = 0 } = folders.toSorted((a, b) => a.bytes - b.bytes)[0] ?? {};
    const needed = await requiredBytes(data);
    if (bytes < needed) throw diskFullError(path, needed, bytes, error);
    const free = folders.map((folder) => `${folder.bytes} bytes${folder.files} are free in ${folder.path}`);
    const lack = systemLack(error) ?? 'the disk is full';
    throw new TidemarkError('INCOMPLETE', `${lack}: ${free.join(', ')}`, {
      hint: `mend that and run it again: ${NOTHING_LOST}`,
      cause: error,
    });
  }
}

/** Without inodes, a disk is full with any number of free bytes. Some file systems do not count them. */
async function measureFree(path: string) {
  const { files, ffree } = await statfs(path);
  return { path, bytes: await freeBytes(path), files: files === 0 ? '' : ` and ${plural(ffree, 'file')}` };
}

const NOTHING_LOST = 'nothing is lost, and finished extractions are not repeated';

function diskFullError(directory: string, neededBytes: number, freeNow: number, cause?: unknown): TidemarkError {
  const message = `the disk is full: ${neededBytes} bytes are needed in ${directory}, ${freeNow} are free`;
  return new TidemarkError('INCOMPLETE', message, { hint: `free disk space and run it again: ${NOTHING_LOST}`, cause });
}
