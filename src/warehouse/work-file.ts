import { existsSync } from 'node:fs';
import { mkdir, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { TidemarkError } from '../core/errors.ts';
import type { Log } from '../core/log.ts';
import { type Database, openDatabase } from './database.ts';
import { loadingLimit } from './memory-limit.ts';
import { replaceFile, type WarehouseFiles } from './publish.ts';
import { troubleOf } from './trouble.ts';

/** A working file that does not open is set aside and made anew from the published one. */
export async function openWork(paths: WarehouseFiles, memoryLimit: string, log: Log): Promise<Database> {
  await mkdir(dirname(paths.work), { recursive: true });
  if (!existsSync(paths.work)) await startFromPublished(paths);
  const options = { memoryLimit: loadingLimit(memoryLimit), tempDirectory: paths.temp };
  try {
    return await openDatabase(paths.work, options);
  } catch (error) {
    if (/Conflicting lock|Could not set lock/iu.test(String(error))) throw heldOpen(paths.work, error);
    if (troubleOf(error) === 'disk-full' || /permission denied/iu.test(String(error))) throw error;
    await startAgain(paths, log);
    return openDatabase(paths.work, options);
  }
}

function heldOpen(file: string, cause: unknown): TidemarkError {
  return new TidemarkError('LOCKED', `another program has ${file} open`, {
    hint: 'query the published data/warehouse.duckdb instead, and close the working file',
    cause,
  });
}

/** Sets the working file aside. */
export async function startAgain(paths: WarehouseFiles, log: Log): Promise<void> {
  const aside = `${paths.work}.damaged`;
  log.warn(`the working file is damaged and kept as ${aside}; starting again from the published warehouse`);
  await rename(paths.work, aside);
  await startFromPublished(paths);
}

async function startFromPublished(paths: WarehouseFiles): Promise<void> {
  await rm(`${paths.work}.wal`, { force: true });
  if (existsSync(paths.published)) await replaceFile(paths.published, paths.work, 0o644);
}
