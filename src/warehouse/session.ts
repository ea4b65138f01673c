import { constants, existsSync } from 'node:fs';
import { access, chmod, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { type Config, meshMounts } from '../config/config.ts';
import { loadPolicy, type PolicyRow } from '../config/policy.ts';
import { TidemarkError } from '../core/errors.ts';
import { ignoreMissing, makeFolder, PRIVATE_FILE, PRIVATE_FOLDER } from '../core/fs.ts';
import type { Log } from '../core/log.ts';
import { isPresent, overlayRoots } from '../core/paths.ts';
import { replaceByCompact, writeCompactCopy } from './compact.ts';
import {
  blameOwn,
  type Database,
  firstLine,
  halveMemory,
  isOfLaterVersion,
  isQueryError,
  type OpenOptions,
  openDatabase,
  PUBLISH_AGAIN,
} from './database.ts';
import { acquireLock, type Lock } from './lock.ts';
import { migrate } from './migrate.ts';
import { isUnchanged, publishFile, recordFingerprint, removeNext, warehouseFiles } from './publish.ts';
import { createSqlFiles, type SqlFiles } from './sql-files.ts';
import {
  assertDiskSpace,
  CorruptDatabaseError,
  classifyStorageError,
  reportFullDisk,
  verifyChecksums,
} from './storage.ts';
import { lacksColumns, loadTables, type Table } from './tables.ts';

export interface OpenWarehouse {
  readonly database: Database;
  readonly files: SqlFiles;
}

/** The working warehouse, open for writing under the lock. */
export interface Warehouse extends OpenWarehouse {
  readonly tables: ReadonlyMap<string, Table>;
  /** Call it immediately before each request that changes a service, and before each mail. @throws LockError if the lock was lost */
  assertHeld(): void;
}

/**
 * Writes to the warehouse while its lock is held: opens the working warehouse, migrates it, lets `work` write, and publishes a copy of the
 * result. Readers of `data/warehouse.duckdb` see the old or the new warehouse, never a mixture. If the working file turns out to be corrupt,
 * it is moved aside and `work` runs again on a copy of the published one.
 * @param compactUnless compacts the file after `work` if much of it is free, unless this signal is aborted. @default never
 */
export type WriteWarehouse = <T>(work: (warehouse: Warehouse) => Promise<T>, compactUnless?: AbortSignal) => Promise<T>;

export interface LockedOptions {
  readonly config: Config;
  /** The purpose of the lock, as other processes show it. */
  readonly purpose: string;
  readonly now: Date;
  readonly log: Log;
  /** Whether `work` frees disk space, and is not refused for the lack of it. @default false */
  readonly freesSpace?: boolean;
}

/** Writes to the warehouse once: a lock with a single `write`. @throws as `withWarehouseLock` */
export function withWarehouse<T>(options: LockedOptions, work: (warehouse: Warehouse) => Promise<T>): Promise<T> {
  return withWarehouseLock(options, (write) => write(work));
}

/**
 * Holds the lock of the warehouse during `work`.
 * @throws TidemarkError LOCKED while another process holds it; INCOMPLETE with the bytes needed if the disk is full; CONFIG for an
 * invalid policy.
 */
export async function withWarehouseLock<T>(options: LockedOptions, work: (write: WriteWarehouse) => Promise<T>) {
  const { config, purpose, now, freesSpace = false } = options;
  const { data } = config;
  const policy = loadPolicy(config.directory);
  const paths = warehouseFiles(data);
  return reportFullDisk(config, async () => {
    await makeDataFolder(config);
    const lock = await acquireLock(join(data, 'lock'), purpose, now);
    try {
      for (const file of [paths.published, paths.work]) await removeNext(file);
      if (!freesSpace) await assertDiskSpace(data);
      return await work((write, compactUnless) => runSafely({ ...options, policy, compactUnless, paths, lock }, write));
    } finally {
      await lock.release();
    }
  });
}

/** What an earlier version or a user created may be readable by others; its content becomes private here. */
const PRIVATE_FOLDERS = ['landing', 'plans', 'work'];

async function makeDataFolder({ data, groupRead }: Config): Promise<void> {
  await makeFolder(data);
  for (const name of PRIVATE_FOLDERS) await chmod(join(data, name), PRIVATE_FOLDER).catch(ignoreMissing);
  // The group must also be able to enter the folder of the published file.
  if (groupRead) await chmod(data, ((await stat(data)).mode & 0o777) | 0o050);
}

/** Runs a session again on a copy of the published file if the working file is corrupt. */
async function runSafely<T>(session: LockedSession, work: (warehouse: Warehouse) => Promise<T>): Promise<T> {
  const { paths, log } = session;
  const isCorrupt = (error: unknown) => classifyStorageError(error) === 'corrupt';
  return runSession(session, work).catch(async (error: unknown) => {
    if (!isCorrupt(error)) throw error;
    const aside = `${paths.work}.damaged`;
    log.warn(`the working file is corrupt and kept as ${aside}; starting again from the published warehouse`);
    await rename(paths.work, aside);
    await copyFromPublished(paths);
    return runSession(session, work).catch((cause: unknown) => {
      if (!isCorrupt(cause)) throw cause;
      // Only the landings are left.
      throw new TidemarkError('DATA', `${paths.published} is corrupt as well`, {
        hint: 'restore it from a backup; or move it away, and load the kept landings with `tidemark pull --from RUN`',
        cause,
      });
    });
  });
}

interface LockedSession extends LockedOptions {
  readonly policy: readonly PolicyRow[];
  readonly compactUnless: AbortSignal | undefined;
  readonly paths: ReturnType<typeof warehouseFiles>;
  readonly lock: Lock;
}

async function runSession<T>(
  { config, log, policy, compactUnless: signal, paths, lock }: LockedSession,
  work: (warehouse: Warehouse) => Promise<T>,
): Promise<T> {
  const files = createSqlFiles(overlayRoots(config.directory));
  const tables = loadTables(files);
  const isVerified = await isUnchanged(paths.work);
  const database = await openWorkingCopy(paths, config.memoryLimit);
  let isUsable = false;
  let isCompact = false;
  try {
    await chmod(paths.work, PRIVATE_FILE);
    if (!isVerified) await verifyChecksums(database, files, isPresent(paths.published));
    await migrate(database, files, config.thresholds, policy);
    const mounts = config.targets.map((target) => ({ target: target.name, mount: meshMounts(target)[0] }));
    await database.run(files.read('warehouse/assume_mount'), { mounts: JSON.stringify(mounts) });
    await database.run(files.read('warehouse/assume_namespace'));
    isUsable = true;
    const result = await work({ database, files, tables, assertHeld: () => lock.assertHeld() });
    await database.run('checkpoint');
    if (signal) isCompact = await writeCompactCopy(database, files, paths.work, { log, signal });
    return result;
  } catch (error) {
    isUsable &&= classifyStorageError(error) === undefined;
    throw blameOwn(files, error);
  } finally {
    database.close();
    // A schema that is not migrated is of no use to readers. A `.wal` beside a file means that it was not closed cleanly.
    if (isUsable && !existsSync(`${paths.work}.wal`)) {
      lock.assertHeld();
      if (isCompact) await replaceByCompact(paths.work, log);
      await publishFile(paths.work, paths.published, config.groupRead ? 0o440 : 0o400);
      await recordFingerprint(paths.work);
    }
  }
}

/**
 * Threads of one statement. While a load has one, the other processors download, and rules and reports run two statements at a time. Two threads
 * take half as much processor time again to write rows, most of it to wait for each other.
 */
export const THREADS = 1;

/** @throws CorruptDatabaseError for a working file that does not open */
async function openWorkingCopy(paths: LockedSession['paths'], memoryLimit: string): Promise<Database> {
  await makeFolder(dirname(paths.work));
  if (!isPresent(paths.work)) await copyFromPublished(paths);
  const options = { memoryLimit: halveMemory(memoryLimit), tempDirectory: paths.temp, threads: THREADS };
  try {
    return await openDatabase(paths.work, options);
  } catch (error) {
    const isOther = !(error instanceof TidemarkError) || error.code !== 'DATA';
    if (isOther || isOfLaterVersion(error) || /permission denied/iu.test(String(error))) throw error;
    throw new CorruptDatabaseError(firstLine(error), { cause: error });
  }
}

async function copyFromPublished(paths: LockedSession['paths']): Promise<void> {
  await rm(`${paths.work}.wal`, { force: true });
  if (isPresent(paths.published)) await publishFile(paths.published, paths.work, PRIVATE_FILE);
}

/**
 * Opens the published warehouse for reading until `read` has ended.
 * @throws TidemarkError UNREACHABLE if nothing was pulled yet; DATA for a warehouse that lacks what `read` needs
 */
export async function withPublished<T>(
  { data, directory, memoryLimit }: Pick<Config, 'data' | 'directory' | 'memoryLimit'>,
  read: (published: OpenWarehouse) => Promise<T>,
  options: OpenOptions = {},
): Promise<T> {
  const { published } = warehouseFiles(data);
  await assertReadable(published);
  const limits = { memoryLimit: halveMemory(memoryLimit), ownFolderIn: data, threads: THREADS };
  const database = await openDatabase(published, { readOnly: true, ...limits, ...options });
  const files = createSqlFiles(overlayRoots(directory));
  try {
    return await read({ database, files });
  } catch (error) {
    throw await explainFailure({ database, files }, data, error);
  } finally {
    database.close();
  }
}

/** What helps where a warehouse is of an earlier version. */
export const ADD_MISSING = 'run `tidemark pull`, which adds what it lacks';

/** The error of a read of the published warehouse in the data folder `data`, as people can act on it. */
export async function explainFailure(read: OpenWarehouse, data: string, error: unknown) {
  const { published } = warehouseFiles(data);
  const reason = error instanceof TidemarkError ? error.cause : error;
  const explain = (what: string, hint: string) =>
    new TidemarkError('DATA', `${published} is ${what}: ${firstLine(reason)}`, { hint, cause: error });
  if (classifyStorageError(reason) === 'corrupt') return explain('corrupt', PUBLISH_AGAIN);
  if (!isQueryError(reason)) return error;
  return (await lacksColumns(read)) ? explain('of an earlier version', ADD_MISSING) : blameOwn(read.files, error);
}

/**
 * @throws TidemarkError UNREACHABLE if nothing was pulled yet, or this account may not read the published warehouse; the error of the system
 * where the data folder is a file
 */
export async function assertReadable(published: string): Promise<void> {
  try {
    await access(published, constants.R_OK);
  } catch (cause) {
    const { code = '' } = cause as NodeJS.ErrnoException;
    if (!['ENOENT', 'EACCES', 'EPERM'].includes(code)) throw cause;
    const refuse = (message: string, hint: string) => new TidemarkError('UNREACHABLE', message, { hint, cause });
    if (code === 'ENOENT' && !isPresent(published)) {
      const hint = 'create one with `tidemark pull`, or see one with `tidemark demo`';
      throw refuse(`there is no warehouse yet at ${published}`, hint);
    }
    const hint = 'run as its owner; or set `groupRead: true`, add this account to its group, and pull once more';
    throw refuse(`${published} cannot be read by this account: ${await describeAccess(published)}`, hint);
  }
}

/** Owner and mode of a file; of its folder, where that cannot be entered. */
export async function describeAccess(file: string): Promise<string> {
  const path = (await stat(file).catch(() => undefined)) ? file : dirname(file);
  const { uid, gid, mode } = await stat(path);
  return `${path} belongs to user ${uid} and group ${gid}, with mode ${(mode & 0o777).toString(8)}`;
}
