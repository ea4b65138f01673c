import { type Command, InvalidArgumentError } from 'commander';
import type { Context } from '../core/context.ts';
import { startSandbox } from '../sandbox/index.ts';
import type { Flavor } from '../sandbox/types.ts';

interface Options {
  readonly workspaces?: number;
  readonly seed?: number;
  readonly rate?: number;
  readonly latency?: number;
  readonly port?: number;
  readonly flavor?: Flavor;
  readonly nights: number;
}

export function registerSandbox(program: Command, context: () => Context): void {
  program
    .command('sandbox')
    .description('serve the five services on loopback until stopped, and print a config for them')
    .option('--workspaces <n>', 'size of the estate', whole)
    .option('--seed <n>', 'another estate', whole)
    .option('--rate <n>', 'requests a second that each service allows', whole)
    .option('--latency <ms>', 'slow every answer by so much', whole)
    .option('--port <n>', 'first of five ports', whole)
    .option('--nights <n>', 'nights that have passed', whole, 0)
    .option('--flavor <flavor>', 'documents, or hashicorp for what the real products do')
    .action((options: Options) => serve(context(), options));
}

function whole(text: string): number {
  if (!/^\d+$/u.test(text)) throw new InvalidArgumentError('must be a whole number');
  return Number(text);
}

async function serve(context: Context, { nights, latency, ...options }: Options): Promise<void> {
  const sandbox = await startSandbox({ ...options, ...(latency !== undefined && { latencyMs: latency }) });
  try {
    for (let night = 0; night < nights; night++) sandbox.advance();
    context.stdout(sandbox.config());
    context.log.info('serving; stop with Ctrl-C');
    await new Promise<void>((stopped) => {
      if (context.signal.aborted) stopped();
      context.signal.addEventListener('abort', () => stopped(), { once: true });
    });
  } finally {
    await sandbox.close();
  }
}
