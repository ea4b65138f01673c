import { existsSync } from 'node:fs';
import { chmod, constants, copyFile, lstat, readdir, rename } from 'node:fs/promises';
import { join } from 'node:path';
import type { Config } from '../../config/config.ts';
import { TidemarkError } from '../../core/errors.ts';
import { findFileFault, ignoreMissing, makeFolder, PRIVATE_FILE, removePaths, syncFolder } from '../../core/fs.ts';
import { acquireLock } from '../../warehouse/lock.ts';
import { warehouseFiles } from '../../warehouse/publish.ts';
import { type BackupManifest, LOST_FOUND, readManifest, syncFiles } from './manifest.ts';

/**
 * Compares every file of a backup with its size and checksum. The files of one that is replaced meanwhile are gone: then the new one is compared.
 * @throws TidemarkError DATA where there is no complete backup
 */
export async function verifyBackup(folder: string) {
  for (;;) {
    const manifest = await readManifest(folder);
    const problems = await findProblems(join(folder, manifest.folder), manifest);
    const isSame = problems.length === 0 || (await readManifest(folder)).folder === manifest.folder;
    if (isSame) return { manifest, problems };
  }
}

/** What is wrong with each file, as the end of a sentence. */
async function findProblems(folder: string, { files }: BackupManifest) {
  const problems: { readonly path: string; readonly problem: string }[] = [];
  for (const { path, bytes, sha256 } of files) {
    const problem = await findFileFault(join(folder, path), bytes, sha256);
    if (problem !== undefined) problems.push({ path, problem });
  }
  return problems;
}

/** Where the files are until all are there and compared. A restore that was killed leaves it, and the next one begins again. */
const STAGING = 'restoring';
const BESIDE_WAREHOUSE = ['plans', 'STOP', 'ledger.ndjson'];
const LOCK = 'lock';

/**
 * Fills an empty data folder with a backup. The warehouse comes last: without it, nothing was restored.
 * @throws TidemarkError UNSAFE for a folder that is not empty; DATA for a backup that is not complete, or damaged
 */
export async function restoreBackup(config: Config, folder: string, now: Date): Promise<BackupManifest> {
  const { data, groupRead } = config;
  const { published } = warehouseFiles(data);
  const manifest = await readManifest(folder);
  await assertEmpty(data);
  await makeFolder(data);
  const lock = await acquireLock(join(data, LOCK), 'backup restore', now);
  try {
    await assertEmpty(data);
    const staging = join(data, STAGING);
    await removePaths([...BESIDE_WAREHOUSE, STAGING].map((name) => join(data, name)));
    await copyFiles(join(folder, manifest.folder), staging, manifest);
    lock.assertHeld();
    for (const name of BESIDE_WAREHOUSE) {
      await rename(join(staging, name), join(data, name)).catch(ignoreMissing);
    }
    if (groupRead) await chmod(data, 0o750);
    // Moved, not copied: a kill after it leaves a folder without a warehouse, which no later restore takes for an unfinished one.
    const restored = warehouseFiles(staging).published;
    await chmod(restored, groupRead ? 0o440 : 0o400);
    await rename(restored, published);
    await removePaths([staging]);
    await syncFolder(data);
    return manifest;
  } finally {
    await lock.release();
  }
}

/** What a restore that was killed has left counts as empty. */
async function assertEmpty(data: string): Promise<void> {
  const isOther = (name: string) => !name.startsWith(LOCK) && name !== LOST_FOUND;
  const names = ((await readdir(data).catch(ignoreMissing)) ?? []).filter(isOther);
  const other = names.find((name) => name !== STAGING);
  if (other === undefined || isUnfinished(data, names)) return;
  throw new TidemarkError('UNSAFE', `${data} is not empty: it has ${other}`, {
    hint: 'move it away first, or set `data` to another folder',
  });
}

/** Whether a restore was killed before the warehouse came to its place: nothing can have been written to the ledger that it restored. */
function isUnfinished(data: string, names: readonly string[]): boolean {
  const isBegun = names.includes('warehouse.duckdb') || names.includes('work');
  return !isBegun && existsSync(warehouseFiles(join(data, STAGING)).published);
}

async function copyFiles(from: string, to: string, manifest: BackupManifest): Promise<void> {
  await makeFolder(join(to, 'plans'));
  for (const { path } of manifest.files) {
    const entry = await lstat(join(from, path)).catch(ignoreMissing);
    if (!entry?.isFile()) continue; // it is found to be missing
    await copyFile(join(from, path), join(to, path), constants.COPYFILE_FICLONE);
    await chmod(join(to, path), PRIVATE_FILE);
  }
  const [first] = await findProblems(to, manifest);
  if (first) {
    throw new TidemarkError('DATA', `${join(from, first.path)} ${first.problem}`, {
      hint: 'see all with `tidemark backup verify`; nothing was restored',
    });
  }
  const paths = manifest.files.map(({ path }) => path);
  await syncFiles(to, paths);
}
