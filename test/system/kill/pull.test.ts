import { test } from 'vitest';
import { killPulls } from './kill-pulls.ts';

test('after a kill at any time, the published warehouse is the old or the new one, and the next run completes', () =>
  killPulls(4));
