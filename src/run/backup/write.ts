import { randomBytes } from 'node:crypto';
import { lstatSync } from 'node:fs';
import { chmod, constants, copyFile, lstat, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ledgerFile } from '../../act/ledger.ts';
import { inspectLedger } from '../../act/ledger-file.ts';
import { readSeenLedger } from '../../act/ledger-table.ts';
import { listPlanIds, planFile } from '../../act/plan-store.ts';
import type { Config } from '../../config/config.ts';
import { TidemarkError } from '../../core/errors.ts';
import { hashFile, ignoreMissing, makeFolder, PRIVATE_FILE, removePaths, writeFileAtomic } from '../../core/fs.ts';
import { version } from '../../core/paths.ts';
import { acquireLock } from '../../warehouse/lock.ts';
import { warehouseFiles } from '../../warehouse/publish.ts';
import { withPublished } from '../../warehouse/session.ts';
import { verifyChecksums } from '../../warehouse/storage.ts';
import { type BackupManifest, FILES, findManifest, LOST_FOUND, MANIFEST, syncFiles } from './manifest.ts';

const LOCK = 'lock';

/**
 * Writes what cannot be pulled again: the published warehouse, the ledger, the plans with their approvals, and whether applies are stopped. A run or an apply may be
 * under way: the warehouse is copied first, so that the ledger continues what it has seen, and a plan is kept before the ledger names it.
 * @throws TidemarkError UNREACHABLE without a warehouse; UNSAFE for a folder with something else; DATA for a warehouse that is corrupt, or
 * a ledger that is refused
 */
export async function writeBackup(config: Config, folder: string, now: Date): Promise<BackupManifest> {
  await withPublished(config, ({ database, files }) => verifyChecksums(database, files, true));
  await assertBackupFolder(folder);
  await makeFolder(folder);
  const lock = await acquireLock(join(folder, LOCK), 'backup', now);
  try {
    const name = `files-${randomBytes(4).toString('hex')}`;
    const paths = await copyData(config, join(folder, name));
    const files = [];
    for (const path of paths) {
      const file = join(folder, name, path);
      files.push({ path, bytes: (await lstat(file)).size, sha256: await hashFile(file) });
    }
    const manifest: BackupManifest = {
      format: 'tidemark-backup',
      version: 1,
      created_at: now.toISOString(),
      program: version,
      folder: name,
      files,
    };
    lock.assertHeld();
    await writeFileAtomic(join(folder, MANIFEST), `${JSON.stringify(manifest, null, 2)}\n`);
    return manifest;
  } finally {
    await removeOthers(folder);
    await lock.release();
  }
}

/** @throws TidemarkError UNSAFE for a folder that has something else than a backup, or the rest of one that was killed. */
async function assertBackupFolder(folder: string): Promise<void> {
  const names = (await readdir(folder).catch(ignoreMissing)) ?? [];
  const isOurs = (name: string) => FILES.test(name) || name.startsWith(MANIFEST) || name.startsWith(LOCK);
  const other = names.find((name) => !isOurs(name) && name !== LOST_FOUND);
  const refuse = (what: string, cause?: unknown) =>
    new TidemarkError('UNSAFE', `${folder} is not empty, and is no backup: it has ${what}`, {
      hint: 'name an empty or new folder, or that of an earlier backup',
      cause,
    });
  if (other !== undefined) throw refuse(other);
  await findManifest(folder).catch((error: unknown) => {
    throw error instanceof TidemarkError ? refuse(MANIFEST, error) : error;
  });
}

/** Removes the files of earlier backups, and of this one if it has no manifest. */
async function removeOthers(folder: string): Promise<void> {
  const kept = (await findManifest(folder))?.folder;
  const names = (await readdir(folder)).filter((name) => FILES.test(name) && name !== kept);
  await removePaths(names.map((name) => join(folder, name)));
}

/** A ledger is written again by commands that repair it, and then may not belong to the warehouse that was copied just before. */
const ATTEMPTS = 3;

/** @returns the paths of the files below `to` */
async function copyData(config: Config, to: string): Promise<readonly string[]> {
  await makeFolder(join(to, 'plans'));
  const ledger = await copyLedger(config, to);
  const plans: string[] = [];
  for (const id of await listPlanIds(config)) {
    // A run may remove an old plan meanwhile.
    const copy = await copyPrivate(planFile(config, id), planFile({ data: to }, id)).catch(ignoreMissing);
    if (copy !== undefined) plans.push(`plans/${id}.json`);
  }
  // Whatever has the name stops applies.
  const stops = lstatSync(join(config.data, 'STOP'), { throwIfNoEntry: false }) ? ['STOP'] : [];
  for (const name of stops) await writeFile(join(to, name), '', { mode: PRIVATE_FILE });
  const paths = ['warehouse.duckdb', ...ledger, ...plans, ...stops];
  await syncFiles(to, paths);
  return paths;
}

/** Copies the warehouse, then the ledger. */
async function copyLedger(config: Config, to: string): Promise<readonly string[]> {
  for (let attempt = 1; ; attempt++) {
    await copyPrivate(warehouseFiles(config.data).published, warehouseFiles(to).published);
    const text = await readFile(ledgerFile(config.data), 'utf8').catch(ignoreMissing);
    // A line that is being written is of an action that was not started, or whose outcome will be read.
    if (text !== undefined)
      await writeFile(ledgerFile(to), text.slice(0, text.lastIndexOf('\n') + 1), { mode: PRIVATE_FILE });
    else await removePaths([ledgerFile(to)]);
    const seen = await withPublished({ ...config, data: to }, readSeenLedger);
    const { isMissing, problems } = await inspectLedger(to, seen);
    const [first] = problems;
    if (first === undefined) return isMissing ? [] : ['ledger.ndjson'];
    if (attempt < ATTEMPTS) continue;
    throw new TidemarkError('DATA', `the ledger does not belong to the warehouse: it ${first.problem}`, {
      hint: 'see `tidemark playbook ledger verify`; nothing is backed up before it is repaired',
    });
  }
}

async function copyPrivate(from: string, to: string): Promise<string> {
  await removePaths([to]);
  await copyFile(from, to, constants.COPYFILE_FICLONE);
  await chmod(to, PRIVATE_FILE);
  return to;
}
