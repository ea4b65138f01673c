import { Option } from 'commander';
import type { ApiFlags } from '../api.ts';
import { addExamples, type DefineCommand } from './define.ts';

export const defineApi: DefineCommand = (program, context) => {
  const command = program
    .command('api')
    .description('call any operation of a service')
    .argument('[operation]', 'KIND.RESOURCE.VERB; see --list')
    .argument('[parameters...]', 'name=value; see --help OPERATION')
    .option('--target <name>', 'target to call; required where several of the kind are configured')
    .option('--body <json>', 'request body: JSON, @FILE, or - for standard input')
    .option('--all', 'follow every page and print one array')
    .option('--yes', 'change something without confirmation')
    .option('--create', 'let an update create what does not exist')
    .option('--unchecked', 'send parameters and filters of a read that the API documents do not list')
    .option('--list', 'list the operations')
    .helpOption(false)
    .addOption(new Option('-h, --help', 'show help, for an operation if one is given'))
    .action(async (name: string | undefined, parameters: string[], flags: ApiFlags) => {
      if (name === undefined && !flags.list) command.help({ error: !flags.help });
      await (await import('../api.ts')).api(context(), name, parameters, flags);
    });
  command.addHelpText(
    'after',
    '\nIt prints what the service answers, with the secrets in it: only tokens and passwords of the configuration are masked.',
  );
  return addExamples(
    command,
    ['tidemark api --list', 'list the operations'],
    [
      'tidemark api platform.agents.list agent_pool_id=apool-1 --all',
      'print the agents of a pool, all pages as one array',
    ],
    ['tidemark api platform.agents.delete --help', 'show the parameters of an operation'],
    ['tidemark api secrets.keys.rotate name=payments --yes', 'change something without a question'],
  );
};
