import { test } from 'vitest';
import { BLINDNESSES, expectPending, isBlind } from '../system/faults/blind-guards.ts';
import { PLAYBOOKS } from '../system/faults/playbooks.ts';

test.concurrent.for(PLAYBOOKS)(
  '$playbook: what a blind guard does not find stays pending, and is applied after the fault',
  (guarded, { onTestFinished }) =>
    expectPending(
      guarded,
      BLINDNESSES.filter((blindness) => isBlind(blindness, guarded)),
      onTestFinished,
    ),
);
