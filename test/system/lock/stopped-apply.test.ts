import { test } from 'vitest';
import { stopApply } from './stop-apply.ts';

test.concurrent.for([0, 2])(
  'an apply that is stopped at request %i keeps its lock, and rotates each key once',
  (request, { onTestFinished }) => stopApply({ request, afterMs: 0, pauseMs: 1_000, cleanup: onTestFinished }),
);
