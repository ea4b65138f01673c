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

/** Where a copy grows before it gets its name. */
const nextTo = (file: string) => `${file}.next`;

/**
 * Puts a copy of a closed, checkpointed file in the place of another at one stroke: readers that hold the old one keep it.
 * A `.wal` beside either name belongs to another file's life and would be replayed into this one, so it goes first.
 */
export async function publishFile(from: string, to: string, mode: number): Promise<void> {
  const next = nextTo(to);
  await rm(next, { force: true });
  try {
    await copyFile(from, next, constants.COPYFILE_FICLONE);
    await chmod(next, mode);
    await sync(next);
    await rm(`${to}.wal`, { force: true });
    await rename(next, to);
  } catch (error) {
    await rm(next, { force: true }); // on a full disk, half a copy is in the way of everything else
    throw error;
  }
  await sync(dirname(to));
}

/** What a killed process was about to publish. */
export async function removeLeftovers({ published, work }: WarehouseFiles): Promise<void> {
  for (const file of [published, work]) await rm(nextTo(file), { force: true });
}

async function sync(path: string): Promise<void> {
  const handle = await open(path, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
