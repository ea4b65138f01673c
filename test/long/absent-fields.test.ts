import { onTestFinished, test } from 'vitest';
import { expectNothingResolved } from '../system/faults/absent-fields.ts';

/** Each has a verdict of its own: all fields together take hours on a busy machine. */
const PARTS = 12;

test.each(Array.from({ length: PARTS }, (_, part) => part))(
  'a night in which a service leaves any field out, sends null, an object or a list for it, resolves nothing: part %i',
  (part) => expectNothingResolved(PARTS, onTestFinished, part),
);
