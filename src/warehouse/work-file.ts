import { existsSync } from 'node:fs';
import { mkdir, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { TidemarkError } from '../core/errors.ts';
import type { Log } from '../core/log.ts';
import { type Database, openDatabase } from './database.ts';
import { classifyStorageError } from './integrity.ts';
import { loadMemoryLimit } from './memory-limit.ts';
import { publishFile, type WarehouseFiles } from './publish.ts';

/** A working file that does not open is set aside and made anew from the published one. */
export async function openWorkingCopy(paths: WarehouseFiles, memoryLimit: string, log: Log): Promise<Database> {
  await mkdir(dirname(paths.work), { recursive: true });
  if (!existsSync(paths.work)) await copyFromPublished(paths);
  const options = { memoryLimit: loadMemoryLimit(memoryLimit), tempDirectory: paths.temp };
  try {
    return await openDatabase(paths.work, options);
  } catch (error) {
    if (/Conflicting lock|Could not set lock/iu.test(String(error))) throw workingCopyInUse(paths.work, error);
    if (classifyStorageError(error) === 'disk-full' || /permission denied/iu.test(String(error))) throw error;
    await restoreFromPublished(paths, log);
    return openDatabase(paths.work, options);
  }
}

function workingCopyInUse(file: string, cause: unknown): TidemarkError {
  return new TidemarkError('LOCKED', `another program has ${file} open`, {
    hint: 'query the published data/warehouse.duckdb instead, and close the working file',
    cause,
  });
}

/** Sets the working file aside. */
export async function restoreFromPublished(paths: WarehouseFiles, log: Log): Promise<void> {
  const aside = `${paths.work}.damaged`;
  log.warn(`the working file is damaged and kept as ${aside}; starting again from the published warehouse`);
  await rename(paths.work, aside);
  await copyFromPublished(paths);
}

async function copyFromPublished(paths: WarehouseFiles): Promise<void> {
  await rm(`${paths.work}.wal`, { force: true });
  if (existsSync(paths.published)) await publishFile(paths.published, paths.work, 0o644);
}
