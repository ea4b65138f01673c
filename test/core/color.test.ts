import { describe, expect, test } from 'vitest';
import { createColors, isColorEnabled } from '../../src/core/color.ts';

describe('colour is written', () => {
  test.each<[string, boolean, Record<string, string>, boolean, boolean]>([
    ['on a terminal', true, {}, false, true],
    ['not to a file', false, {}, false, false],
    ['not with NO_COLOR', true, { NO_COLOR: '1' }, false, false],
    ['with an empty NO_COLOR', true, { NO_COLOR: '' }, false, true],
    ['not with CLICOLOR=0', true, { CLICOLOR: '0' }, false, false],
    ['not on a dumb terminal', true, { TERM: 'dumb' }, false, false],
    ['to a file with FORCE_COLOR', false, { FORCE_COLOR: '1' }, false, true],
    ['to a file with CLICOLOR_FORCE', false, { CLICOLOR_FORCE: '1' }, false, true],
    ['not for CLICOLOR_FORCE=0', false, { CLICOLOR_FORCE: '0' }, false, false],
    ['with FORCE_COLOR before NO_COLOR', true, { FORCE_COLOR: '1', NO_COLOR: '1' }, false, true],
    ['not with FORCE_COLOR=0', true, { FORCE_COLOR: '0' }, false, false],
    ['not with --no-color, even with FORCE_COLOR', true, { FORCE_COLOR: '1' }, true, false],
  ])('%s', (_, isTerminal, env, isDisabled, isEnabled) => {
    expect(isColorEnabled({ isTerminal, env, isDisabled })).toBe(isEnabled);
  });
});

test('without colour a text is unchanged', () => {
  expect(createColors(false).red('a')).toBe('a');
  expect(createColors(true).red('a')).toBe('\u001b[31ma\u001b[39m');
});
