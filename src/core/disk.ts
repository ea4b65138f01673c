import { statfs } from 'node:fs/promises';
import { TidemarkError } from './errors.ts';

/** Bytes that may still be written where `directory` is. */
export async function freeBytes(directory: string): Promise<number> {
  const { bavail, bsize } = await statfs(directory);
  return bavail * bsize;
}

/** The error that says how much room there must be; the run ends with exit code 1. */
export function diskFull(directory: string, neededBytes: number, freeNow: number, cause?: unknown): TidemarkError {
  const message = `the disk is full: ${neededBytes} bytes are needed in ${directory}, ${freeNow} are free`;
  return new TidemarkError('INCOMPLETE', message, {
    hint: 'make room and run again: nothing is lost, and what has landed is not asked for again',
    ...(cause !== undefined && { cause }),
  });
}
