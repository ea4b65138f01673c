import { randomInt } from 'node:crypto';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect } from 'vitest';
import { PACKAGE_ROOT } from '../../../src/core/paths.ts';
import { buildCommand, startCommand } from '../../helpers/built-command.ts';

const KILLER = pathToFileURL(join(PACKAGE_ROOT, 'test', 'helpers', 'kill-at-write.js')).href;

/**
 * Kills a command before one of its first changes of a file, before the one that is `every` changes later and so on, until it ends by itself.
 * @returns the last of these changes
 */
export async function killAtWrites(
  every: number,
  words: readonly string[],
  cwd: string,
  check: () => Promise<void>,
): Promise<number> {
  const command = await buildCommand();
  for (let at = 1 + randomInt(every); ; at += every) {
    const env = { NODE_OPTIONS: `--import ${KILLER}`, KILL_AT: String(at) };
    const { exit, stderr } = await startCommand(command, words, cwd, env).ended;
    await check().catch((cause: unknown) => {
      throw new Error(`after ${words.join(' ')}, killed before change ${at}`, { cause });
    });
    if (exit === null) continue;
    expect(exit, stderr).toBe(0);
    return at - every;
  }
}
