import { test } from 'vitest';
import { killBackups, killPrunes, killRestores } from '../system/kill/kill-writers.ts';

test.each([
  ['prune', killPrunes],
  ['backup', killBackups],
  ['restore', killRestores],
])('%s is killed before each change of a file', (_, kill) => kill(1));
