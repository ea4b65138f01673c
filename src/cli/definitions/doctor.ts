import { addExamples, type DefineCommand } from './define.ts';

export const defineDoctor: DefineCommand = (program, context) =>
  addExamples(
    program
      .command('doctor')
      .summary('check targets, permissions, limits, clock, warehouse and mail')
      .description('check each target (reachable, token, permissions, rate limit, clock), the warehouse and mail')
      .action(async () => (await import('../doctor.ts')).doctor(context())),
    ['tidemark doctor', 'check everything that a run needs'],
    [`tidemark doctor --json | jq '.[] | select(.ok | not)'`, 'print only what failed'],
  );
