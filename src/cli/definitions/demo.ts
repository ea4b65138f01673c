import { Option } from 'commander';
import type { DemoFlags } from '../demo.ts';
import { addExamples, type DefineCommand, positiveNumber } from './define.ts';

/** The end of the story from before its incident: what a reader wants to see, in 15 s. */
const DEFAULT_RUNS = 10;

export const defineDemo: DefineCommand = (program, context) =>
  addExamples(
    program
      .command('demo')
      .summary('run the nightly job on a generated estate and keep its warehouse and reports')
      .description('run the nightly job on a generated estate several times, into ./demo')
      .option('--runs <n>', 'number of nightly runs', positiveNumber, DEFAULT_RUNS)
      .addOption(new Option('--nights <n>', 'earlier name of --runs').argParser(positiveNumber).hideHelp())
      .option('--workspaces <n>', 'number of workspaces in the estate', positiveNumber)
      .action(async (flags: DemoFlags) => (await import('../demo.ts')).demo(context(), flags)),
    ['tidemark demo', 'play the last ten nights of an estate into ./demo'],
    ['tidemark demo --runs 3 --workspaces 50', 'play three nights of a small estate'],
  );
