import { resolve } from 'node:path';
import type { Context } from '../core/context.ts';
import { EXIT } from '../core/errors.ts';
import { plural } from '../core/plural.ts';
import type { BackupManifest } from '../run/backup/manifest.ts';
import { restoreBackup, verifyBackup } from '../run/backup/restore.ts';
import { writeBackup } from '../run/backup/write.ts';
import type { DefineCommand } from './define.ts';
import { readLocalConfig } from './options.ts';
import { writeResult } from './output.ts';

export const define: DefineCommand = (backup, context) => {
  backup
    .description('write what cannot be pulled again into a folder: warehouse, ledger, plans and approvals')
    .argument('<dir>', 'new or empty folder, or that of an earlier backup, which is replaced')
    .action(async (folder: string) => (await import('./backup.ts')).backup(context(), folder))
    .examples(
      ['tidemark backup /mnt/backup/tidemark', 'make a backup, also while a run is under way'],
      ['tidemark backup verify /mnt/backup/tidemark', 'compare its files with their checksums'],
    );
  backup
    .command('verify')
    .description('compare every file of a backup with its size and checksum')
    .argument('<dir>', 'folder of the backup')
    .action(async (folder: string) => (await import('./backup.ts')).verify(context(), folder))
    .examples(['tidemark backup verify /mnt/backup/tidemark', 'exit 4 if a file is missing or damaged']);
  backup
    .command('restore')
    .description('fill an empty data folder with a backup')
    .argument('<dir>', 'folder of the backup')
    .action(async (folder: string) => (await import('./backup.ts')).restore(context(), folder))
    .examples(['tidemark backup restore /mnt/backup/tidemark', 'restore on a new machine, then go on']);
};

export async function backup(context: Context, folder: string): Promise<void> {
  const path = resolve(context.cwd, folder);
  const manifest = await writeBackup(readLocalConfig(context), path, context.clock.now());
  writeResult(context, manifest, () => `${describe(manifest)} in ${path}\n`);
}

/** Exits 4 if a file is missing or damaged. */
export async function verify(context: Context, folder: string): Promise<void> {
  const { manifest, problems } = await verifyBackup(resolve(context.cwd, folder));
  for (const { path, problem } of problems) context.log.error(`${path} ${problem}`);
  const end = problems.length === 0 ? 'all complete' : plural(problems.length, 'problem');
  writeResult(context, { ...manifest, problems }, () => `${describe(manifest)} of ${manifest.created_at}: ${end}\n`);
  if (problems.length > 0) context.exit(EXIT.data);
}

export async function restore(context: Context, folder: string): Promise<void> {
  const config = readLocalConfig(context);
  const manifest = await restoreBackup(config, resolve(context.cwd, folder), context.clock.now());
  writeResult(context, manifest, () => `${describe(manifest)} of ${manifest.created_at} in ${config.data}\n`);
}

function describe({ files }: BackupManifest): string {
  return `${plural(files.length, 'file')}, ${plural(
    files.reduce((sum, { bytes }) => sum + bytes, 0),
    'byte',
  )}`;
}
