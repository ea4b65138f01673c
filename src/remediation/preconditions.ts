import type { Config } from '../config/config.ts';
import type { Context } from '../core/context.ts';
import { TidemarkError } from '../core/errors.ts';
import { openPublished } from '../warehouse/session.ts';
import { assertNotExpired } from './approve.ts';
import type { ActionDefinition, Playbook } from './define.ts';
import { type Action, findingIds, type Plan } from './plan-file.ts';
import { getOperation } from './registry.ts';
import { publishedWarehouseId } from './warehouse-id.ts';

/**
 * Verifies that a plan may be applied, before anything is read or sent. Returns the definition of each action.
 * @throws TidemarkError UNSAFE for a plan that is not approved, has expired, is of another warehouse, or does not match the playbook.
 */
export async function assertApplicable(
  plan: Plan,
  config: Config,
  now: Date,
  playbooks: readonly Playbook[],
): Promise<ReadonlyMap<Action, ActionDefinition>> {
  assertApproved(plan);
  assertNotExpired(plan, now);
  await assertSameWarehouse(plan, config);
  return resolveDefinitions(plan, playbooks);
}

function assertApproved({ plan_id, approval, actions }: Plan): void {
  if (approval === null) {
    throw new TidemarkError('UNSAFE', `plan ${plan_id} is not approved`, {
      hint: 'review it with `tidemark playbook show`, then run `tidemark playbook approve`',
    });
  }
  const isPermanent = actions.some(({ operation }) => !getOperation(operation).reversible);
  if (isPermanent && !approval.irreversible) {
    throw new TidemarkError('UNSAFE', `plan ${plan_id} has actions that cannot be undone and were not approved`, {
      hint: 'approve it with --irreversible',
    });
  }
}

async function assertSameWarehouse({ plan_id, warehouse_id }: Plan, config: Config): Promise<void> {
  if ((await publishedWarehouseId(config)) === warehouse_id) return;
  throw new TidemarkError('UNSAFE', `plan ${plan_id} was made from another warehouse than ${config.data}`, {
    hint: 'name its configuration with --config, or make a new plan',
  });
}

function resolveDefinitions(
  { playbook: name, actions }: Plan,
  playbooks: readonly Playbook[],
): ReadonlyMap<Action, ActionDefinition> {
  const definitions = playbooks.find((playbook) => playbook.name === name)?.actions ?? [];
  return new Map(
    actions.map((action) => {
      const definition = definitions.find(({ operation }) => operation === action.operation);
      if (definition && hasMatchingGuard(definition, action)) return [action, definition];
      const mismatch = definition ? `has another guard for ${action.operation}` : `does not call ${action.operation}`;
      throw new TidemarkError('UNSAFE', `playbook ${name} ${mismatch}`, { hint: 'make a new plan' });
    }),
  );
}

/** Whether the plan's guard has the reads and inputs of the definition: another version may have made the plan. */
function hasMatchingGuard(definition: ActionDefinition, { guard }: Action): boolean {
  const reads = Object.entries(definition.reads);
  const hasSameReads = reads.every(([name, { operation }]) => guard.reads[name]?.operation === operation);
  return hasSameReads && reads.length === Object.keys(guard.reads).length && definition.isValidInput(guard.inputs);
}

/** IDs of those findings of the plan that are accepted now. */
export async function readAcceptedFindings(
  { actions }: Plan,
  config: Config,
  context: Context,
): Promise<ReadonlySet<string>> {
  const { database, files } = await openPublished(config);
  try {
    const ids = actions.flatMap(findingIds);
    const now = context.clock.now().toISOString();
    const rows = await database.rows(await files.read('remediation/finding_states'), { ids, now });
    return new Set(rows.filter(({ state }) => state === 'accepted').map(({ finding_id }) => String(finding_id)));
  } finally {
    database.close();
  }
}
