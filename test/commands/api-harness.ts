import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Command } from 'commander';
import { registerApi } from '../../src/commands/api.ts';
import { systemClock } from '../../src/core/clock.ts';
import type { Context } from '../../src/core/context.ts';
import { TidemarkError } from '../../src/core/errors.ts';
import { createLog } from '../../src/core/log.ts';
import { createRedactor } from '../../src/core/redact.ts';

export interface ApiRun {
  readonly exit: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface ApiInput {
  /** Text of `tidemark.yaml`. */
  readonly config: string;
  readonly json?: boolean;
  readonly stdin?: string;
  readonly terminal?: boolean;
}

/** Runs `tidemark api WORDS` in this process, with a configuration in a directory of its own. */
export async function runApi(words: readonly string[], input: ApiInput): Promise<ApiRun> {
  const cwd = mkdtempSync(join(tmpdir(), 'tidemark-test-'));
  writeFileSync(join(cwd, 'tidemark.yaml'), input.config);
  const out: string[] = [];
  const err: string[] = [];
  const redactor = createRedactor();
  const stderr = (text: string) => err.push(redactor.text(text));
  let exit = 0;
  const terminal = input.terminal ?? false;
  const context: Context = {
    cwd,
    env: {},
    readStdin: async () => input.stdin ?? '',
    readLine: async () => input.stdin ?? '',
    stdinIsTerminal: terminal,
    stdoutIsTerminal: terminal,
    terminal: undefined,
    stdout: (text) => out.push(text),
    stderr,
    color: false,
    json: input.json ?? false,
    quiet: false,
    configFile: './tidemark.yaml',
    clock: systemClock,
    log: createLog({ write: stderr, redactor, quiet: false }),
    redactor,
    exit: (code) => {
      exit = code;
    },
    signal: new AbortController().signal,
  };
  const program = new Command('tidemark').exitOverride().configureOutput({
    writeOut: (text) => out.push(text),
    writeErr: stderr,
  });
  registerApi(program, () => context);
  try {
    await program.parseAsync(['api', ...words], { from: 'user' });
  } catch (error) {
    if (!(error instanceof TidemarkError)) throw error;
    stderr(`error: ${error.message}\n  ${error.hint ?? ''}\n`);
    exit = error.exit;
  } finally {
    rmSync(cwd, { recursive: true });
  }
  return { exit, stdout: out.join(''), stderr: err.join('') };
}
