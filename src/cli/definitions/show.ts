import type { ShowFlags } from '../show.ts';
import { addExamples, type DefineCommand, MOMENT } from './define.ts';

export const defineShow: DefineCommand = (program, context) =>
  addExamples(
    program
      .command('show')
      .description('show a workspace, pool, key, volume or another subject: its present, its history and its findings')
      .argument('<subject>', 'name or ID, its unique beginning or part, or KIND/NAME such as agent-pool/eu')
      .option('--target <name>', 'target of the subject')
      .option('--as-of <moment>', `time of the data: ${MOMENT}; the last pull by default`)
      .option('--html <file>', 'write the page to a file instead')
      .action(async (subject: string, flags: ShowFlags) =>
        (await import('../show.ts')).show(context(), subject, flags),
      ),
    ['tidemark show payments-prod', 'show a subject by its name'],
    ['tidemark show volume/default/db --as-of 2026-11-01', 'show a volume as it was on a day'],
    ['tidemark show key/ledger --html ledger.html', 'write the page of a key'],
  );
