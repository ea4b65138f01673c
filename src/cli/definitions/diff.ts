import { Option } from 'commander';
import { DIFF_FORMATS } from '../../core/choices.ts';
import type { DiffFlags } from '../diff.ts';
import { addExamples, type DefineCommand, MOMENT } from './define.ts';

export const defineDiff: DefineCommand = (program, context) =>
  addExamples(
    program
      .command('diff')
      .summary('show what changed between two moments')
      .description('show what changed between two moments, by table and subject; by default between the last two pulls')
      .argument('[from]', `${MOMENT}; by default the complete pull before TO`)
      .argument('[to]', 'as FROM; by default the last complete pull')
      .option('--table <name>', 'only this table')
      .option('--target <name>', 'only this target')
      .option('--project <text>', 'only the workspaces of this project, by name or ID')
      .option('--subject <name>', 'only what has this name or ID')
      .option('--stat', 'print numbers only')
      .option('--exit-code', 'exit 5 if there are differences, 1 if that is unknown')
      .addOption(new Option('--format <format>', 'output format').choices([...DIFF_FORMATS]))
      // `-7d` is a moment.
      .allowUnknownOption()
      .action(async (from: string | undefined, to: string | undefined, flags: DiffFlags) =>
        (await import('../diff.ts')).diff(context(), { from, to, ...flags }),
      ),
    ['tidemark diff', 'show what changed in the last night'],
    ['tidemark diff -7d --stat', 'count what changed in a week'],
    [
      'tidemark diff 2026-11-01 yesterday --project payments --format markdown',
      'write the changes of a project for a ticket',
    ],
    ['tidemark diff --table acl_policies --exit-code', 'fail a pipeline if a policy changed'],
  );
