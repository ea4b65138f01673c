import type { Config } from '../config/config.ts';
import type { WorkContext } from '../core/context.ts';
import { formatError, TidemarkError } from '../core/errors.ts';
import type { ActionDefinition, Playbook } from './define.ts';
import { type ActionKey, type ActionOutcome, findEntry, isUnsettled, type LedgerEntry } from './ledger.ts';
import { assertAfterLedger } from './ledger-file.ts';
import { readLedger } from './ledger-table.ts';
import { observeAction } from './observe-action.ts';
import { buildPlan } from './plan.ts';
import { buildAction, type NewAction } from './plan-actions.ts';
import { type Action, findingIds, type Plan } from './plan-file.ts';
import { assertNamesTargets, assertSameInstallations } from './plan-targets.ts';
import { valueAt } from './playbooks/lib/json-path.ts';
import { resolveDefinitions } from './preconditions.ts';
import { getPlaybook, isReversible } from './registry.ts';
import { RemoteServices } from './remote.ts';
import type { PlanCandidate } from './select-findings.ts';
import { explainUnsettled } from './unsettled.ts';

export interface UndoOptions {
  readonly config: Config;
  readonly context: WorkContext;
  readonly playbooks: readonly Playbook[];
  /** How long the findings are accepted once they are undone; 0 for not at all. */
  readonly acceptDays: number;
}

/**
 * Makes a plan that restores what a plan applied, from the ledger's `before` and `after`. It is approved and applied like any other
 * plan. An action whose subject was changed since is skipped, with the reason. It reads the services and changes nothing on them.
 * @throws TidemarkError UNSAFE where the playbook cannot be undone, or nothing is left to undo.
 */
export async function createUndoPlan(plan: Plan, options: UndoOptions): Promise<Plan> {
  const { config, context, playbooks, acceptDays } = options;
  const playbook = assertUndoable(plan, playbooks);
  assertNamesTargets(plan);
  await assertAfterLedger(config.data, context.clock);
  const entries = await readLedger(config);
  const applied = selectApplied(plan, entries);
  const skipped = [...listUnsettled(plan, entries)];
  if (applied.length + skipped.length === 0) {
    throw new TidemarkError('UNSAFE', `the ledger has no applied action of plan ${plan.plan_id}`);
  }
  await assertSameInstallations(plan, config, context);
  const remote = new RemoteServices(config, context, context.signal);
  const definitions = resolveDefinitions(plan, playbooks);
  const actions: NewAction[] = [];
  try {
    const deps = { config, context, plan, remote, entries };
    for (const { action, outcome } of applied) {
      const definition = definitions.get(action) as ActionDefinition;
      const planned = await planUndo(action, definition, outcome, deps);
      if (typeof planned === 'string') skipped.push({ finding_id: action.finding_id, reason: planned });
      else actions.push(planned);
    }
    if (actions.length === 0) throw nothingToUndo(plan, skipped);
    const { plan_id: undoes, warehouse_id: warehouseId, run_id: runId } = plan;
    const origin = { config, remote, now: context.clock.now(), how: 'tidemark playbook undo', warehouseId, runId };
    return await buildPlan(playbook, { actions, skipped }, { ...origin, undoes, acceptDays });
  } finally {
    await remote.close();
  }
}

function assertUndoable({ plan_id, playbook: name, undoes }: Plan, playbooks: readonly Playbook[]): Playbook {
  const playbook = getPlaybook(playbooks, name);
  if (undoes !== undefined) {
    throw new TidemarkError('UNSAFE', `plan ${plan_id} undoes plan ${undoes} and cannot be undone itself`, {
      hint: `run \`tidemark playbook plan ${name}\` to repeat the actions`,
    });
  }
  if (isReversible(playbook)) return playbook;
  throw new TidemarkError('UNSAFE', `what ${name} does cannot be undone`, {
    hint: 'docs/playbooks.md lists the playbooks that can be undone',
  });
}

interface Applied {
  readonly action: Action;
  readonly outcome: ActionOutcome;
}

/** The last action first, because an action may rest on an earlier one. */
function selectApplied({ plan_id, actions }: Plan, entries: readonly LedgerEntry[]): readonly Applied[] {
  const selected = actions.flatMap((action): Applied[] => {
    const entry = findEntry(entries, { plan_id, action_id: action.action_id });
    return entry && !entry.isOpen && entry.row.status === 'applied' ? [{ action, outcome: entry.row }] : [];
  });
  return selected.reverse();
}

/** The actions that may have been applied, and why they are not undone. */
function listUnsettled({ plan_id, actions }: Plan, entries: readonly LedgerEntry[]): Plan['skipped'] {
  return actions.flatMap(({ action_id, finding_id, summary }) => {
    const entry = findEntry(entries, { plan_id, action_id });
    if (!entry || !isUnsettled(entry)) return [];
    return [{ finding_id, reason: `${summary}: ${explainUnsettled(entry)}` }];
  });
}

interface UndoDeps {
  readonly config: Config;
  readonly context: WorkContext;
  readonly plan: Plan;
  readonly remote: RemoteServices;
  readonly entries: readonly LedgerEntry[];
}

/** The restoring action, or why there is none. */
async function planUndo(
  action: Action,
  { undo }: ActionDefinition,
  { before, after }: ActionOutcome,
  { config, context, plan, remote, entries }: UndoDeps,
): Promise<NewAction | string> {
  const target = config.targets.find(({ name }) => name === action.target);
  if (!undo || !target) return `${action.summary}: target ${action.target} is not configured`;
  const missing = undo.needs.find((path) => valueAt({ before, after }, ...path.split('.')) === undefined);
  if (missing) return `${action.summary}: the ledger lacks ${missing}`;
  const planned = undo.plan(action.guard.inputs, before, after);
  if (typeof planned === 'string') return `${action.summary}: ${planned}`;
  const restoring = { action: undo.action, inputs: planned.inputs, summary: planned.summary };
  const built = buildAction(restoring, toCandidates(action), target, { isUndo: true });
  const ledger = { entry: (key: ActionKey) => findEntry(entries, key), entries: () => entries };
  try {
    const observed = { plan, remote, config, ledger, definition: undo.action };
    const { precondition } = await observeAction({ ...observed, action: { action_id: action.action_id, ...built } });
    return precondition.state === 'ready' ? built : `${action.summary}: ${precondition.reason}`;
  } catch (error) {
    if (!(error instanceof TidemarkError) || context.signal.aborted) throw error;
    return context.redactor.text(`${action.summary}: the subject could not be read: ${formatError(error)}`);
  }
}

/** The findings of an action, as far as a plan shows them. */
function toCandidates(action: Action): readonly PlanCandidate[] {
  const { target, subject_name, why, since } = action;
  return findingIds(action).map((findingId) => ({
    finding_id: findingId,
    target,
    subject_id: '',
    subject_name,
    title: why,
    since,
    detail: null,
  }));
}

function nothingToUndo({ plan_id }: Plan, skipped: readonly { readonly reason: string }[]): TidemarkError {
  const reasons = skipped.slice(0, 3).map(({ reason }) => reason);
  return new TidemarkError('UNSAFE', `nothing of plan ${plan_id} can be undone: ${reasons.join('; ')}`);
}
