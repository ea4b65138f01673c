import { test } from 'vitest';
import { BLINDNESSES, expectPending, GUARDED, isBlind } from '../system/faults/blind-guards.ts';

test.each(GUARDED)(
  '$playbook: what a blind guard does not find stays pending, and is applied after the fault',
  (guarded) =>
    expectPending(
      guarded,
      BLINDNESSES.filter((blindness) => isBlind(blindness, guarded)),
    ),
);
