import { systemClock } from '../../src/core/clock.ts';
import { createColors } from '../../src/core/color.ts';
import type { Context } from '../../src/core/context.ts';
import { Redactor } from '../../src/core/redact/redactor.ts';

/** The context of a command without a terminal. Its output is discarded. */
export function quietContext(cwd: string, over: Partial<Context> = {}): Context {
  return {
    program: 'tidemark',
    cwd,
    env: {},
    readStdin: async () => '',
    readLine: async () => '',
    stdinIsTerminal: false,
    drain: async () => {},
    terminal: undefined,
    stdout: () => {},
    print: async () => {},
    stream: async () => {},
    screen: undefined,
    console: undefined,
    stderr: () => {},
    colors: createColors(false),
    json: false,
    quiet: true,
    configFile: 'tidemark.yaml',
    clock: systemClock,
    log: { info: () => {}, warn: () => {}, error: () => {} },
    redactor: new Redactor(),
    exit: () => {},
    signal: new AbortController().signal,
    ...over,
  };
}
