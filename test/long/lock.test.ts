import { test } from 'vitest';
import { contend } from '../system/lock/contend.ts';

test('8 processes acquire a lock 1,000 times each, and one at a time holds it', () =>
  contend({ processes: 8, rounds: 1_000, kills: 0 }));

test('the same while processes are killed', () => contend({ processes: 8, rounds: 300, kills: 60 }));
