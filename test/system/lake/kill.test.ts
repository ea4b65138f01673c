import { test } from 'vitest';
import { killPublishes } from './kill-publishes.ts';

test('a publish that is killed before any of its writes shows a whole run or none, and the next one completes', () =>
  killPublishes(12, { isFirst: false }));
