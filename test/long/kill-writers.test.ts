import { test } from 'vitest';
import { killBackups, killPrunes, killRestores } from '../system/kill/kill-writers.ts';

test.each([killPrunes, killBackups, killRestores])('$name: before each change of a file', (kill) => kill(1));
