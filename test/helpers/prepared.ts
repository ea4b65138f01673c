import { existsSync } from 'node:fs';
import { copyFile, mkdir, mkdtemp, rename, rmdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { inject } from 'vitest';
import { PACKAGE_ROOT } from '../../src/core/paths.ts';
import { type Database, openDatabase } from '../../src/warehouse/database.ts';
import { migrate } from '../../src/warehouse/migrate.ts';
import { recordFingerprint, warehouseFiles } from '../../src/warehouse/publish.ts';
import { createSqlFiles } from '../../src/warehouse/sql-files.ts';
import { copyWarehouse } from './change-warehouse.ts';

/** A folder that `create` fills once in a run of the tests, on first use; other workers wait. Tests copy from it, and never change it. */
export function prepareOnce(name: string, create: (folder: string) => Promise<void>): Promise<string> {
  const known = inProgress.get(name) ?? prepare(name, create);
  inProgress.set(name, known);
  return known;
}

/** Of this worker: tests that run concurrently share them as well. */
const inProgress = new Map<string, Promise<string>>();

async function prepare(name: string, create: (folder: string) => Promise<void>): Promise<string> {
  const prepared = join(inject('prepared'), name);
  while (!existsSync(prepared)) {
    if (await isFirst(`${prepared}.lock`)) await fill(prepared, create).finally(() => rmdir(`${prepared}.lock`));
    else await sleep(WAIT_MS);
  }
  return prepared;
}

const WAIT_MS = 20;

/** Whether no other worker creates the folder now. */
async function isFirst(lock: string): Promise<boolean> {
  try {
    await mkdir(lock);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

async function fill(prepared: string, create: (folder: string) => Promise<void>): Promise<void> {
  if (existsSync(prepared)) return; // since this worker looked
  const folder = await mkdtemp(`${prepared}-`);
  await create(folder);
  await rename(folder, prepared);
}

/** Copies a warehouse that has every table and no rows. */
export async function copyEmptyWarehouse(to: string): Promise<void> {
  const folder = await prepareOnce('empty', async (created) => {
    const file = join(created, 'warehouse.duckdb');
    const database = await openDatabase(file);
    const files = createSqlFiles([PACKAGE_ROOT]);
    await migrate(database, files);
    database.close();
  });
  await copyFile(join(folder, 'warehouse.duckdb'), to);
}

/**
 * Opens a copy of a warehouse, with one thread as a run opens a small one. It is discarded with its folder, so that closing it need
 * not write it once more.
 * @param from the file to copy; @default one without rows
 */
export async function openCopy(file: string, from?: string): Promise<Database> {
  await (from === undefined ? copyEmptyWarehouse(file) : copyWarehouse(from, file));
  const database = await openDatabase(file, { threads: 1 });
  await database.run('pragma disable_checkpoint_on_shutdown');
  return database;
}

/** Puts a working file without rows into a data folder, as a session leaves one. Nothing is published. */
export async function startWithEmptyWarehouse(data: string): Promise<void> {
  const { work } = warehouseFiles(data);
  await mkdir(dirname(work), { recursive: true });
  await copyEmptyWarehouse(work);
  await recordFingerprint(work);
}
