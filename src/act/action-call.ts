import { z } from 'zod';
import type { Target } from '../config/config.ts';
import { canonicalJson } from '../core/canonical-json.ts';
import { formatError, TidemarkError } from '../core/errors.ts';
import { withRequiredSize } from '../services/pagination.ts';
import { validateRequest } from '../services/validate-request.ts';
import type { ActionDefinition, ParameterSources, PlannedAction, Playbook, PlaybookFinding } from './define.ts';
import type { Action, Plan } from './plan-file.ts';
import { ask, toFault } from './playbook-fault.ts';
import { getOperation, isReversibleAction } from './registry.ts';

/** What an action of a plan sends and reads: it follows from the inputs in its guard, and is derived again when the plan is applied. */

export type NewAction = Omit<Action, 'action_id'>;

/** A finding that a plan may act on, unless there is a reason not to. */
export interface PlanCandidate extends PlaybookFinding {
  readonly since: string;
  readonly reason: string | null;
}

/**
 * An action as the plan stores it, with its calls validated like any other.
 * @throws TidemarkError USAGE when a call is not valid; ZodError when an input is missing.
 */
export function buildAction(
  { action: definition, inputs, summary }: PlannedAction,
  findings: readonly Pick<PlanCandidate, 'finding_id' | 'subject_name' | 'title' | 'since'>[],
  target: Target,
  { isUndo = false } = {},
): NewAction {
  const [first] = findings;
  if (!first) throw new TidemarkError('USAGE', 'an action needs a finding');
  const { params, body, guard } = deriveCall(definition, inputs);
  const operation = getOperation(definition.operation);
  validateRequest(operation, target, params, body);
  for (const read of Object.values(guard.reads)) {
    const list = getOperation(read.operation);
    const sent = read.allPages ? withRequiredSize(list, target, read.params) : read.params;
    validateRequest(list, target, sent, undefined);
  }
  const isShared = findings.length > 1;
  return {
    operation: operation.name,
    target: target.name,
    params,
    ...(body !== undefined && { body }),
    finding_id: first.finding_id,
    ...(isShared && { finding_ids: findings.map(({ finding_id }) => finding_id) }),
    subject_name: isShared ? null : first.subject_name,
    summary: z.string().parse(summary),
    // The title of an undo is what the plan says of all findings.
    why: isShared && !isUndo ? `${findings.length} findings, the oldest: ${first.title}` : first.title,
    since: first.since,
    guard,
    ...(!isReversibleAction(definition, isUndo) && { irreversible: true as const }),
  };
}

/**
 * What an action sends and reads. Both follow from its inputs alone, so that it acts on the subject that its guard reads.
 * @throws ZodError when an input is missing.
 */
function deriveCall(definition: ActionDefinition, given: unknown): Pick<Action, 'params' | 'body' | 'guard'> {
  const inputs = definition.schema.parse(given);
  const body = definition.body?.(inputs);
  const reads = Object.entries(definition.reads).map(([name, { params, absence: _, mayBeUnlisted: __, ...read }]) => [
    name,
    { ...read, params: resolveParams(params, inputs) },
  ]);
  return {
    params: resolveParams(definition.params, inputs),
    ...(body !== undefined && { body: z.json().parse(body) }),
    guard: { reads: Object.fromEntries(reads), inputs: z.record(z.string(), z.json()).parse(inputs) },
  };
}

/** For `catch`: why there is no such action. @param source what its inputs are of. @throws an error of the warehouse */
export function explainInvalid(error: unknown, source: string): string {
  if (!(error instanceof z.ZodError)) return formatError(toFault(error));
  const [issue] = error.issues;
  return `${source} has no valid ${issue?.path.join('.') || 'detail'}: ${issue?.message ?? ''}`;
}

/** The values of parameters; an input that is null is left out. */
export function resolveParams(sources: ParameterSources, inputs: Readonly<Record<string, unknown>>): Action['params'] {
  const values = Object.entries(sources).map(([name, source]) => [
    name,
    typeof source === 'string' ? inputs[source] : source.is,
  ]);
  return Object.fromEntries(values.filter(([, value]) => value !== null && value !== undefined));
}

/** The definition of each action of a plan. @throws TidemarkError UNSAFE where the plan does not match the playbook. */
export function resolveDefinitions(plan: Plan, playbooks: readonly Playbook[]): ReadonlyMap<Action, ActionDefinition> {
  return new Map(
    plan.actions.map((action) => {
      const found = ask(() => matchDefinition(plan, action, playbooks));
      if (typeof found !== 'string') return [action, found];
      throw new TidemarkError('UNSAFE', `playbook ${plan.playbook} ${found}`, { hint: 'make a new plan' });
    }),
  );
}

/**
 * The definition of an action, or why the action is not the one that the playbook makes of the inputs in its guard: another version made
 * the plan, or the file was changed, so that it acts on one subject and reads another.
 */
export function matchDefinition(
  { playbook: name, undoes }: Plan,
  { action_id, operation, params, body, guard }: Action,
  playbooks: readonly Playbook[],
): ActionDefinition | string {
  const own = playbooks.find((playbook) => playbook.name === name)?.actions ?? [];
  const definitions = undoes === undefined ? own : own.flatMap(({ undo }) => undo?.action ?? []);
  const definition = definitions.find((one) => one.operation === operation);
  if (!definition) return `does not call ${operation}`;
  if (!definition.schema.safeParse(guard.inputs).success) return `has another guard for ${operation}`;
  const call = deriveCall(definition, guard.inputs);
  const inputs = { ...call.guard.inputs, ...guard.inputs }; // a plan of an earlier version may lack one that has a default
  if (canonicalJson(call.guard) !== canonicalJson({ ...guard, inputs })) return `has another guard for ${operation}`;
  const isSame = canonicalJson([call.params, call.body]) === canonicalJson([params, body]);
  return isSame ? definition : `makes another call of ${operation} from the inputs of ${action_id}`;
}
