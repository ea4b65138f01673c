import type { Config } from '../config/config.ts';
import { type LedgerEntry, readLedger } from './ledger.ts';
import type { Plan } from './plan-file.ts';
import { planFile, readKeptPlan } from './plan-store.ts';

export interface UnfinishedPlan {
  readonly plan: Plan;
  readonly file: string;
}

interface Wanted {
  readonly name: string;
  readonly approvedBy: string;
  readonly now: Date;
}

/** Plans that a job approved and began to apply, that are still valid, and that have an action without a final outcome. */
export async function findUnfinishedPlans(config: Config, wanted: Wanted): Promise<readonly UnfinishedPlan[]> {
  const entries = await readLedger(config.data);
  const begun = entries.filter(({ row }) => row.playbook === wanted.name && row.approved_by === wanted.approvedBy);
  const ids = [...new Set(begun.map(({ row }) => row.plan_id))].sort();
  const plans: UnfinishedPlan[] = [];
  for (const id of ids) {
    const plan = await readKeptPlan(config, id);
    if (plan && isUnfinished(plan, entries, wanted)) plans.push({ plan, file: planFile(config, id) });
  }
  return plans;
}

function isUnfinished(plan: Plan, entries: readonly LedgerEntry[], { approvedBy, now }: Wanted): boolean {
  if (plan.approval?.by !== approvedBy || plan.undoes !== undefined) return false;
  if (now.getTime() >= Date.parse(plan.expires_at)) return false;
  return plan.actions.some(({ action_id }) => {
    const entry = entries.find(({ row }) => row.plan_id === plan.plan_id && row.action_id === action_id);
    return entry === undefined || entry.isOpen || entry.row.status === 'failed' || entry.row.status === 'unconfirmed';
  });
}
