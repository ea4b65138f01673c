import { test } from 'vitest';
import { expectNothingResolved } from './absent-fields.ts';

// Two does not divide it: every field is there four times, absent, null, as an object and as a list. test/long has all.
test('a night in which a service leaves a field out, sends null, an object or a list for it, resolves nothing', ({
  onTestFinished,
}) => expectNothingResolved(241, onTestFinished));
