import { existsSync } from 'node:fs';
import { chmod, constants, copyFile, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { PRIVATE_FILE, syncFolder, syncPath } from '../core/fs.ts';

/** The published warehouse and the working file it is copied from. */
export interface WarehouseFiles {
  readonly published: string;
  readonly work: string;
  readonly temp: string;
}

export function warehouseFiles(data: string): WarehouseFiles {
  return {
    published: join(data, 'warehouse.duckdb'),
    work: join(data, 'work', 'warehouse.duckdb'),
    temp: join(data, 'work', 'tmp'),
  };
}

/** Where a copy is written before the rename. */
const temporaryPath = (file: string) => `${file}.next`;

/**
 * Replaces a file atomically by a copy of a closed, checkpointed one; open readers keep the old version. A stale `.wal` would be
 * replayed into the new file, so it is removed first.
 */
export async function publishFile(from: string, to: string, mode: number): Promise<void> {
  const next = temporaryPath(to);
  await rm(next, { force: true });
  try {
    await copyFile(from, next, constants.COPYFILE_FICLONE);
    await chmod(next, mode);
    await syncPath(next);
    await rm(`${to}.wal`, { force: true });
    await rename(next, to);
  } catch (error) {
    await rm(next, { force: true }); // on a full disk, a partial copy takes the space of everything else
    throw error;
  }
  await syncFolder(dirname(to));
}

/** Removes the partial copies of a killed process. */
export async function removeLeftovers({ published, work }: WarehouseFiles): Promise<void> {
  for (const file of [published, work]) await rm(temporaryPath(file), { force: true });
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
