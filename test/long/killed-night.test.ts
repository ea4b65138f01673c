import { test } from 'vitest';
import { killNights } from '../system/kill/kill-nights.ts';

test('a job that is killed at 60 moments up to its last mail loses no news', () => killNights(60));
