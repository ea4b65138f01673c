import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import type { WriteText } from '../ask/query/protocol.ts';
import { type Context, ignoreReaderGone, ReaderGone } from '../core/context.ts';
import { TidemarkError } from '../core/errors.ts';

/**
 * Writes through the user's pager, as `gh` and `git` do: `TIDEMARK_PAGER`, then `PAGER`, then `less`. An empty value or `cat` means
 * none. `less` ends at once where the text fits the screen.
 */
export async function writeToPager(context: Context, print: (write: WriteText) => Promise<unknown>): Promise<void> {
  const command = findPager(context.env);
  if (command === undefined) return void (await print(context.stream));
  const pager = spawn(command, {
    shell: true,
    stdio: ['pipe', 'inherit', 'inherit'],
    env: { LESS: 'FRX', ...context.env },
  });
  pager.stdin.on('error', () => {}); // `writeToChild` hears of it
  const closed = once(pager, 'close');
  const printed = print((text) => writeToChild(pager, text)).catch(ignoreReaderGone);
  await printed.finally(() => {
    pager.stdin.end();
    return closed;
  });
  if (pager.exitCode) {
    throw new TidemarkError('USAGE', `the pager ${command} failed with exit code ${pager.exitCode}`, {
      hint: 'the result may not be shown: set TIDEMARK_PAGER to another one, or to cat for none',
    });
  }
}

async function writeToChild({ stdin }: ChildProcess, text: string): Promise<void> {
  if (!stdin || stdin.destroyed) throw new ReaderGone();
  await new Promise<void>((resolve, reject) => {
    stdin.write(text, (error) => (error ? reject(new ReaderGone()) : resolve()));
  });
}

function findPager(env: Context['env']): string | undefined {
  const chosen = env.TIDEMARK_PAGER ?? env.PAGER;
  if (chosen !== undefined) return chosen === '' || chosen === 'cat' ? undefined : chosen;
  if (env.TERM === 'dumb') return undefined;
  return (env.PATH ?? '').split(delimiter).some((folder) => existsSync(join(folder, 'less'))) ? 'less' : undefined;
}
