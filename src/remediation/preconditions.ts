import type { Config } from '../config/config.ts';
import { TidemarkError } from '../core/errors.ts';
import type { ActionDefinition, Playbook } from './define.ts';
import { assertTimeMovedOn, planTimes } from './last-known-time.ts';
import { type Action, type Approval, approvalDigest, type Plan, readPlan, writePlan } from './plan-file.ts';
import type { PublishedReads } from './published-reads.ts';
import { isReversibleAction } from './registry.ts';

interface ApproveOptions {
  /** Who approves. */
  readonly by: string;
  readonly now: Date;
  /** Approves actions that cannot be undone as well. */
  readonly irreversible: boolean;
}

/**
 * Approves exactly the actions of a plan, in its file. On any error the plan stays unapproved.
 * @throws TidemarkError UNSAFE for a plan that was changed, has expired, or needs `irreversible`.
 */
export async function approvePlan(file: string, options: ApproveOptions): Promise<Plan> {
  const approved = withApproval(await readPlan(file), options);
  await writePlan(file, approved);
  return approved;
}

function withApproval(plan: Plan, { by, now, irreversible }: ApproveOptions): Plan {
  if (by.trim() === '') throw new TidemarkError('USAGE', 'an approval needs a name', { hint: 'use --by NAME' });
  assertNotExpired(plan, now);
  const permanent = plan.actions.filter((action) => action.irreversible);
  if (permanent.length > 0 && !irreversible) {
    const examples = permanent.slice(0, 3).map(({ summary }) => summary);
    throw new TidemarkError(
      'UNSAFE',
      `${permanent.length} of ${plan.actions.length} actions cannot be undone, such as: ${examples.join('; ')}`,
      { hint: 'approve them with --irreversible' },
    );
  }
  const approval = { by: by.trim(), at: now.toISOString(), irreversible };
  return { ...plan, approval: { ...approval, digest: approvalDigest(plan, approval) } };
}

/** @throws TidemarkError UNSAFE for a plan that has expired, or that was created or approved in the future. */
function assertNotExpired(plan: Plan, now: Date): void {
  assertTimeMovedOn(now, planTimes(plan));
  const { plan_id, expires_at } = plan;
  if (now.getTime() >= Date.parse(expires_at)) {
    throw new TidemarkError('UNSAFE', `plan ${plan_id} expired at ${expires_at}`, { hint: 'make a new plan' });
  }
}

interface ApplicableContext {
  readonly config: Config;
  readonly published: PublishedReads;
  readonly now: Date;
  /** Those that the plan may be of. */
  readonly playbooks: readonly Playbook[];
}

/**
 * Verifies that a plan may be applied, before anything is read or sent. Returns the definition of each action.
 * @throws TidemarkError UNSAFE for a plan that is not approved, has expired, is of another warehouse, or does not match the playbook.
 */
export async function assertApplicable(
  plan: Plan,
  { config, published, now, playbooks }: ApplicableContext,
): Promise<ReadonlyMap<Action, ActionDefinition>> {
  const approval = assertApproved(plan);
  assertNotExpired(plan, now);
  await assertSameWarehouse(plan, config, published);
  const definitions = resolveDefinitions(plan, playbooks);
  if (!approval.irreversible) assertReversible(plan, definitions);
  return definitions;
}

function assertApproved({ plan_id, approval }: Plan): Approval {
  if (approval === null) {
    throw new TidemarkError('UNSAFE', `plan ${plan_id} is not approved`, {
      hint: `review it with \`tidemark playbook show ${plan_id}\`, then run \`tidemark playbook approve ${plan_id} --by NAME\``,
    });
  }
  return approval;
}

/** The playbook decides, not the plan: the mark may have been removed from the plan. */
function assertReversible({ plan_id, undoes }: Plan, definitions: ReadonlyMap<Action, ActionDefinition>): void {
  if ([...definitions.values()].every((definition) => isReversibleAction(definition, undoes !== undefined))) return;
  throw new TidemarkError('UNSAFE', `plan ${plan_id} has actions that cannot be undone and were not approved`, {
    hint: 'approve it with --irreversible',
  });
}

async function assertSameWarehouse(
  { plan_id, warehouse_id }: Plan,
  { data }: Config,
  published: PublishedReads,
): Promise<void> {
  if ((await published.warehouseId()) === warehouse_id) return;
  throw new TidemarkError('UNSAFE', `plan ${plan_id} was made from another warehouse than ${data}`, {
    hint: 'name its configuration with --config, or make a new plan',
  });
}

/** The definition of each action of a plan. @throws TidemarkError UNSAFE where the plan does not match the playbook. */
export function resolveDefinitions(plan: Plan, playbooks: readonly Playbook[]): ReadonlyMap<Action, ActionDefinition> {
  return new Map(
    plan.actions.map((action) => {
      const definition = candidateDefinition(plan, action, playbooks);
      if (definition && hasMatchingGuard(definition, action)) return [action, definition];
      const mismatch = definition ? `has another guard for ${action.operation}` : `does not call ${action.operation}`;
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
  return definition && hasMatchingGuard(definition, action) ? definition : undefined;
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

/** Whether the plan's guard has the reads and inputs of the definition: another version may have made the plan. */
function hasMatchingGuard(definition: ActionDefinition, { guard }: Action): boolean {
  const reads = Object.entries(definition.reads);
  const hasSameReads = reads.every(([name, { operation }]) => guard.reads[name]?.operation === operation);
  return hasSameReads && reads.length === Object.keys(guard.reads).length && definition.isValidInput(guard.inputs);
}
