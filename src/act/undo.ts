import { findNamed } from '../config/suggest.ts';
import { TidemarkError } from '../core/errors.ts';
import { valueAt } from '../core/json-path.ts';
import { buildAction, explainInvalid, type NewAction, resolveDefinitions } from './action-call.ts';
import type { ActionDefinition, Playbook } from './define.ts';
import { explainLater, explainUnsettled, indexLater, type LedgerRow, toKey, toLedgerRow } from './ledger.ts';
import { assertAfterLedger } from './ledger-file.ts';
import { readLedger } from './ledger-table.ts';
import { type Observed, tryObserve } from './observe-action.ts';
import { buildPlan } from './plan.ts';
import { findingIds, type Plan } from './plan-file.ts';
import { assertNamesTargets, assertSameInstallations } from './plan-targets.ts';
import { ask } from './playbook-fault.ts';
import { isReversible } from './registry.ts';
import { type Acting, withServices } from './remote.ts';

interface UndoOptions extends Acting {
  readonly playbooks: readonly Playbook[];
  /** How long the findings are accepted once they are undone; 0 for not at all. */
  readonly acceptDays: number;
}

interface LeftOut {
  readonly finding_id: string;
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
    const row = entry && toLedgerRow(entry);
    return row && mayBeApplied(row) ? [{ action, row }] : [];
  });
  if (begun.length === 0) throw explainNothing(plan_id, []);
  return withServices(options, async (remote) => {
    await assertSameInstallations(plan, config, remote);
    const deps = { config, context, plan, remote, ledger: { entries }, now: context.clock.now() };
    const findLater = indexLater(entries);
    const definitions = resolveDefinitions(plan, playbooks);
    const actions: NewAction[] = [];
    const leftOut: LeftOut[] = [];
    // The last action first, because an action may rest on an earlier one.
    for (const { action, row } of begun.reverse()) {
      const definition = definitions.get(action) as ActionDefinition;
      const planned = await planUndo(row, { ...deps, action, definition }, findLater);
      context.signal.throwIfAborted(); // what was not read then is no reason to leave an action out
      if (planned && 'isUnknown' in planned) leftOut.push(planned);
      else if (planned) actions.push(planned);
    }
    if (actions.length === 0) throw explainNothing(plan_id, leftOut);
    const used = assertNamesTargets(plan).filter(({ name }) => actions.some(({ target }) => target === name));
    // Where the plan was applied, whatever answers by now; what nobody told then is asked.
    const targets = await Promise.all(
      used.map(async (one) => ({ ...one, identity: one.identity ?? (await remote.identify(one.name)) })),
    );
    const skipped = leftOut.map(({ finding_id, reason }) => ({ finding_id, reason }));
    return buildPlan(actions, 'tidemark playbook undo', deps, {
      playbook: playbook.name,
      skipped,
      run_id: plan.run_id,
      warehouse_id: plan.warehouse_id,
      undoes: plan_id,
      targets,
      ...(acceptDays && { accept_days: acceptDays }),
      selection: null,
    });
  });
}

/** Whether an action was applied, or may still take effect: of one without a clear answer, at most readings told that it was not. */
function mayBeApplied({ status, answer }: LedgerRow): boolean {
  return status === 'applied' || status === 'unconfirmed' || answer === 'ambiguous';
}

function explainNothing(planId: string, leftOut: readonly LeftOut[]): TidemarkError {
  if (leftOut.length === 0) return new TidemarkError('UNSAFE', `the ledger has no applied action of plan ${planId}`);
  const unclear = leftOut.filter(({ isUnknown }) => isUnknown);
  const shown = (unclear.length > 0 ? unclear : leftOut).slice(0, 3);
  const reasons = shown.map(({ reason }) => reason).join('; ');
  if (unclear.length === 0) {
    return new TidemarkError('UNSAFE', `nothing of plan ${planId} can be undone: ${reasons}`);
  }
  return new TidemarkError('INCOMPLETE', `what of plan ${planId} can be undone is not known: ${reasons}`, {
    hint: 'undo the plan again once it is',
  });
}

function assertUndoable({ plan_id, playbook: name, undoes }: Plan, playbooks: readonly Playbook[]): Playbook {
  const playbook = findNamed(playbooks, 'playbook', name);
  if (undoes !== undefined) {
    throw new TidemarkError('UNSAFE', `plan ${plan_id} undoes plan ${undoes} and cannot be undone itself`, {
      hint: `run a job, then \`tidemark playbook plan ${name}\` to repeat the actions`,
    });
  }
  if (isReversible(playbook)) return playbook;
  throw new TidemarkError('UNSAFE', `what ${name} does cannot be undone`, {
    hint: 'docs/playbooks.md lists the playbooks that can be undone',
  });
}

/** The restoring action, or why there is none; undefined for an action that was not done. */
async function planUndo(
  row: LedgerRow,
  attempt: Observed,
  findLater: ReturnType<typeof indexLater>,
): Promise<NewAction | LeftOut | undefined> {
  const { config, action, definition } = attempt;
  const { finding_id, summary, subject_name, why: title, since } = action;
  const leaveOut = (why: string, isUnknown = false) => ({ finding_id, reason: `${summary}: ${why}`, isUnknown });
  if (row.status === 'unconfirmed') return leaveOut(explainUnsettled(row), true);
  const { before } = row;
  let { after } = row;
  if (row.status !== 'applied') {
    const { precondition, observed } = await tryObserve(attempt);
    if (precondition.state === 'ready') return undefined;
    if (precondition.state !== 'satisfied')
      return leaveOut(`it had no clear answer, and may be done since (${precondition.reason})`, true);
    after = observed; // it took effect late, and nothing has read that yet
  }
  const { schema, undo } = definition;
  const target = config.targets.find(({ name }) => name === action.target);
  if (!undo || !target) return leaveOut(`target ${action.target} is not configured`);
  const missing = undo.needs.find((path) => valueAt({ before, after }, ...path.split('.')) === undefined);
  if (missing) return leaveOut(`the ledger lacks ${missing}`);
  const isAnswered = row.answer === undefined;
  const applied = { inputs: schema.parse(action.guard.inputs), before, after, isAnswered };
  const inputs = ask(() => undo.inputs(applied));
  if (typeof inputs === 'string') return leaveOut(inputs);
  const findings = findingIds(action).map((findingId) => ({ finding_id: findingId, subject_name, title, since }));
  let built: NewAction;
  try {
    const restoring = { action: undo.action, inputs, summary: undo.summary(applied) };
    built = buildAction(restoring, findings, target, { isUndo: true });
  } catch (error) {
    return leaveOut(attempt.context.redactor.text(explainInvalid(error, 'the ledger')));
  }
  const later = findLater(row, built);
  if (later) return leaveOut(explainLater(later));
  const { action_id } = action;
  const { precondition } = await tryObserve({ ...attempt, definition: undo.action, action: { action_id, ...built } });
  return precondition.state === 'ready' ? built : leaveOut(precondition.reason, precondition.state === 'unknown');
}
