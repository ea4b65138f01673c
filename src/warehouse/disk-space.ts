import { existsSync } from 'node:fs';
import { readdir, stat, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { TidemarkError } from '../core/errors.ts';
import { ignoreMissing, makeFolder } from '../core/fs.ts';
import { landingBytes } from '../landing/store.ts';
import { classifyStorageError } from './integrity.ts';
import { warehouseFiles } from './publish.ts';

/** An empty warehouse takes 16 MiB. */
const NEW_FILE_BYTES = 20 * 1024 * 1024;

/** Bytes that a run may need: the working file at twice its size, a copy of it to publish, and a landing as large as the largest. */
async function requiredBytes(data: string): Promise<number> {
  const { work, published } = warehouseFiles(data);
  const files = [work, published].map((file) => stat(file).catch(ignoreMissing));
  const sizes = (await Promise.all(files)).map((file) => file?.size ?? 0);
  const folder = join(data, 'landing');
  const entries = (await readdir(folder, { withFileTypes: true }).catch(ignoreMissing)) ?? [];
  const landings = entries.filter((entry) => entry.isDirectory()).map(({ name }) => landingBytes(join(folder, name)));
  return 3 * Math.max(NEW_FILE_BYTES, ...sizes) + Math.max(0, ...(await Promise.all(landings)));
}

/** Runs before anything is written. @throws TidemarkError INCOMPLETE if the disk has too little free space. */
export async function assertDiskSpace(data: string): Promise<void> {
  await makeFolder(data);
  const [needed, free] = [await requiredBytes(data), await freeBytes(data)];
  if (free < needed) throw diskFullError(data, needed, free);
}

/** Bytes that can still be written to the file system of `directory`. */
async function freeBytes(directory: string): Promise<number> {
  const { bavail, bsize } = await statfs(directory);
  return bavail * bsize;
}

/** Reports a full disk of one of the folders that `work` writes to with the bytes needed. Other errors are thrown as they are. */
export async function reportFullDisk<T>(
  { data, output }: { readonly data: string; readonly output: string },
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (classifyStorageError(error) !== 'disk-full') throw error;
    const folders = await Promise.all(
      [data, output]
        .filter((folder) => existsSync(folder))
        .map(async (path) => ({ path, free: await freeBytes(path) })),
    );
    const { path = data, free = 0 } = folders.sort((a, b) => a.free - b.free)[0] ?? {};
    throw diskFullError(path, Math.max(await requiredBytes(data), free + 1), free, error);
  }
}

function diskFullError(directory: string, neededBytes: number, freeNow: number, cause?: unknown): TidemarkError {
  const message = `the disk is full: ${neededBytes} bytes are needed in ${directory}, ${freeNow} are free`;
  return new TidemarkError('INCOMPLETE', message, {
    hint: 'free disk space and run it again: nothing is lost, and finished extractions are not repeated',
    ...(cause !== undefined && { cause }),
  });
}
