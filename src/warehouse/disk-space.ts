import { existsSync } from 'node:fs';
import { mkdir, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { diskFull, freeBytes } from '../core/disk.ts';
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
  if (free < needed) throw diskFull(data, needed, free);
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
