import type { PullFlags } from '../pull.ts';
import { addExamples, collect, type DefineCommand } from './define.ts';

export const definePull: DefineCommand = (program, context) =>
  addExamples(
    program
      .command('pull')
      .description('extract from the targets and load the warehouse')
      .option('--target <name>', 'only this target; repeatable', collect, [])
      .option('--source <name>', 'only this source, or the source of this table; repeatable', collect, [])
      .option('--from <run>', 'load the landing of this run again, without the network')
      .option('--fresh', 'extract everything again, including what an interrupted pull landed')
      .option(
        '--accept-shrink <source>',
        'pull this source and accept the loss of many of its rows; repeatable',
        collect,
        [],
      )
      .action(async (flags: PullFlags) => (await import('../pull.ts')).pull(context(), flags)),
    ['tidemark pull', 'pull every source of every target'],
    ['tidemark pull --target acme --source workspaces --source agents', 'pull two sources of one target'],
    ['tidemark pull --accept-shrink agents', 'confirm that most agents are gone'],
  );
