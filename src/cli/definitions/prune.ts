import type { PruneFlags } from '../prune.ts';
import { addExamples, type DefineCommand } from './define.ts';

export const definePrune: DefineCommand = (program, context) =>
  addExamples(
    program
      .command('prune')
      .summary('show what is older than the configuration keeps, or remove it')
      .description('show what is older than `landingDays`, `planDays`, `reportDays` and `historyDays`, or remove it')
      .option('--dry-run', 'only show what goes (the default)')
      .option('--yes', 'remove it')
      .action(async (flags: PruneFlags) => (await import('../prune.ts')).prune(context(), flags)),
    ['tidemark prune', 'show what the next run removes'],
    ['tidemark prune --yes', 'remove it now'],
  );
