import { test } from 'vitest';
import { killPrunes } from './kill-writers.ts';

test('a prune that is killed leaves a ledger that is sound, old or new, and is carried out by the next one', () =>
  killPrunes(8));
