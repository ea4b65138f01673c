import { lstatSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from '../config/config.ts';
import { catchKnown, EXIT, type ExitCode, formatError, TidemarkError } from '../core/errors.ts';
import { plural } from '../core/plural.ts';
import { type Lock, LockError } from '../warehouse/lock.ts';
import { reportFullDisk } from '../warehouse/storage.ts';
import { resolveDefinitions } from './action-call.ts';
import { assertApproved, assertValidAt } from './approvals.ts';
import type { ActionDefinition, Playbook } from './define.ts';
import type { ActionResult } from './execute-action.ts';
import {
  ACCEPTED,
  executeAction,
  isAccepted,
  newIntent,
  recordUnsent,
  settleAction,
  unrecorded,
} from './execute-action.ts';
import type { ActionOutcome, LedgerEntry } from './ledger.ts';
import {
  explainUnsettled,
  identifyRequest,
  indexSinceUndone,
  isFinal,
  isUnsettled,
  listBlocking,
  takeFinal,
  toKey,
} from './ledger.ts';
import { assertAfterLedger, type Ledger } from './ledger-file.ts';
import { readLedger, trySyncLedger, withLedger } from './ledger-table.ts';
import type { ApplyContext, Attempt } from './observe-action.ts';
import type { Action, Plan } from './plan-file.ts';
import { keepPlan } from './plan-store.ts';
import { assertNamesTargets, assertSameInstallations, assertSameWarehouse } from './plan-targets.ts';
import { isReversibleAction } from './registry.ts';
import { type Acting, openServices } from './remote.ts';

interface ApplyOptions extends Acting {
  /** Stops after this number of actions that failed or are unconfirmed. */
  readonly maxFailures: number;
  /** The caller holds the lock of the warehouse, and copies the ledger to it afterwards. */
  readonly isInRun?: boolean;
  /** Those that the plan may be of. */
  readonly playbooks: readonly Playbook[];
}

export type ApplyResult = Readonly<ReturnType<typeof toApplyResult>>;

/**
 * Applies an approved plan, one action at a time, and continues where an earlier apply stopped. No action is applied twice.
 * @throws TidemarkError UNSAFE as `assertApplicable`; LOCKED while another apply runs.
 */
export function applyPlan(given: Plan, options: ApplyOptions): Promise<ApplyResult> {
  const { config, context, isInRun } = options;
  return reportFullDisk(config, async () => {
    await assertAfterLedger(config.data, context.clock);
    const { plan, definitions } = await assertApplicable(given, options);
    const copy = isInRun ? undefined : () => trySyncLedger(options);
    return withLedger(options, { purpose: `plan ${plan.plan_id}`, copy }, async (ledger, lock) => {
      await keepPlan(config, plan);
      return applyActions(plan, definitions, options, ledger, lock);
    });
  });
}

/**
 * Verifies that a plan may be applied, before anything is read or sent. What the services are is verified before each action.
 * @returns the plan with the approvals that count, and the definition of each action
 * @throws TidemarkError UNSAFE for a plan that is not approved, has expired, is of another warehouse, or does not match the playbook.
 */
async function assertApplicable(plan: Plan, { config, context, playbooks }: ApplyOptions) {
  assertNamesTargets(plan);
  const approvals = await assertApproved(plan, config, playbooks);
  assertValidAt(plan, context.clock.now(), config);
  await assertSameWarehouse(plan, config);
  const definitions = resolveDefinitions(plan, playbooks);
  // The playbook decides, not the plan: the mark may have been removed from the plan.
  const isReversible = [...definitions.values()].every((one) => isReversibleAction(one, plan.undoes !== undefined));
  if (isReversible || approvals.every(({ irreversible }) => irreversible)) {
    return { plan: { ...plan, approvals: [...approvals] }, definitions };
  }
  throw new TidemarkError('UNSAFE', `plan ${plan.plan_id} has actions that cannot be undone and were not approved`, {
    hint: 'approve it with --irreversible',
  });
}

/** The result of a plan whose actions all have a final outcome; undefined while one is left to do. */
export async function findFinishedResult({ plan_id, actions }: Plan, config: Config): Promise<ApplyResult | undefined> {
  const entries = await readLedger(config);
  const rows = actions.flatMap((action) => {
    const final = takeFinal(entries.get(toKey({ plan_id, action_id: action.action_id })));
    return final && identifyRequest(final) === identifyRequest(action) ? final : [];
  });
  return rows.length > 0 && rows.length === actions.length ? toApplyResult(plan_id, rows) : undefined;
}

/**
 * @param results in the order of the plan; actions that were not reached are left out
 * @param leftUnconfirmed how many of those are in doubt since an earlier apply: they may have taken effect
 * @param stopped why it stopped before the end
 */
function toApplyResult(planId: string, results: readonly ActionResult[], leftUnconfirmed = 0, stopped?: TidemarkError) {
  const end = stopped ? { reason: formatError(stopped), exit: stopped.exit } : null;
  const rows = results.map(({ event: _, ...row }) => row);
  return { plan_id: planId, rows, left_unconfirmed: leftUnconfirmed, stopped: end };
}

/**
 * 0 when every action was applied or needed no change, 1 when one failed or is unconfirmed; an abort has its own code. An undo that left
 * out an action is incomplete, as its plan says.
 */
export function applyExitCode({ rows, stopped }: ApplyResult, { undoes }: Pick<Plan, 'undoes'>): ExitCode {
  if (stopped) return stopped.exit;
  const isIncomplete = rows.some((row) => !isFinal(row) || (undoes !== undefined && !row.satisfied));
  return isIncomplete ? EXIT.incomplete : EXIT.done;
}

async function applyActions(
  plan: Plan,
  definitions: ReadonlyMap<Action, ActionDefinition>,
  options: ApplyOptions,
  ledger: Ledger,
  lock: Lock,
): Promise<ApplyResult> {
  const { config, context } = options;
  let unsent: TidemarkError | undefined;
  // An action that was started is completed: the user's signal stops the loop before the next action, not a call.
  const remote = openServices(config, context, new AbortController().signal, () => {
    lock.assertUnpaused();
    unsent = findStop(options, plan); // a pause that a service asks for may be long
    if (unsent) throw new TidemarkError('INCOMPLETE', `it was not sent: ${formatError(unsent)}`);
  });
  const progress = new Progress({ plan, remote, ledger, config, context });
  try {
    for (const [index, action] of progress.pendingActions().entries()) {
      let result: ActionResult | undefined;
      while (!result) {
        const asked = index === 0 ? undefined : action.target;
        const stop =
          findEnd(options, plan, progress) ??
          (await assertSameInstallations(plan, config, remote, asked).catch(catchKnown)); // a server may be replaced meanwhile
        if (stop) return await progress.finish(stop);
        lock.assertUnpaused();
        result = await progress.apply(action, definitions.get(action) as ActionDefinition);
      }
      const reason = result.reason === null ? '' : `: ${result.reason}`;
      const line = `${action.action_id}: ${action.summary}: ${result.status}${reason}`;
      context.log[isFinal(result) ? 'info' : 'warn'](line);
    }
    return await progress.finish(progress.explainContradictions() ?? unsent);
  } catch (error) {
    if (error instanceof LockError) return await progress.finish(error);
    throw error;
  } finally {
    await remote.close();
  }
}

/** Why the apply ends before its next action. */
function findEnd(options: ApplyOptions, plan: Plan, progress: Progress): TidemarkError | undefined {
  const { context, maxFailures } = options;
  const stop = findStop(options, plan);
  if (stop) return stop;
  if (context.signal.aborted)
    return new TidemarkError('INCOMPLETE', 'interrupted', { hint: 'apply the plan again to continue' });
  const contradictions = progress.explainContradictions();
  if (contradictions || progress.failures < maxFailures) return contradictions;
  return new TidemarkError('INCOMPLETE', `${plural(progress.failures, 'action')} failed or unconfirmed`);
}

/**
 * Why nothing of a plan may be sent any more. It may expire meanwhile, and the clock be set back: what began before the plan was made
 * would not count as new.
 */
function findStop({ config, context }: ApplyOptions, plan: Plan): TidemarkError | undefined {
  const file = join(config.data, 'STOP');
  try {
    // A file, a folder or a broken link.
    if (lstatSync(file, { throwIfNoEntry: false }))
      throw new TidemarkError('UNSAFE', `${file} exists`, { hint: 'remove it to continue' });
    assertValidAt(plan, context.clock.now(), config);
    return undefined;
  } catch (error) {
    return catchKnown(error);
  }
}

/** A plan of one or two actions tells nothing about the service. */
const MIN_CONTRADICTIONS = 2;

/** The progress of one apply. The actions of a finding, in the order of the plan, are a chain. */
class Progress {
  readonly #ctx: ApplyContext;
  readonly #findSinceUndone: ReturnType<typeof indexSinceUndone>;
  readonly #results = new Map<Action, ActionResult>();
  /** Actions that a reading contradicts. Their outcomes are recorded at the end, once the whole plan was read. */
  readonly #contradictions = new Map<Action, ActionOutcome>();
  /** The same actions, with those that wait for one of them. */
  readonly #contradicted = new Set<Action>();
  constructor(ctx: ApplyContext) {
    this.#ctx = ctx;
    this.#findSinceUndone = indexSinceUndone(ctx.ledger.entries, ctx.plan);
    for (const action of ctx.plan.actions) {
      const previous = this.#previous(action);
      if (previous && identifyRequest(previous) !== identifyRequest(action)) {
        const name = `${action.action_id} of plan ${ctx.plan.plan_id}`;
        throw new TidemarkError('UNSAFE', `${name} was changed since it was applied`, { hint: 'make a new plan' });
      }
      // What was left open or unconfirmed is settled, and a failed action is tried again; every other outcome is final.
      const final = takeFinal(previous);
      if (final) this.#results.set(action, final);
    }
  }

  /** How many actions of this apply failed or are unconfirmed. */
  get failures(): number {
    return [...this.#results.values()].filter((result) => !isFinal(result)).length;
  }

  /** The actions without a final outcome. Those of findings with a failed action come last, so that they do not block the rest. */
  pendingActions(): readonly Action[] {
    const { actions } = this.#ctx.plan;
    const tried = actions.filter((action) => this.#previous(action)?.event === 'outcome' && !this.#results.has(action));
    const failed = new Set(tried.map(({ finding_id }) => finding_id));
    const isLate = ({ finding_id }: Action) => failed.has(finding_id);
    const pending = actions.filter((action) => !this.#results.has(action));
    return [...pending.filter((action) => !isLate(action)), ...pending.filter(isLate)];
  }

  /** @returns undefined for an action that an earlier apply left open, and that was certainly not done: it is due now. */
  async apply(action: Action, definition: ActionDefinition): Promise<ActionResult | undefined> {
    const previous = this.#previous(action);
    const result = await this.#run({ ...this.#ctx, action, definition, previous });
    if (result) this.#results.set(action, result);
    return result;
  }

  /** Records what a reading contradicted, unless the apply was stopped: what was not read may show a fault of the service. */
  async finish(stopped?: TidemarkError): Promise<ApplyResult> {
    for (const [action, outcome] of this.#contradictions) {
      if (stopped) this.#results.delete(action);
      else await this.#ctx.ledger.record(outcome);
    }
    const { plan_id, playbook, actions } = this.#ctx.plan;
    if (stopped) this.#ctx.context.log.warn(`plan ${plan_id} of ${playbook} is stopped: ${formatError(stopped)}`);
    const results = actions.flatMap((action) => this.#results.get(action) ?? []);
    const left = this.pendingActions().flatMap((action) => this.#previous(action) ?? []);
    return toApplyResult(plan_id, results, left.filter(isUnsettled).length, stopped);
  }

  /** One subject may change between plan and apply. Where half of them seem to, the service is wrong. */
  explainContradictions(): TidemarkError | undefined {
    const count = this.#contradicted.size;
    const total = this.#ctx.plan.actions.length;
    if (this.#contradictions.size < MIN_CONTRADICTIONS || count * 2 < total) return undefined;
    const reason = `readings contradict ${count} of ${total} actions, as a fault of the service would`;
    return new TidemarkError('INCOMPLETE', reason, {
      hint: 'check the service, then apply the plan again or make a new one',
    });
  }

  async #run(attempt: Attempt): Promise<ActionResult | undefined> {
    const { plan, context, action, previous } = attempt;
    if (previous && isUnsettled(previous)) {
      // It may have been done, whatever has happened since.
      const settled = await settleAction(attempt, previous);
      return settled.status === 'failed' ? undefined : settled;
    }
    const chain = plan.actions.filter(({ finding_id }) => finding_id === action.finding_id);
    const place = chain.indexOf(action);
    const blocking = chain.slice(0, place).find((earlier) => this.#results.get(earlier)?.satisfied === false);
    if (blocking) {
      // Not in the ledger: the action is due once the one before it is applied.
      const reason = `${blocking.action_id}, which must come first, was not applied`;
      return unrecorded(newIntent(attempt), 'skipped', reason);
    }
    if (await isAccepted(attempt)) return recordUnsent(attempt, 'skipped', ACCEPTED);
    // Whatever its body is: a late effect of the other one would undo this one.
    const repeated = listBlocking(attempt.ledger.entries, context.clock.now()).find(
      (other) => other.plan_id !== plan.plan_id && identifyRequest(other) === identifyRequest(action),
    );
    if (repeated) return recordUnsent(attempt, 'failed', explainUnsettled(repeated));
    const { result, contradiction } = await executeAction(attempt, this.#findSinceUndone);
    if (contradiction) {
      this.#contradictions.set(action, contradiction);
      for (const blocked of result.satisfied ? [action] : chain.slice(place)) this.#contradicted.add(blocked);
    }
    return result;
  }

  #previous({ action_id }: Action): LedgerEntry | undefined {
    return this.#ctx.ledger.entries.get(toKey({ plan_id: this.#ctx.plan.plan_id, action_id }));
  }
}
