import { run } from '../../src/cli.ts';
import type { ProcessIo } from '../../src/core/context.ts';
import { Redactor } from '../../src/core/redact/redactor.ts';

/** What a command left: its exit code and both streams. */
export interface CliRun {
  readonly exit: number;
  readonly stdout: string;
  readonly stderr: string;
  /** stdout as JSON. */
  json<T = unknown>(): T;
}

export type CliOptions = { readonly cwd: string } & Partial<Omit<ProcessIo, 'cwd' | 'stdout' | 'stderr'>> & {
    readonly stdin?: string;
    /** Receives what the command writes to stderr, while it runs. */
    readonly onStderr?: (text: string) => void;
  };

/** Runs one command line in this process, as `tidemark WORDS` would in `cwd`. */
export async function cli(words: readonly string[], options: CliOptions): Promise<CliRun> {
  const { stdin = '', onStderr, ...io } = options;
  let stdout = '';
  let stderr = '';
  const exit = await run(words, {
    program: 'tidemark',
    env: {},
    stdinIsTerminal: false,
    console: undefined,
    screen: undefined,
    terminal: undefined,
    readStdin: async () => stdin,
    readLine: async () => stdin.split('\n', 1)[0] ?? '',
    drain: async () => {},
    redactor: new Redactor(),
    signal: new AbortController().signal,
    timeouts: { backoffMs: 4, maxBackoffMs: 20 },
    ...io,
    stdout: (text) => {
      stdout += text;
    },
    stderr: (text) => {
      stderr += text;
      onStderr?.(text);
    },
  });
  return { exit, stdout, stderr, json: <T>() => JSON.parse(stdout) as T };
}
