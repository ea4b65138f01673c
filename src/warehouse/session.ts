import { existsSync } from 'node:fs';
import { mkdir, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Config } from '../core/config.ts';
import { TidemarkError } from '../core/errors.ts';
import type { Log } from '../core/log.ts';
import { searchPath } from '../core/paths.ts';
import { type Database, openDatabase } from './database.ts';
import { takeLock } from './lock.ts';
import { migrate } from './migrate.ts';
import { replaceFile, type WarehouseFiles, warehouseFiles } from './publish.ts';
import { type SqlFiles, sqlFiles } from './sql-files.ts';
import { loadTables, type Table } from './tables.ts';

/** The working warehouse, open for writing under the lock. */
export interface Warehouse {
  readonly database: Database;
  readonly files: SqlFiles;
  readonly tables: ReadonlyMap<string, Table>;
}

export interface SessionOptions {
  readonly config: Config;
  /** What the lock says it is held for. */
  readonly purpose: string;
  readonly now: Date;
  readonly log: Log;
}

/**
 * Opens the working warehouse under the lock, brings it to the declared tables, lets `work` write, and publishes a copy of
 * the result: `data/warehouse.duckdb` is at any moment the old or the new one.
 * @throws TidemarkError LOCKED while another process writes.
 */
export async function withWarehouse<T>(
  options: SessionOptions,
  work: (warehouse: Warehouse) => Promise<T>,
): Promise<T> {
  const { config, purpose, now, log } = options;
  const paths = warehouseFiles(config.data);
  const release = await takeLock(join(config.data, 'lock'), purpose, now);
  try {
    const files = sqlFiles(searchPath(config.directory));
    const tables = await loadTables(files);
    const database = await openWork(paths, config.memoryLimit, log);
    try {
      await migrate(database, files, tables);
      const result = await work({ database, files, tables });
      await database.run('checkpoint');
      return result;
    } finally {
      database.close();
      await publishIfClean(paths);
    }
  } finally {
    await release();
  }
}

/** A working file with a log beside it was not closed whole: the published one then stays as it is. */
async function publishIfClean({ work, published }: WarehouseFiles): Promise<void> {
  if (!existsSync(`${work}.wal`)) await replaceFile(work, published, 0o444);
}

/** A working file that does not open is set aside and made anew from the published one. */
async function openWork(paths: WarehouseFiles, memoryLimit: string, log: Log): Promise<Database> {
  await mkdir(dirname(paths.work), { recursive: true });
  if (!existsSync(paths.work)) await startFromPublished(paths);
  const options = { memoryLimit, tempDirectory: paths.temp };
  try {
    return await openDatabase(paths.work, options);
  } catch (error) {
    if (/lock/iu.test(String(error))) {
      throw new TidemarkError('LOCKED', `another program has ${paths.work} open`, {
        hint: 'query the published data/warehouse.duckdb instead, and close the working file',
        cause: error,
      });
    }
    const aside = `${paths.work}.damaged`;
    log.warn(`the working file does not open and is kept as ${aside}; starting again from the published warehouse`);
    await rename(paths.work, aside);
    await startFromPublished(paths);
    return openDatabase(paths.work, options);
  }
}

async function startFromPublished(paths: WarehouseFiles): Promise<void> {
  await rm(`${paths.work}.wal`, { force: true });
  if (existsSync(paths.published)) await replaceFile(paths.published, paths.work, 0o644);
}

/** Opens the published warehouse for reading. @throws TidemarkError UNREACHABLE when nothing was pulled yet. */
export async function openPublished(config: Config): Promise<{ database: Database; files: SqlFiles }> {
  const { published } = warehouseFiles(config.data);
  if (!existsSync(published)) throw missingWarehouse(published);
  const database = await openDatabase(published, { readOnly: true, memoryLimit: config.memoryLimit });
  return { database, files: sqlFiles(searchPath(config.directory)) };
}

export function missingWarehouse(published: string): TidemarkError {
  return new TidemarkError('UNREACHABLE', `there is no warehouse yet at ${published}`, {
    hint: 'fill one with `tidemark pull`, or see one with `tidemark demo`',
  });
}
