import { test } from 'vitest';
import { expectNothingResolved } from './absent-fields.ts';

// An odd number: every field is there twice, absent and null. test/long has all.
test('a night in which a service leaves a field out, or sends null, resolves nothing', ({ onTestFinished }) =>
  expectNothingResolved(241, onTestFinished));
