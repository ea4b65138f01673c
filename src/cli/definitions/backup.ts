import type { Command } from 'commander';
import type { Context } from '../../core/context.ts';
import { addExamples, type DefineCommand } from './define.ts';

export const defineBackup: DefineCommand = (program, context) => {
  const backup = program
    .command('backup')
    .summary('write what cannot be pulled again into a folder, verify it, or restore it')
    .description('write what cannot be pulled again into a folder: warehouse, ledger, plans and approvals')
    .argument('<dir>', 'new or empty folder, or that of an earlier backup, which is replaced')
    .action(async (folder: string) => (await import('../backup.ts')).backup(context(), folder));
  defineVerify(backup, context);
  defineRestore(backup, context);
  return addExamples(
    backup,
    ['tidemark backup /mnt/backup/tidemark', 'make a backup, also while a run is under way'],
    ['tidemark backup verify /mnt/backup/tidemark', 'compare its files with their checksums'],
  );
};

function defineVerify(backup: Command, context: () => Context): void {
  addExamples(
    backup
      .command('verify')
      .description('compare every file of a backup with its size and checksum')
      .argument('<dir>', 'folder of the backup')
      .action(async (folder: string) => (await import('../backup.ts')).verify(context(), folder)),
    ['tidemark backup verify /mnt/backup/tidemark', 'exit 4 if a file is missing or damaged'],
  );
}

function defineRestore(backup: Command, context: () => Context): void {
  addExamples(
    backup
      .command('restore')
      .description('fill an empty data folder with a backup')
      .argument('<dir>', 'folder of the backup')
      .action(async (folder: string) => (await import('../backup.ts')).restore(context(), folder)),
    ['tidemark backup restore /mnt/backup/tidemark', 'restore on a new machine, then go on'],
  );
}
