import { systemClock } from '../../src/core/clock.ts';
import type { Context } from '../../src/core/context.ts';
import { createRedactor } from '../../src/core/redact/redactor.ts';

/** What a command is given, without a terminal; whatever it says is passed over. */
export function quietContext(cwd: string, over: Partial<Context> = {}): Context {
  return {
    cwd,
    env: {},
    readStdin: async () => '',
    readLine: async () => '',
    stdinIsTerminal: false,
    stdoutIsTerminal: false,
    terminal: undefined,
    stdout: () => {},
    stderr: () => {},
    color: false,
    json: false,
    quiet: true,
    configFile: 'tidemark.yaml',
    clock: systemClock,
    log: { info: () => {}, warn: () => {}, error: () => {} },
    redactor: createRedactor(),
    exit: () => {},
    signal: new AbortController().signal,
    ...over,
  };
}
