import { test } from 'vitest';
import { killNights } from './kill-nights.ts';

test('a job that is killed at any moment up to its last mail loses no news: the next run reports and mails them', () =>
  killNights(3));
