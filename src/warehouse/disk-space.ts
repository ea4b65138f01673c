import { existsSync } from 'node:fs';
import { mkdir, readdir, stat, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { TidemarkError } from '../core/errors.ts';
import { warehouseFiles } from './publish.ts';

/** An empty warehouse takes 16 MiB. */
const NEW_FILE_BYTES = 20 * 1024 * 1024;

/** Bytes that a run may need: the working file at twice its size, a copy of it to publish, and a landing as large as the largest. */
export async function requiredBytes(data: string): Promise<number> {
  const { work, published } = warehouseFiles(data);
  const file = Math.max(NEW_FILE_BYTES, await fileSize(work), await fileSize(published));
  return 3 * file + (await largestLanding(join(data, 'landing')));
}

/** Runs before anything is written. @throws TidemarkError INCOMPLETE if the disk has too little free space. */
export async function assertDiskSpace(data: string): Promise<void> {
  await mkdir(data, { recursive: true });
  const [needed, free] = [await requiredBytes(data), await freeBytes(data)];
  if (free < needed) throw diskFullError(data, needed, free);
}

async function largestLanding(landing: string): Promise<number> {
  if (!existsSync(landing)) return 0;
  const runs = (await readdir(landing, { withFileTypes: true })).filter((entry) => entry.isDirectory());
  return Math.max(0, ...(await Promise.all(runs.map(({ name }) => folderSize(join(landing, name))))));
}

async function folderSize(folder: string): Promise<number> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const sizes = await Promise.all(
    entries.filter((entry) => entry.isFile()).map((entry) => fileSize(join(entry.parentPath, entry.name))),
  );
  return sizes.reduce((sum, size) => sum + size, 0);
}

async function fileSize(file: string): Promise<number> {
  return existsSync(file) ? (await stat(file)).size : 0;
}

/** Bytes that can still be written to the file system of `directory`. */
export async function freeBytes(directory: string): Promise<number> {
  const { bavail, bsize } = await statfs(directory);
  return bavail * bsize;
}

export function diskFullError(directory: string, neededBytes: number, freeNow: number, cause?: unknown): TidemarkError {
  const message = `the disk is full: ${neededBytes} bytes are needed in ${directory}, ${freeNow} are free`;
  return new TidemarkError('INCOMPLETE', message, {
    hint: 'free disk space and run it again: nothing is lost, and finished extractions are not repeated',
    ...(cause !== undefined && { cause }),
  });
}
