import { describe, expect, test } from 'vitest';
import { cli } from '../helpers/cli.ts';
import { tempFolder } from '../helpers/temp.ts';

const ESCAPE = '\u001b[';

describe('colour on stdout', () => {
  test.each([
    ['on a terminal', { isTerminal: true }, true],
    ['not in a pipe', { isTerminal: false }, false],
    ['not with NO_COLOR', { isTerminal: true, env: { NO_COLOR: '1' } }, false],
    ['in a pipe with FORCE_COLOR', { isTerminal: false, env: { FORCE_COLOR: '1' } }, true],
    ['with FORCE_COLOR, whatever NO_COLOR says', { isTerminal: false, env: { FORCE_COLOR: '1', NO_COLOR: '1' } }, true],
    [
      'not with --no-color, whatever FORCE_COLOR says',
      { isTerminal: true, env: { FORCE_COLOR: '1' }, off: true },
      false,
    ],
  ])('%s', async (_when, { isTerminal, env = {}, off = false }: Case, isColoured) => {
    const words = [...(off ? ['--no-color'] : []), 'tables', 'agents'];
    const screen = isTerminal ? { columns: 80, rows: 24 } : undefined;
    const { stdout } = await cli(words, { cwd: await tempFolder(), env, screen });
    expect(stdout).toContain('agent_id');
    expect(stdout.includes(ESCAPE)).toBe(isColoured);
  });
});

interface Case {
  readonly isTerminal: boolean;
  readonly env?: Readonly<Record<string, string>>;
  readonly off?: boolean;
}

test('errors on a terminal begin with a red word, elsewhere with a plain one', async () => {
  const cwd = await tempFolder();
  const terminal = process.stderr;
  const { stderr } = await cli(['status'], { cwd, terminal });
  expect(stderr.startsWith(`${ESCAPE}31merror:${ESCAPE}39m `)).toBe(true);
  expect((await cli(['status'], { cwd })).stderr).toMatch(/^error: /u);
});
