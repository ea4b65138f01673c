import { addExamples, type DefineCommand } from './define.ts';

export const defineSchedule: DefineCommand = (program, context) =>
  addExamples(
    program
      .command('schedule')
      .summary('run every job at its scheduled time')
      .description('run every job at its scheduled time, until stopped')
      .option('--list', 'print the next run of each job and exit')
      .action(async (flags: { readonly list?: boolean }) =>
        (await import('../schedule.ts')).schedule(context(), flags.list ?? false),
      ),
    ['tidemark schedule', 'run jobs until stopped'],
    ['tidemark schedule --list', 'print when each job runs next'],
  );
