import { test } from 'vitest';
import { killPublishes } from './kill-publishes.ts';

test('a publish that is killed before every other of its writes shows a whole run or none, and the next one completes', () =>
  killPublishes(7, { isFirst: false, step: 2 }));
