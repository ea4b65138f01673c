import { test } from 'vitest';
import { applyHarness } from '../remediation/apply-harness.ts';
import { killBetweenStates } from '../system/kill/kill-between-states.ts';

const harness = applyHarness({ playbook: 'reap-dead-agents', updatesTable: false });

test('an apply that is killed between any two states, or within a line of its ledger, acts once', () =>
  killBetweenStates(harness, true));
