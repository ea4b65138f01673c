import { type Command, Option } from 'commander';
import type { Context } from '../core/context.ts';
import { startSandbox } from '../sandbox/index.ts';
import type { Flavor } from '../sandbox/types.ts';
import { wholeNumber } from './options.ts';

interface Options {
  readonly workspaces?: number;
  readonly seed?: number;
  readonly rate?: number;
  readonly latency?: number;
  readonly port?: number;
  readonly flavor?: Flavor;
  readonly days: number;
  readonly nights?: number;
}

export function registerSandbox(program: Command, context: () => Context): void {
  program
    .command('sandbox')
    .description('serve the five services on the loopback interface until stopped, and print a configuration for them')
    .option('--workspaces <n>', 'number of workspaces in the estate', wholeNumber)
    .option('--seed <n>', 'seed of the generated estate', wholeNumber)
    .option('--rate <n>', 'requests per second that each service allows', wholeNumber)
    .option('--latency <ms>', 'delay of every response', wholeNumber)
    .option('--port <n>', 'first of five ports', wholeNumber)
    .option('--days <n>', 'simulated days that have passed', wholeNumber, 0)
    .addOption(new Option('--nights <n>', 'earlier name of --days').argParser(wholeNumber).hideHelp())
    .option('--flavor <flavor>', 'spec, or hashicorp for the behaviour of the real products')
    .action((options: Options) => serve(context(), options));
}

async function serve(context: Context, { nights, days, latency, ...options }: Options): Promise<void> {
  const sandbox = await startSandbox({ ...options, ...(latency !== undefined && { latencyMs: latency }) });
  try {
    for (let day = 0; day < (nights ?? days); day++) sandbox.tick();
    context.stdout(sandbox.config());
    context.log.info('serving; press Ctrl-C to stop');
    await new Promise<void>((stopped) => {
      if (context.signal.aborted) stopped();
      context.signal.addEventListener('abort', () => stopped(), { once: true });
    });
  } finally {
    await sandbox.close();
  }
}
