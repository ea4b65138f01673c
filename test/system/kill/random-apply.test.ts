import { expect, test } from 'vitest';
import { killApplies } from './kill-applies.ts';

test.each(['reap-dead-agents', 'rotate-old-keys'])(
  '%s: a random kill doubles, loses and hides no action',
  async (playbook) => {
    expect(await killApplies({ playbook, kills: 1 })).toBeGreaterThan(2);
  },
);
