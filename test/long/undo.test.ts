import { test } from 'vitest';
import { expectUndo, REVERSIBLE } from '../playbooks/expect-undo.ts';

const CASES = (['spec', 'hashicorp'] as const).flatMap((flavor) =>
  Object.keys(REVERSIBLE).map((playbook) => ({ playbook, flavor })),
);

test.each(CASES)('$playbook ($flavor): undo restores every field that was changed', ({ playbook, flavor }) =>
  expectUndo(playbook, flavor),
);
