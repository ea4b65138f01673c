import { findNamed } from '../config/suggest.ts';
import { formatError, TidemarkError } from '../core/errors.ts';
import { valueAt } from '../core/json-path.ts';
import { buildAction, type NewAction, resolveDefinitions } from './action-call.ts';
import { type ActionDefinition, type Playbook, type Precondition, unknown } from './define.ts';
import { type ActionOutcome, explainUnsettled, isUnsettled, type LedgerEntry, takeFinal, toKey } from './ledger.ts';
import { assertAfterLedger } from './ledger-file.ts';
import { readLedger } from './ledger-table.ts';
import { type ApplyContext, type Observed, observeAction } from './observe-action.ts';
import { buildPlan } from './plan.ts';
import { type Action, findingIds, type Plan } from './plan-file.ts';
import { assertNamesTargets, assertSameInstallations } from './plan-targets.ts';
import { isReversible } from './registry.ts';
import { type Acting, withServices } from './remote.ts';

export interface UndoOptions extends Acting {
  readonly playbooks: readonly Playbook[];
  /** How long the findings are accepted once they are undone; 0 for not at all. */
  readonly acceptDays: number;
}

/** Why an action is not undone. */
interface LeftOut {
  readonly reason: string;
  /** Its subject, or what became of it, is not known: it may be undone later. */
  readonly isUnknown: boolean;
}

/**
 * Makes a plan that restores what a plan applied, from the ledger's `before` and `after`. It is approved and applied like any other
 * plan. An action whose subject was changed since is skipped, with the reason. It reads the services and changes nothing on them.
 * @throws TidemarkError UNSAFE where the playbook cannot be undone, or nothing is left to undo; INCOMPLETE where that is not known.
 */
export async function createUndoPlan(plan: Plan, options: UndoOptions): Promise<Plan> {
  const { config, context, playbooks, acceptDays } = options;
  const { plan_id } = plan;
  const playbook = assertUndoable(plan, playbooks);
  assertNamesTargets(plan);
  await assertAfterLedger(config.data, context.clock);
  const entries = await readLedger(config);
  const begun = plan.actions.flatMap((action) => {
    const entry = entries.get(toKey({ plan_id, action_id: action.action_id }));
    return entry ? [{ action, entry }] : [];
  });
  // The last action first, because an action may rest on an earlier one.
  const applied = begun.filter(({ entry }) => takeFinal(entry)?.status === 'applied').reverse();
  const leftOut = begun
    .filter(({ entry }) => isUnsettled(entry))
    .map(({ action, entry }): LeftOut & { readonly action: Action } => {
      return { action, reason: `${action.summary}: ${explainUnsettled(entry)}`, isUnknown: true };
    });
  const doubtful = begun.filter(({ entry }) => mayTurnUp(entry));
  if (applied.length + leftOut.length + doubtful.length === 0) throw nothingApplied(plan_id);
  return withServices(options, async (remote) => {
    await assertSameInstallations(plan, config, remote);
    const deps = { config, context, plan, remote, ledger: { entries }, now: context.clock.now() };
    const definitions = resolveDefinitions(plan, playbooks);
    const actions: NewAction[] = [];
    for (const { action, entry } of applied) {
      const planned = await planUndo(action, definitions.get(action) as ActionDefinition, entry, deps);
      if ('isUnknown' in planned) leftOut.push({ ...planned, action });
      else actions.push(planned);
    }
    for (const { action } of doubtful) {
      const definition = definitions.get(action) as ActionDefinition;
      const precondition = await readPrecondition({ ...deps, action, definition });
      if (precondition.state === 'ready') continue; // it is not done
      const doubt = `it failed without a clear answer, and may be done since (${precondition.reason})`;
      leftOut.push({ action, reason: `${action.summary}: ${doubt}: apply the plan again`, isUnknown: true });
    }
    if (actions.length === 0) throw explainNothing(plan_id, leftOut);
    const skipped = leftOut.map(({ action: { finding_id }, reason }) => ({ finding_id, reason }));
    return buildPlan(actions, 'tidemark playbook undo', deps, {
      playbook: playbook.name,
      skipped,
      run_id: plan.run_id,
      warehouse_id: plan.warehouse_id,
      undoes: plan_id,
      ...(acceptDays && { accept_days: acceptDays }),
      selection: null,
    });
  });
}

/** Whether an action that failed may still take effect: only readings have told that it was not done. */
function mayTurnUp(entry: LedgerEntry): boolean {
  return entry.event === 'outcome' && entry.status === 'failed' && entry.answer === 'ambiguous';
}

function nothingApplied(planId: string): TidemarkError {
  return new TidemarkError('UNSAFE', `the ledger has no applied action of plan ${planId}`);
}

function explainNothing(planId: string, leftOut: readonly LeftOut[]): TidemarkError {
  if (leftOut.length === 0) return nothingApplied(planId);
  const unclear = leftOut.filter(({ isUnknown }) => isUnknown);
  const list = (all: readonly LeftOut[]) =>
    all
      .slice(0, 3)
      .map(({ reason }) => reason)
      .join('; ');
  if (unclear.length === 0) {
    return new TidemarkError('UNSAFE', `nothing of plan ${planId} can be undone: ${list(leftOut)}`);
  }
  return new TidemarkError('INCOMPLETE', `what of plan ${planId} can be undone is not known: ${list(unclear)}`, {
    hint: 'undo the plan again once it is',
  });
}

function assertUndoable({ plan_id, playbook: name, undoes }: Plan, playbooks: readonly Playbook[]): Playbook {
  const playbook = findNamed(playbooks, 'playbook', name);
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

/** The restoring action, or why there is none. */
async function planUndo(
  action: Action,
  { schema, undo }: ActionDefinition,
  { before, after }: Pick<ActionOutcome, 'before' | 'after'>,
  deps: Omit<Observed, 'action' | 'definition'> & Pick<ApplyContext, 'context'>,
): Promise<NewAction | LeftOut> {
  const { config } = deps;
  const { summary, subject_name, why: title, since } = action;
  const leaveOut = (why: string, isUnknown = false): LeftOut => ({ reason: `${summary}: ${why}`, isUnknown });
  const target = config.targets.find(({ name }) => name === action.target);
  if (!undo || !target) return leaveOut(`target ${action.target} is not configured`);
  const missing = undo.needs.find((path) => valueAt({ before, after }, ...path.split('.')) === undefined);
  if (missing) return leaveOut(`the ledger lacks ${missing}`);
  const applied = { inputs: schema.parse(action.guard.inputs), before, after };
  const inputs = undo.inputs(applied);
  if (typeof inputs === 'string') return leaveOut(inputs);
  const findings = findingIds(action).map((findingId) => ({ finding_id: findingId, subject_name, title, since }));
  const restoring = { action: undo.action, inputs, summary: undo.summary(applied) };
  const built = buildAction(restoring, findings, target, { isUndo: true });
  const { action_id } = action;
  const restored = { ...deps, definition: undo.action, action: { action_id, ...built } };
  const precondition = await readPrecondition(restored);
  return precondition.state === 'ready' ? built : leaveOut(precondition.reason, precondition.state === 'unknown');
}

/** @throws what ends the command */
async function readPrecondition(observed: Observed & Pick<ApplyContext, 'context'>): Promise<Precondition> {
  const { redactor, signal } = observed.context;
  try {
    return (await observeAction(observed)).precondition;
  } catch (error) {
    if (!(error instanceof TidemarkError) || signal.aborted) throw error;
    return unknown(redactor.text(`the subject could not be read: ${formatError(error)}`));
  }
}
