import { test } from 'vitest';
import { killPublishes } from '../system/lake/kill-publishes.ts';

test('100 killed publishes show whole runs, and the next one completes', () => killPublishes(100, { isFirst: false }));

test('the first publish, killed before each of its writes, shows nothing until it is complete', () =>
  killPublishes(180, { isFirst: true }));
