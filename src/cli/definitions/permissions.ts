import { Option } from 'commander';
import type { PermissionFlags } from '../permissions.ts';
import { addExamples, collect, type DefineCommand } from './define.ts';

export const definePermissions: DefineCommand = (program, context) =>
  addExamples(
    program
      .command('permissions')
      .description('print the least rights that the tokens need, as policies of the services')
      .option('--target <name>', 'only this target; repeatable', collect, [])
      .option('--playbook <name>', 'also the rights of this playbook; repeatable', collect, [])
      .addOption(
        new Option('--token <which>', 'only for one token of each target, without its heading').choices([
          'read',
          'write',
        ]),
      )
      .action(async (flags: PermissionFlags) => (await import('../permissions.ts')).permissions(context(), flags)),
    ['tidemark permissions', 'print what the tokens of all targets need for a pull'],
    ['tidemark permissions --target vault > tidemark.hcl', 'write the policy for one target to a file'],
    ['tidemark permissions --playbook rotate-old-keys', 'include what a playbook needs'],
    [
      'tidemark permissions --target nomad --playbook drop-stale-snapshots --token write',
      'print the policy of the token that applies changes, and nothing else',
    ],
  );
