import { expect, test } from 'vitest';
import { killApplies } from '../system/kill/kill-applies.ts';

/** A key that is rotated and a snapshot that is created may not be repeated. */
const PLAYBOOKS = [
  { playbook: 'reap-dead-agents' },
  { playbook: 'retire-old-key-versions' },
  { playbook: 'rotate-old-keys' },
  { playbook: 'snapshot-unprotected-volumes', sources: ['external_volumes'] },
  { playbook: 'drop-stale-snapshots' },
] as const;

const KILLS = 200;

test.each(PLAYBOOKS)('$playbook: of 200 random kills, none doubles, loses or hides an action', async (options) => {
  expect(await killApplies({ ...options, kills: KILLS })).toBeGreaterThanOrEqual(KILLS);
});
