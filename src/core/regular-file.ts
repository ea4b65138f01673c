import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';
import { type ErrorCode, TidemarkError } from './errors.ts';
import { fileSystemError } from './fs.ts';

/** Why a file is not read, as the end of a sentence that begins with its name. */
export class UnreadableFileError extends Error {
  get isMissing(): boolean {
    return (this.cause as NodeJS.ErrnoException | undefined)?.code === 'ENOENT';
  }
}

/**
 * Reads a regular file of limited size, at once: a pipe would wait for a writer, and a device has no end.
 * @throws UnreadableFileError
 */
export function readRegularFile(file: string, maxKibibytes: number): string {
  const handle = open(file);
  try {
    if (!fstatSync(handle).isFile()) throw new UnreadableFileError('cannot be read: it is not a regular file');
    return readBounded(handle, maxKibibytes);
  } finally {
    closeSync(handle);
  }
}

/** The same for a file that a person names. @throws TidemarkError whose message begins with `name` */
export function readNamedFile(
  file: string,
  maxKibibytes: number,
  { code = 'USAGE', name = file, ...details }: { code?: ErrorCode; name?: string; hint?: string } = {},
): string {
  try {
    return readRegularFile(file, maxKibibytes);
  } catch (cause) {
    if (!(cause instanceof UnreadableFileError)) throw cause;
    throw new TidemarkError(code, `${name} ${cause.message}`, { ...details, cause });
  }
}

/** Windows has no such flag, and no pipes in folders. */
const WITHOUT_WAITING = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0);

function open(file: string): number {
  try {
    return openSync(file, WITHOUT_WAITING);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const reason = fileSystemError(error)?.reason ?? 'not a file';
    throw new UnreadableFileError(code === 'ENOENT' ? 'does not exist' : `cannot be read: ${reason}`, { cause: error });
  }
}

/** The size that the system reports does not bound what can be read: a file may grow, and one of `/proc` has size 0. */
function readBounded(handle: number, maxKibibytes: number): string {
  const buffer = Buffer.alloc(maxKibibytes * 1024 + 1);
  let length = 0;
  for (let bytes = -1; bytes !== 0; length += bytes) bytes = readSync(handle, buffer, { offset: length });
  if (length < buffer.length) return buffer.toString('utf8', 0, length);
  throw new UnreadableFileError(`cannot be read: it is larger than ${maxKibibytes} KiB`);
}
