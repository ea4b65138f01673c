import { messageOf, TidemarkError } from '../core/errors.ts';

/** What ends a whole run and no single source: a full disk, or a working file that is damaged. */
export type FatalStorageError = 'disk-full' | 'damaged';

/** A working file that opens, and is not what was left there. */
export class CorruptDatabaseError extends Error {}

/** The kinds of error that DuckDB means itself by; a row's own words can stand in others only. */
const OWN = /^(?:IO|FATAL|INTERNAL|Serialization|TransactionContext|Out of Memory) Error/u;
const FULL = /no space left on device|disk quota exceeded|file too large|max_temp_directory_size/iu;
const DAMAGED = /corrupt|checksum|has been invalidated|serializ|replaying WAL|not a valid DuckDB/iu;

/** A statement that needs more than DuckDB may hold; nothing of it stays, and the database goes on. */
export function isOutOfMemory(error: unknown): boolean {
  return (
    error instanceof Error && /^Out of Memory Error/u.test(error.message) && classifyStorageError(error) === undefined
  );
}

/** DuckDB says both in words only; a full disk during a checkpoint also leaves its database invalidated. */
export function classifyStorageError(error: unknown): FatalStorageError | undefined {
  for (let inner = error; inner instanceof Error; inner = inner.cause) {
    if (inner instanceof CorruptDatabaseError) return 'damaged';
    if (inner instanceof TidemarkError) continue;
    if ('code' in inner && (inner.code === 'ENOSPC' || inner.code === 'EDQUOT')) return 'disk-full';
    const words = messageOf(inner).split('\n', 1)[0] ?? '';
    if (!OWN.test(words)) continue;
    if (FULL.test(words)) return 'disk-full';
    if (DAMAGED.test(words)) return 'damaged';
  }
  return undefined;
}
