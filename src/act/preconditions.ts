import type { Config } from '../config/config.ts';
import { canonicalJson } from '../core/canonical-json.ts';
import { TidemarkError } from '../core/errors.ts';
import { assertApproved } from './approvals.ts';
import { assertValidAt } from './approve.ts';
import type { ActionDefinition, Playbook } from './define.ts';
import { deriveCall } from './plan-actions.ts';
import type { Action, Plan } from './plan-file.ts';
import { assertNamesTargets } from './plan-targets.ts';
import { readWarehouseId } from './published-reads.ts';
import { isReversibleAction } from './registry.ts';

interface ApplicableContext {
  readonly config: Config;
  readonly now: Date;
  /** Those that the plan may be of. */
  readonly playbooks: readonly Playbook[];
}

/** A plan that may be applied. */
export interface ApplicablePlan {
  /** With the approvals that count. */
  readonly plan: Plan;
  readonly definitions: ReadonlyMap<Action, ActionDefinition>;
}

/**
 * Verifies that a plan may be applied, before anything is read or sent. `assertSameInstallations` is left to the caller.
 * @throws TidemarkError UNSAFE for a plan that is not approved, has expired, is of another warehouse, or does not match the playbook.
 */
export async function assertApplicable(
  plan: Plan,
  { config, now, playbooks }: ApplicableContext,
): Promise<ApplicablePlan> {
  assertNamesTargets(plan);
  const approvals = await assertApproved(plan, config, playbooks);
  assertValidAt(plan, now, config);
  await assertSameWarehouse(plan, config);
  const definitions = resolveDefinitions(plan, playbooks);
  if (!approvals.every(({ irreversible }) => irreversible)) assertReversible(plan, definitions);
  return { plan: { ...plan, approvals: [...approvals] }, definitions };
}

/** The playbook decides, not the plan: the mark may have been removed from the plan. */
function assertReversible({ plan_id, undoes }: Plan, definitions: ReadonlyMap<Action, ActionDefinition>): void {
  if ([...definitions.values()].every((definition) => isReversibleAction(definition, undoes !== undefined))) return;
  throw new TidemarkError('UNSAFE', `plan ${plan_id} has actions that cannot be undone and were not approved`, {
    hint: 'approve it with --irreversible',
  });
}

async function assertSameWarehouse({ plan_id, warehouse_id }: Plan, config: Config): Promise<void> {
  if ((await readWarehouseId(config)) === warehouse_id) return;
  throw new TidemarkError('UNSAFE', `plan ${plan_id} was made from another warehouse than ${config.data}`, {
    hint: 'name its configuration with --config, or make a new plan',
  });
}

/** The definition of each action of a plan. @throws TidemarkError UNSAFE where the plan does not match the playbook. */
export function resolveDefinitions(plan: Plan, playbooks: readonly Playbook[]): ReadonlyMap<Action, ActionDefinition> {
  return new Map(
    plan.actions.map((action) => {
      const definition = candidateDefinition(plan, action, playbooks);
      const mismatch = explainMismatch(definition, action);
      if (definition && mismatch === undefined) return [action, definition];
      throw new TidemarkError('UNSAFE', `playbook ${plan.playbook} ${mismatch}`, { hint: 'make a new plan' });
    }),
  );
}

/** The definition of an action; undefined where the plan does not match the playbook. */
export function findDefinition(
  plan: Plan,
  action: Action,
  playbooks: readonly Playbook[],
): ActionDefinition | undefined {
  const definition = candidateDefinition(plan, action, playbooks);
  return explainMismatch(definition, action) === undefined ? definition : undefined;
}

function candidateDefinition(
  { playbook: name, undoes }: Plan,
  { operation }: Action,
  playbooks: readonly Playbook[],
): ActionDefinition | undefined {
  const own = playbooks.find((playbook) => playbook.name === name)?.actions ?? [];
  const definitions = undoes === undefined ? own : own.flatMap(({ undo }) => undo?.action ?? []);
  return definitions.find((definition) => definition.operation === operation);
}

/**
 * Why an action is not the one that the playbook makes of the inputs in its guard: another version made the plan, or the file was
 * changed, so that it acts on one subject and reads another.
 */
function explainMismatch(definition: ActionDefinition | undefined, action: Action): string | undefined {
  const { operation, params, body, guard } = action;
  if (!definition) return `does not call ${operation}`;
  if (!definition.isValidInput(guard.inputs)) return `has another guard for ${operation}`;
  const call = deriveCall(definition, guard.inputs);
  if (canonicalJson(call.guard) !== canonicalJson(guard)) return `has another guard for ${operation}`;
  const isSame = canonicalJson([call.params, call.body]) === canonicalJson([params, body]);
  return isSame ? undefined : `makes another call of ${operation} from the inputs of ${action.action_id}`;
}
