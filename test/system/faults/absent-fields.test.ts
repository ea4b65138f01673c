import { test } from 'vitest';
import { expectNothingResolved } from './absent-fields.ts';

// Three does not divide it: every field is there three times, absent, null and as an object. test/long has all.
test('a night in which a service leaves a field out, sends null, or an object for it, resolves nothing', ({
  onTestFinished,
}) => expectNothingResolved(241, onTestFinished));
