import type { Config } from '../config/config.ts';
import { HOUR_MS } from '../core/clock.ts';
import { parseRunStart } from '../landing/store.ts';
import type { OpenWarehouse } from '../warehouse/session.ts';
import { toJsonParam } from '../warehouse/sql-params.ts';
import { countedApprovals } from './approvals.ts';
import type { Plan } from './plan-file.ts';
import { listPlanIds, readKeptPlan } from './plan-store.ts';

/** Copies the plans that can still be applied to the table `plans`. Called in every run. */
export async function syncPlans({ database, files }: OpenWarehouse, config: Config, asOf: Date): Promise<void> {
  const oldest = asOf.getTime() - config.planHours * HOUR_MS;
  const ids = (await listPlanIds(config)).filter((id) => (parseRunStart(id.slice('p-'.length)) ?? 0) >= oldest);
  const summaries: ReturnType<typeof summarize>[] = [];
  // One after the other: a plan may have 64 MiB.
  for (const id of ids) {
    const plan = await readKeptPlan(config, id);
    if (plan) summaries.push(summarize(plan, config));
  }
  const rows = toJsonParam(summaries);
  await database.run(files.read('remediation/update_plans'), { rows, now: asOf.toISOString() });
}

/** What the table has of a plan: the findings that one skips may be many. */
function summarize(plan: Plan, config: Config) {
  const { plan_id, playbook, expires_at, actions } = plan;
  return {
    plan_id,
    playbook,
    expires_at,
    actions: actions.map(({ target }) => ({ target })),
    approvals: countedApprovals(plan, config).map(({ by }) => ({ by })),
  };
}
