import { expect, test } from 'vitest';
import { chooseMemory } from '../../src/pipeline/load.ts';

const MEBIBYTE = 1024 * 1024;

test.each([
  { what: 'rows of 8 MiB', mebibytes: 8, memory: 'oneThread' },
  { what: 'fewer rows', mebibytes: 7, memory: 'usual' },
  { what: 'JSON of 8 MiB', mebibytes: 8, isJson: true, memory: 'large' },
  { what: 'less JSON', mebibytes: 7, isJson: true, memory: 'usual' },
  { what: 'lists of 4 MiB', mebibytes: 4, hasLists: true, memory: 'oneThread' },
  { what: 'shorter lists', mebibytes: 3, hasLists: true, memory: 'usual' },
  { what: 'lists of 32 MiB', mebibytes: 32, hasLists: true, memory: 'large' },
])('$what begin with the memory of $memory', ({ mebibytes, isJson = false, hasLists = false, memory }) => {
  expect(chooseMemory({ landingBytes: mebibytes * MEBIBYTE, isJson, hasLists })).toBe(memory);
});
