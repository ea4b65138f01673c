import { once } from 'node:events';
import { DAY_MS } from '../core/clock.ts';
import type { Context } from '../core/context.ts';
import { TidemarkError } from '../core/errors.ts';
import { type DefineCommand, port, positiveNumber, whole, wholeNumber } from './define.ts';
import { loadSandbox, type StartOptions } from './demo-services.ts';

export const define: DefineCommand = (command) =>
  command
    .option('--workspaces <n>', 'number of workspaces in the estate', wholeNumber)
    .option('--seed <n>', 'seed of the estate; `hostile` for names that careless programs fail on', parseSeed)
    .option('--rate <n>', 'requests per second that each service allows', positiveNumber)
    .option('--latency <ms>', 'delay of every response', wholeNumber)
    .option('--port <n>', 'first of six ports', port)
    .option('--days <n>', 'simulated days that have passed', wholeNumber, 0)
    .option('--no-explorer', 'a platform without the explorer: only the list of its workspaces')
    .choice('--flavor <flavor>', 'hashicorp for the behaviour of the real products', ['spec', 'hashicorp'])
    .runs(() => import('./sandbox.ts'), 'serve');

const seedNumber = whole('a whole number, or `hostile`');
const parseSeed = (text: string) => (text === 'hostile' ? text : seedNumber(text));

type SandboxFlags = Omit<StartOptions, 'start'> & { readonly latency?: number; readonly days: number };

/** Serves the six services until stopped. */
export async function serve(context: Context, { days, latency, ...options }: SandboxFlags): Promise<void> {
  const clock = () => context.clock.now();
  const start = new Date(clock().getTime() - days * DAY_MS);
  const { startSandbox } = await loadSandbox();
  const sandbox = await startSandbox({ ...options, latencyMs: latency, start, clock }).catch(rethrowPort);
  try {
    sandbox.advanceTo(clock());
    context.stdout(sandbox.config());
    context.log.info('serving; press Ctrl-C to stop');
    if (!context.signal.aborted) await once(context.signal, 'abort');
  } finally {
    await sandbox.close();
  }
}

/** @throws TidemarkError USAGE where the six ports cannot be had, and every other error as it is */
function rethrowPort(cause: NodeJS.ErrnoException & { readonly port?: number }): never {
  if (cause.syscall !== 'listen' && cause.code !== 'ERR_SOCKET_BAD_PORT') throw cause;
  const where = cause.port === undefined ? 'on a port above 65535' : `on port ${cause.port}`;
  throw new TidemarkError('USAGE', `cannot listen ${where}${cause.code === 'EADDRINUSE' ? ', which is in use' : ''}`, {
    hint: 'give another --port',
    cause,
  });
}
