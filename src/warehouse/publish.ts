import { chmod, constants, copyFile, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { syncFolder, syncPath } from '../core/fs.ts';
import { recordFingerprint } from './integrity.ts';

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

/** Publishes the working file, which is closed. @param isGroupRead whether the group may read it */
export async function publishWarehouse({ work, published }: WarehouseFiles, isGroupRead: boolean): Promise<void> {
  await publishFile(work, published, isGroupRead ? 0o440 : 0o400);
  await recordFingerprint(work);
}

/** Removes the partial copies of a killed process. */
export async function removeLeftovers({ published, work }: WarehouseFiles): Promise<void> {
  for (const file of [published, work]) await rm(temporaryPath(file), { force: true });
}
