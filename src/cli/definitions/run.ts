import type { RunFlags } from '../run.ts';
import { addExamples, collect, type DefineCommand } from './define.ts';

export const defineRun: DefineCommand = (program, context) =>
  addExamples(
    program
      .command('run')
      .description('run one job now: pull, findings, reports, mail')
      .argument('<job>', 'name of a file in jobs/')
      .option('--target <name>', 'pull only this target; repeatable', collect, [])
      .action(async (name: string, flags: RunFlags) => (await import('../run.ts')).run(context(), name, flags)),
    ['tidemark run nightly', 'run the nightly job'],
    ['tidemark run nightly --target acme', 'pull one target only'],
  );
