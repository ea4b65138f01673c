import { addExamples, type DefineCommand } from './define.ts';

export const defineStatus: DefineCommand = (program, context) =>
  addExamples(
    program
      .command('status')
      .description('show the last runs, the freshness of every source, and the next runs')
      .action(async () => (await import('../status.ts')).status(context())),
    ['tidemark status', 'show the state of the warehouse'],
    [`tidemark status --json | jq '.sources[] | select(.stale)'`, 'print the stale sources'],
  );
