import type { Config } from '../core/config.ts';
import type { Context } from '../core/context.ts';
import { TidemarkError } from '../core/errors.ts';
import type { Playbook } from '../playbooks/playbook.ts';
import type { Step } from '../playbooks/step.ts';
import { openPublished } from '../warehouse/session.ts';
import { requireUnexpired } from './approve.ts';
import { operationNamed } from './far-side.ts';
import { publishedIdentity } from './identity.ts';
import type { Action, Plan } from './plan-file.ts';

/**
 * Lets a plan be applied, or refuses it before anything is read or sent.
 * @returns the step of each action.
 * @throws TidemarkError UNSAFE for a plan that is not approved, past its time, of another warehouse, or not as this version plans.
 */
export async function admit(
  plan: Plan,
  config: Config,
  now: Date,
  playbooks: readonly Playbook[],
): Promise<ReadonlyMap<Action, Step>> {
  requireApproved(plan);
  requireUnexpired(plan, now);
  await requireThisWarehouse(plan, config);
  return stepsOf(plan, playbooks);
}

function requireApproved({ plan_id, approval, actions }: Plan): void {
  if (approval === null) {
    throw new TidemarkError('UNSAFE', `plan ${plan_id} is not approved`, {
      hint: 'look at it with `tidemark playbook show`, then `tidemark playbook approve`',
    });
  }
  const lasting = actions.some(({ operation }) => !operationNamed(operation).reversible);
  if (lasting && !approval.irreversible) {
    throw new TidemarkError('UNSAFE', `plan ${plan_id} holds actions that cannot be undone, which were not approved`, {
      hint: 'approve it with --irreversible',
    });
  }
}

async function requireThisWarehouse({ plan_id, warehouse_id }: Plan, config: Config): Promise<void> {
  if ((await publishedIdentity(config)) === warehouse_id) return;
  throw new TidemarkError('UNSAFE', `plan ${plan_id} was made from another warehouse than ${config.data}`, {
    hint: 'name its configuration with --config, or make a new plan',
  });
}

/** The step of each action. @throws TidemarkError UNSAFE for a plan that this version would not make. */
function stepsOf({ playbook: name, actions }: Plan, playbooks: readonly Playbook[]): ReadonlyMap<Action, Step> {
  const steps = playbooks.find((playbook) => playbook.name === name)?.steps ?? [];
  return new Map(
    actions.map((action) => {
      const step = steps.find(({ operation }) => operation === action.operation);
      if (step && isGuardOf(step, action)) return [action, step];
      const what = step ? `guards ${action.operation} otherwise` : `does not call ${action.operation}`;
      throw new TidemarkError('UNSAFE', `playbook ${name} ${what}`, { hint: 'make a new plan' });
    }),
  );
}

/** Whether a plan's guard reads and knows what the step judges by: another version may have made it. */
function isGuardOf(step: Step, { guard }: Action): boolean {
  const reads = Object.entries(step.reads);
  const same = reads.every(([name, { operation }]) => guard.reads[name]?.operation === operation);
  return same && reads.length === Object.keys(guard.reads).length && step.hasFacts(guard.facts);
}

/** Findings of the plan that a person has accepted by now. */
export async function acceptedFindings(
  { actions }: Plan,
  config: Config,
  context: Context,
): Promise<ReadonlySet<string>> {
  const { database, files } = await openPublished(config);
  try {
    const ids = actions.flatMap(({ finding_id, finding_ids }) => finding_ids ?? [finding_id]);
    const now = context.clock.now().toISOString();
    const rows = await database.rows(await files.text('remediation/finding_states'), { ids, now });
    return new Set(rows.filter(({ state }) => state === 'accepted').map(({ finding_id }) => String(finding_id)));
  } finally {
    database.close();
  }
}
