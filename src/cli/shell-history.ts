import { readFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import type { Context } from '../core/context.ts';
import { errorMessage } from '../core/errors.ts';
import { ignoreMissing, writeFileAtomic } from '../core/fs.ts';

export const HISTORY_LENGTH = 1_000;

/**
 * The lines that were typed, the newest first, and what writes newer ones to the file. The shell works without a history: a home folder may be
 * missing or read-only.
 */
export async function openHistory({ env, log }: Pick<Context, 'env' | 'log'>) {
  const warn = (error: unknown) => log.warn(`the history is not kept: ${errorMessage(error)}`);
  try {
    const file = findHistoryFile(env);
    const text = (await readFile(file, 'utf8').catch(ignoreMissing)) ?? '';
    return {
      lines: text.split('\n').filter(Boolean).slice(-HISTORY_LENGTH).reverse(),
      write: (lines: readonly string[]) => writeFileAtomic(file, `${[...lines].reverse().join('\n')}\n`).catch(warn),
    };
  } catch (error) {
    warn(error);
    return { lines: [], write: async () => {} };
  }
}

/** `$XDG_STATE_HOME/tidemark/history`, by default `~/.local/state/tidemark/history`. */
function findHistoryFile(env: Context['env']): string {
  const state = env.XDG_STATE_HOME || join(env.HOME || homedir(), '.local', 'state');
  return join(state, 'tidemark', 'history');
}
