import { chmod, constants, copyFile, open, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';

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

/**
 * Puts a copy of a closed, checkpointed file in the place of another at one stroke: readers that hold the old one keep it.
 * A `.wal` beside either name belongs to another file's life and would be replayed into this one, so it goes first.
 */
export async function replaceFile(from: string, to: string, mode: number): Promise<void> {
  const next = `${to}.next`;
  await rm(next, { force: true });
  await copyFile(from, next, constants.COPYFILE_FICLONE);
  await chmod(next, mode);
  await sync(next);
  await rm(`${to}.wal`, { force: true });
  await rename(next, to);
  await sync(dirname(to));
}

async function sync(path: string): Promise<void> {
  const handle = await open(path, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
