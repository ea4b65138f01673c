import { join } from 'node:path';
import type { ActionIntent, ActionOutcome, ActionStatus } from '../../src/act/ledger.ts';
import { openLedgerFile } from '../../src/act/ledger-file.ts';
import { acquireLock } from '../../src/warehouse/lock.ts';

const INTENT = {
  event: 'intent' as const,
  action_id: 'a1',
  playbook: 'reap-dead-agents',
  operation: 'platform.agents.delete',
  target: 'acme',
  params: {},
  finding_id: 'f-1',
  reason: null,
  approved_by: 'the operator',
  before: { text: 'a "quoted" text\n=1+1 \u001b[31m ü' },
  after: null,
};

export interface OldAction {
  readonly plan: string;
  /** A day, at noon in UTC. */
  readonly day: string;
  /** Without one, it stays open. */
  readonly status?: ActionStatus;
  readonly accepts?: ActionOutcome['accepts'];
}

/** Appends actions to the ledger of a data folder, as applies do. */
export async function appendActions(data: string, actions: readonly OldAction[]): Promise<void> {
  const lock = await acquireLock(join(data, 'apply.lock'), 'a test');
  const ledger = await openLedgerFile(data, lock);
  for (const { plan, day, status, accepts } of actions) {
    const intent: ActionIntent = {
      ...INTENT,
      plan_id: plan,
      started_at: `${day}T12:00:00.000Z`,
      ...(accepts && { accepts }),
    };
    await ledger.record(intent);
    const end = { ...intent, finished_at: `${day}T12:00:01.000Z`, satisfied: status === 'applied' };
    if (status) await ledger.record({ ...end, event: 'outcome', status });
  }
  await ledger.close();
  await lock.release();
}
