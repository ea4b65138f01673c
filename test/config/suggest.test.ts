import { expect, test } from 'vitest';
import { closestMatch, unknownName } from '../../src/config/suggest.ts';

test.each([
  ['workspace', 'workspaces'],
  ['AGENTS', 'agents'],
  ['agnets', 'agents'],
  ['drift', 'drifted-workspace'],
  ['zzz', undefined],
])('%s is closest to %s', (name, closest) => {
  expect(closestMatch(name, ['agents', 'workspaces', 'keys', 'drifted-workspace'])).toBe(closest);
});

test('an unknown name is explained by the closest one, otherwise by all', () => {
  expect(unknownName('job', 'nightyl', ['nightly'])).toMatchObject({
    code: 'USAGE',
    message: 'unknown job nightyl',
    hint: 'did you mean nightly?',
  });
  expect(unknownName('job', 'zzzzzzzzz', ['nightly', 'weekly']).hint).toBe('known are nightly, weekly');
  expect(unknownName('job', 'zzzzzzzzz', []).hint).toBe('there are none');
  const many = Array.from({ length: 31 }, (_, index) => `a${index}`);
  expect(unknownName('job', 'zzzzzzzzz', many).hint).toMatch(/^known are a0, .*, a29, …$/u);
});
