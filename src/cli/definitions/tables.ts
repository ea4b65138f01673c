import { addExamples, type DefineCommand } from './define.ts';

export const defineTables: DefineCommand = (program, context) =>
  addExamples(
    program
      .command('tables')
      .description('describe the tables and their columns')
      .argument('[name]', 'one table')
      .action(async (name?: string) => (await import('../tables.ts')).tables(context(), name)),
    ['tidemark tables', 'list all tables'],
    ['tidemark tables workspaces', 'describe every column of a table'],
  );
