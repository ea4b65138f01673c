import { existsSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import type { Context } from '../core/context.ts';
import { writeFileAtomic } from '../core/fs.ts';

export const HISTORY_LENGTH = 1_000;

/** `$XDG_STATE_HOME/tidemark/history`, by default `~/.local/state/tidemark/history`. */
export function findHistoryFile(env: Context['env']): string {
  const state = env.XDG_STATE_HOME || join(env.HOME || homedir(), '.local', 'state');
  return join(state, 'tidemark', 'history');
}

/** The newest line first. */
export function readHistory(file: string): string[] {
  if (!existsSync(file)) return [];
  return readFileSync(file, 'utf8').split('\n').filter(Boolean).slice(-HISTORY_LENGTH).reverse();
}

/** Writes lines that are given the newest first. */
export async function writeHistory(file: string, lines: readonly string[]): Promise<void> {
  await writeFileAtomic(file, `${[...lines].reverse().join('\n')}\n`);
}
