import type { Config } from '../config/config.ts';
import { HOUR_MS } from '../core/clock.ts';
import { parseRunStart } from '../landing/store.ts';
import type { Warehouse } from '../warehouse/session.ts';
import type { Plan } from './plan-file.ts';
import { listPlanIds, readKeptPlan } from './plan-store.ts';

/** Copies the plans that can still be applied to the table `plans`. Called in every run. */
export async function syncPlans(
  { database, files }: Pick<Warehouse, 'database' | 'files'>,
  config: Config,
  asOf: Date,
): Promise<void> {
  const oldest = asOf.getTime() - config.planHours * HOUR_MS;
  const ids = (await listPlanIds(config)).filter((id) => (parseRunStart(id.slice('p-'.length)) ?? 0) >= oldest);
  const plans = await Promise.all(ids.map((id) => readKeptPlan(config, id)));
  const rows = JSON.stringify(plans.flatMap((plan) => (plan ? [toRow(plan, asOf)] : [])));
  await database.run(await files.read('remediation/update_plans'), { rows });
  await database.run(await files.read('remediation/insert_plans'), { rows });
}

function toRow({ plan_id, playbook, actions, approvals, expires_at }: Plan, asOf: Date): object {
  const target = [...new Set(actions.map((action) => action.target))].sort().join(', ');
  const approvedBy = approvals.map(({ by }) => by).join(', ') || null;
  return {
    plan_id,
    target,
    playbook,
    actions: actions.length,
    approved_by: approvedBy,
    expires_at,
    seen_at: asOf.toISOString(),
  };
}
