import { execFile, spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { PACKAGE_ROOT } from '../../src/core/paths.ts';

/** Why tests in a pseudo-terminal cannot run; undefined where they can. */
export const noTerminal =
  spawnSync('python3', ['-c', 'import pty']).status === 0 ? undefined : 'python3 with the module pty is missing';

/** Progress is drawn many times a second. */
const MAX_SHOWN_BYTES = 64 * 2 ** 20;

export interface TerminalRun {
  /** As a shell reports it: 130 after SIGINT. */
  readonly exit: number;
  /** Everything that the terminal showed, the echo of what was typed included. */
  readonly shown: string;
}

/** Runs the built command in a pseudo-terminal. Each step is a text to wait for, and what is typed then; `\u0003` is Ctrl-C. */
export async function runInTerminal(
  command: string,
  words: readonly string[],
  steps: readonly (readonly [wait: string, type: string])[],
  { cwd, env = {} }: { readonly cwd: string; readonly env?: NodeJS.ProcessEnv },
): Promise<TerminalRun> {
  return runProgramInTerminal([process.execPath, command, ...words], steps, { cwd, env });
}

/** Runs any program in a pseudo-terminal, as `runInTerminal` does. */
export async function runProgramInTerminal(
  program: readonly string[],
  steps: readonly (readonly [wait: string, type: string])[],
  { cwd, env = {} }: { readonly cwd: string; readonly env?: NodeJS.ProcessEnv },
): Promise<TerminalRun> {
  const script = join(PACKAGE_ROOT, 'test', 'helpers', 'terminal.py');
  const { stdout } = await promisify(execFile)('python3', [script, JSON.stringify(steps), ...program], {
    cwd,
    env: { PATH: process.env.PATH, NO_COLOR: '1', ...env },
    maxBuffer: MAX_SHOWN_BYTES,
  });
  return JSON.parse(stdout) as TerminalRun;
}
