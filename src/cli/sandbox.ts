import { once } from 'node:events';
import { DAY_MS } from '../core/clock.ts';
import type { Context } from '../core/context.ts';
import { TidemarkError } from '../core/errors.ts';
import { type Flavor, loadSandbox } from './load-sandbox.ts';

export interface SandboxFlags {
  readonly workspaces?: number;
  readonly seed?: number | 'hostile';
  readonly rate?: number;
  readonly latency?: number;
  readonly port?: number;
  readonly flavor?: Flavor;
  readonly explorer: boolean;
  readonly days: number;
  readonly nights?: number;
}

/** Serves the six services until stopped. */
export async function serve(context: Context, { nights, days, latency, ...options }: SandboxFlags): Promise<void> {
  const clock = () => context.clock.now();
  const start = new Date(clock().getTime() - (nights ?? days) * DAY_MS);
  const latencyMs = latency !== undefined && { latencyMs: latency };
  const { startSandbox } = await loadSandbox();
  const sandbox = await startSandbox({ ...options, ...latencyMs, start, clock }).catch(rethrowPort);
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
