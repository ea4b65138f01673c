import { Option } from 'commander';
import type { SandboxFlags } from '../sandbox.ts';
import { addExamples, type DefineCommand, port, wholeNumber } from './define.ts';

export const defineSandbox: DefineCommand = (program, context) =>
  addExamples(
    program
      .command('sandbox')
      .summary('serve the six services on the loopback interface')
      .description('serve the six services on the loopback interface until stopped, and print a configuration for them')
      .option('--workspaces <n>', 'number of workspaces in the estate', wholeNumber)
      .option('--seed <n>', 'seed of the estate; `hostile` for names that careless programs fail on', parseSeed)
      .option('--rate <n>', 'requests per second that each service allows', wholeNumber)
      .option('--latency <ms>', 'delay of every response', wholeNumber)
      .option('--port <n>', 'first of six ports', port)
      .option('--days <n>', 'simulated days that have passed', wholeNumber, 0)
      .addOption(new Option('--nights <n>', 'earlier name of --days').argParser(wholeNumber).hideHelp())
      .option('--no-explorer', 'a platform without the explorer: only the list of its workspaces')
      .option('--flavor <flavor>', 'spec, or hashicorp for the behaviour of the real products')
      .action(async (flags: SandboxFlags) => (await import('../sandbox.ts')).serve(context(), flags)),
    ['tidemark sandbox > tidemark.yaml', 'serve an estate, with its configuration in a file'],
    [
      'tidemark sandbox --flavor hashicorp --latency 50 --rate 30',
      'behave like the real products, slow and with a rate limit',
    ],
  );

function parseSeed(text: string): number | 'hostile' {
  return text === 'hostile' ? text : wholeNumber(text);
}
