import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect } from 'vitest';
import { PACKAGE_ROOT } from '../../../src/core/paths.ts';
import { buildCommand, startCommand } from '../../helpers/built-command.ts';

const KILLER = pathToFileURL(join(PACKAGE_ROOT, 'test', 'helpers', 'kill-at-write.js')).href;

/** Kills a command before its first change of a file, before its second and so on, until it ends by itself. @returns the number of kills */
export async function killAtEachWrite(
  words: readonly string[],
  cwd: string,
  check: () => Promise<void>,
): Promise<number> {
  const command = await buildCommand();
  for (let kills = 0; ; kills++) {
    const env = { NODE_OPTIONS: `--import ${KILLER}`, KILL_AT: String(kills + 1) };
    const { exit, stderr } = await startCommand(command, words, cwd, env).ended;
    await check();
    if (exit === null) continue;
    expect(exit, stderr).toBe(0);
    return kills;
  }
}
