import { test } from 'vitest';
import { killPublishes } from './kill-publishes.ts';

test('a publish that is killed before every third of its writes shows a whole run or none, and the next one completes', () =>
  killPublishes(5, { isFirst: false, step: 3 }));
