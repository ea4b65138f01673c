import { test } from 'vitest';
import { expectNothingResolved } from '../system/faults/absent-fields.ts';

test('a night in which a service leaves any field out, sends null, an object or a list for it, resolves nothing', ({
  onTestFinished,
}) => expectNothingResolved(1, onTestFinished));
