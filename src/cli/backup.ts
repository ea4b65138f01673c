import { resolve } from 'node:path';
import type { Context } from '../core/context.ts';
import { EXIT } from '../core/errors.ts';
import { stripControls } from '../core/log.ts';
import { plural } from '../core/plural.ts';
import type { BackupManifest } from '../run/backup/manifest.ts';
import { restoreBackup, verifyBackup } from '../run/backup/restore.ts';
import { writeBackup } from '../run/backup/write.ts';
import type { DefineCommand } from './define.ts';
import { readLocalConfig } from './options.ts';
import { writeResult } from './output.ts';

export const define: DefineCommand = (backup) => {
  const load = () => import('./backup.ts');
  backup.argument('<dir>', 'new or empty folder, or that of an earlier backup, which is replaced').runs(load, 'backup');
  for (const name of ['verify', 'restore'] as const)
    backup.command(name).argument('<dir>', 'folder of the backup').runs(load, name);
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
  writeResult(context, { ...manifest, problems }, () => `${describeMade(manifest)}: ${end}\n`);
  if (problems.length > 0) context.exit(EXIT.data);
}

export async function restore(context: Context, folder: string): Promise<void> {
  const config = readLocalConfig(context);
  const manifest = await restoreBackup(config, resolve(context.cwd, folder), context.clock.now());
  writeResult(context, manifest, () => `${describeMade(manifest)} in ${config.data}\n`);
}

function describeMade(manifest: BackupManifest): string {
  return `${describe(manifest)} of ${stripControls(manifest.created_at)}`;
}

function describe({ files }: BackupManifest): string {
  const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
  return `${plural(files.length, 'file')}, ${plural(bytes, 'byte')}`;
}
