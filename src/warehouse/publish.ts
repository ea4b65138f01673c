import { existsSync } from 'node:fs';
import { chmod, constants, copyFile, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { PRIVATE_FILE, removePaths, syncFolder, syncPath } from '../core/fs.ts';

/** The published warehouse and the working file it is copied from. */
export function warehouseFiles(data: string) {
  return {
    published: join(data, 'warehouse.duckdb'),
    work: join(data, 'work', 'warehouse.duckdb'),
    /** Where the working copy spills: one folder, so that what killed runs leave does not add up. */
    temp: join(data, 'work', 'tmp'),
  };
}

/** Where a copy is written that is to replace a file. */
export const nextPath = (file: string) => `${file}.next`;

/**
 * Puts the copy at `nextPath` in the place of a file, atomically; open readers keep the old version. A stale `.wal` would be replayed into
 * the new file, so it is removed first.
 */
export async function replaceByNext(file: string, mode: number): Promise<void> {
  await chmod(nextPath(file), mode);
  await syncPath(nextPath(file));
  await rm(`${file}.wal`, { force: true });
  await rename(nextPath(file), file);
  await syncFolder(dirname(file));
}

/** Replaces a file by a copy of a closed, checkpointed one. */
export async function publishFile(from: string, to: string, mode: number): Promise<void> {
  await removeNext(to);
  try {
    await copyFile(from, nextPath(to), constants.COPYFILE_FICLONE);
    await replaceByNext(to, mode);
  } catch (error) {
    await removeNext(to); // on a full disk, a partial copy takes the space of everything else
    throw error;
  }
}

/** Removes a copy that does not replace its file, such as that of a killed process. */
export async function removeNext(file: string): Promise<void> {
  await removePaths([nextPath(file), `${nextPath(file)}.wal`]);
}

/** The fingerprint of a file that its last session closed cleanly. */
const fingerprintPath = (file: string) => join(dirname(file), 'as-left.json');

export async function readFingerprint(file: string): Promise<string> {
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
