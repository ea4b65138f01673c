import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Config } from '../core/config.ts';
import { diskFull, freeBytes } from '../core/disk.ts';
import { TidemarkError } from '../core/errors.ts';
import type { Log } from '../core/log.ts';
import { searchPath } from '../core/paths.ts';
import { type Database, openDatabase } from './database.ts';
import { assertDiskSpace, requiredBytes } from './disk-space.ts';
import { classifyStorageError, type FatalStorageError } from './integrity.ts';
import { acquireLock } from './lock.ts';
import { migrate } from './migrate.ts';
import { publishFile, removeLeftovers, type WarehouseFiles, warehouseFiles } from './publish.ts';
import { isUnchanged, recordFingerprint, verifyChecksums } from './scan.ts';
import { createSqlFiles, type SqlFiles } from './sql-files.ts';
import { loadTables, type Table } from './tables.ts';
import { openWorkingCopy, restoreFromPublished } from './work-file.ts';

/** The working warehouse, open for writing under the lock. */
export interface Warehouse {
  readonly database: Database;
  readonly files: SqlFiles;
  readonly tables: ReadonlyMap<string, Table>;
  /** Finishes a change of the schema, while nothing else asks the database; does nothing where it is done. */
  finishMigration(): Promise<void>;
}

export interface SessionOptions {
  readonly config: Config;
  /** What the lock says it is held for. */
  readonly purpose: string;
  readonly now: Date;
  readonly log: Log;
  /** The work itself calls `settle`, and before that asks for no view. @default it is done before the work */
  readonly deferMigration?: boolean;
}

/** What is done with a result once it is published, still under the lock. */
interface Published<T> {
  readonly published?: (result: T) => Promise<void>;
}

/**
 * Opens the working warehouse under the lock, brings it to the declared tables, lets `work` write, and publishes a copy of
 * the result: `data/warehouse.duckdb` is at any moment the old or the new one. Where the working file turns out damaged, it is
 * set aside and `work` is done again on a copy of the published one.
 * @throws TidemarkError LOCKED while another process writes; INCOMPLETE with the bytes needed when the disk is full.
 */
export async function withWarehouse<T>(
  options: SessionOptions & Published<T>,
  work: (warehouse: Warehouse) => Promise<T>,
): Promise<T> {
  const { config, purpose, now, log } = options;
  const { data } = config;
  const paths = warehouseFiles(data);
  try {
    await mkdir(data, { recursive: true });
    const release = await acquireLock(join(data, 'lock'), purpose, now);
    try {
      await removeLeftovers(paths);
      await assertDiskSpace(data);
      const result = await attempt(options, paths, work).catch(async (error: unknown) => {
        if (classifyStorageError(error) !== 'damaged') throw error;
        await restoreFromPublished(paths, log);
        return attempt(options, paths, work).catch(bothDamaged(paths));
      });
      await options.published?.(result);
      return result;
    } finally {
      await release();
    }
  } catch (error) {
    if (classifyStorageError(error) !== 'disk-full') throw error;
    const free = await freeBytes(data);
    throw diskFull(data, Math.max(await requiredBytes(data), free + 1), free, error);
  }
}

/** Nothing whole is left to start from; what landed in the last days is. */
function bothDamaged({ published }: WarehouseFiles): (error: unknown) => never {
  return (cause) => {
    if (classifyStorageError(cause) !== 'damaged') throw cause;
    throw new TidemarkError('DATA', `${published} is damaged as well`, {
      hint: 'bring it back from a backup; or move it away, and load what has landed with `tidemark pull --from RUN`',
      cause,
    });
  };
}

async function attempt<T>(
  { config, log, deferMigration = false }: SessionOptions,
  paths: WarehouseFiles,
  work: (warehouse: Warehouse) => Promise<T>,
): Promise<T> {
  const files = createSqlFiles(searchPath(config.directory));
  const tables = await loadTables(files);
  const untouched = await isUnchanged(paths.work);
  const database = await openWorkingCopy(paths, config.memoryLimit, log);
  let trouble: FatalStorageError | undefined;
  let whole = false;
  try {
    if (!untouched) await verifyChecksums(database, files, existsSync(paths.published));
    const rest = await migrate(database, files, tables);
    let settled: Promise<void> | undefined;
    const settle = () =>
      (settled ??= rest().then(() => {
        whole = true;
      }));
    if (!deferMigration) await settle();
    const result = await work({ database, files, tables, finishMigration });
    await database.run('checkpoint');
    return result;
  } catch (error) {
    trouble = classifyStorageError(error);
    throw error;
  } finally {
    database.close();
    // A schema that is not finished lacks what readers ask for: the next session finishes it.
    if (trouble === undefined && whole) await publishIfClean(paths);
  }
}

/** A working file with a log beside it was not closed whole: the published one then stays as it is. */
async function publishIfClean({ work, published }: WarehouseFiles): Promise<void> {
  if (existsSync(`${work}.wal`)) return;
  await publishFile(work, published, 0o444);
  await recordFingerprint(work);
}

/** Opens the published warehouse for reading. @throws TidemarkError UNREACHABLE when nothing was pulled yet. */
export async function openPublished(config: Config): Promise<{ database: Database; files: SqlFiles }> {
  const { published } = warehouseFiles(config.data);
  if (!existsSync(published)) throw noWarehouseError(published);
  const database = await openDatabase(published, { readOnly: true, memoryLimit: config.memoryLimit });
  return { database, files: createSqlFiles(searchPath(config.directory)) };
}

export function noWarehouseError(published: string): TidemarkError {
  return new TidemarkError('UNREACHABLE', `there is no warehouse yet at ${published}`, {
    hint: 'fill one with `tidemark pull`, or see one with `tidemark demo`',
  });
}
