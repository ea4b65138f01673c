import { test } from 'vitest';
import { killPulls } from '../system/kill/kill-pulls.ts';

test('hundreds of kills leave the old or the new warehouse, and the next run completes', () => killPulls(400));
