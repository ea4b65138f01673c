import { lstatSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from '../config/config.ts';
import type { Context } from '../core/context.ts';
import { EXIT, type ExitCode, formatError } from '../core/errors.ts';
import { plural } from '../core/plural.ts';
import { reportFullDisk } from '../warehouse/disk-space.ts';
import { acquireLock, type Lock, LockError } from '../warehouse/lock.ts';
import type { ActionDefinition, Playbook } from './define.ts';
import { type ActionResult, executeAction, failAction, newIntent, skipAction } from './execute-action.ts';
import { isUnsettled } from './ledger.ts';
import { assertAfterLedger, Ledger } from './ledger-file.ts';
import { copyLedger, readLedger } from './ledger-table.ts';
import type { ApplyContext } from './observe-action.ts';
import { type Action, findingIds, type Plan } from './plan-file.ts';
import { keepPlan } from './plan-store.ts';
import { assertSameInstallations } from './plan-targets.ts';
import { assertApplicable } from './preconditions.ts';
import { PublishedReads } from './published-reads.ts';
import { RemoteServices } from './remote.ts';
import { explainUnsettled, findRepeated, findUnsettledActions, type UnsettledAction } from './unsettled.ts';

export interface ApplyOptions {
  readonly config: Config;
  readonly context: Context;
  /** Stops after this number of actions that failed or are unconfirmed. */
  readonly maxFailures: number;
  /** The caller holds the lock of the warehouse, and copies the ledger to it afterwards. */
  readonly isInRun?: boolean;
  /** Those that the plan may be of. */
  readonly playbooks: readonly Playbook[];
}

/**
 * Applies an approved plan, one action at a time, and continues where an earlier apply stopped. No action is applied twice.
 * @throws TidemarkError UNSAFE as `assertApplicable`; LOCKED while another apply runs.
 */
export function applyPlan(plan: Plan, options: ApplyOptions): Promise<ApplyResult> {
  const { config } = options;
  return reportFullDisk(config, () => applyPublished(plan, options));
}

async function applyPublished(plan: Plan, options: ApplyOptions): Promise<ApplyResult> {
  const published = new PublishedReads(options.config, options.context);
  try {
    return await applyLocked(plan, options, published);
  } finally {
    published.close();
  }
}

async function applyLocked(given: Plan, options: ApplyOptions, published: PublishedReads): Promise<ApplyResult> {
  const { config, context, playbooks } = options;
  const now = context.clock.now();
  await assertAfterLedger(config.data, context.clock);
  const { plan, definitions } = await assertApplicable(given, { config, published, now, playbooks });
  const lock = await acquireLock(join(config.data, 'apply.lock'), `plan ${plan.plan_id}`, { now });
  try {
    await assertSameInstallations(plan, config, context);
    await keepPlan(config, plan);
    return await applyActions(plan, definitions, options, { lock, published });
  } finally {
    await lock.release();
    if (!options.isInRun) await copyLedger(config, context);
  }
}

/** The result of a plan whose actions all have a final outcome; undefined while one is left to do. */
export async function findFinishedResult({ plan_id, actions }: Plan, config: Config): Promise<ApplyResult | undefined> {
  const entries = (await readLedger(config)).filter(({ row }) => row.plan_id === plan_id);
  const rows = actions.flatMap(({ action_id }) => {
    const entry = entries.find(({ row }) => row.action_id === action_id);
    return entry && !entry.isOpen && !isFailure(entry.row) ? [entry.row] : [];
  });
  return actions.length > 0 && rows.length === actions.length ? { plan_id, rows, stopped: null } : undefined;
}

/** 0 when every action was applied or needed no change, 1 when one failed or is unconfirmed; an abort has its own code. */
export function applyExitCode({ rows, stopped }: ApplyResult): ExitCode {
  if (stopped) return stopped.exit;
  return rows.some(isFailure) ? EXIT.incomplete : EXIT.done;
}

async function applyActions(
  plan: Plan,
  definitions: ReadonlyMap<Action, ActionDefinition>,
  options: ApplyOptions,
  { lock, published }: { readonly lock: Lock; readonly published: PublishedReads },
): Promise<ApplyResult> {
  const { config, context } = options;
  // An action that was started is completed: the user's signal stops the loop before the next action, not a call.
  const remote = new RemoteServices(config, context, new AbortController().signal, () => lock.assertUnpaused());
  const ledger = await Ledger.open(config.data, lock, await published.seenLedger());
  const unsettled = await findUnsettledActions(config, ledger.entries(), context.clock.now());
  const state = new ApplyState({ plan, remote, ledger, published, context }, unsettled);
  try {
    for (const action of state.pendingActions()) {
      const abort = checkAbort(options, plan, state);
      if (abort) return await state.finish(abort);
      lock.assertUnpaused();
      const result = await state.apply(action, definitions.get(action) as ActionDefinition);
      logResult(context, action, result);
    }
    return await state.finish(checkContradictions(plan, state) ?? null);
  } catch (error) {
    if (error instanceof LockError) return await state.finish({ reason: formatError(error), exit: error.exit });
    throw error;
  } finally {
    await ledger.close();
    await remote.close();
  }
}

function checkAbort({ config, context, maxFailures }: ApplyOptions, plan: Plan, state: ApplyState): Abort | undefined {
  const file = join(config.data, 'STOP');
  if (isPresent(file)) return { reason: `${file} exists: remove it to continue`, exit: EXIT.unsafe };
  if (context.signal.aborted) return { reason: 'interrupted: apply the plan again to continue', exit: EXIT.incomplete };
  if (context.clock.now().getTime() >= Date.parse(plan.expires_at)) {
    return { reason: `the plan expired at ${plan.expires_at}`, exit: EXIT.unsafe };
  }
  const contradicted = checkContradictions(plan, state);
  if (contradicted) return contradicted;
  if (state.failures < maxFailures) return undefined;
  return { reason: `${plural(state.failures, 'action')} failed or unconfirmed`, exit: EXIT.incomplete };
}

/** Whether a file, a folder or a broken link has this path. A path that cannot be examined counts as present. */
function isPresent(file: string): boolean {
  try {
    lstatSync(file);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ENOENT';
  }
}

/** One subject may change between plan and apply. Where half of them seem to, the service is wrong. */
function checkContradictions({ actions }: Plan, { contradictions, contradicted }: ApplyState): Abort | undefined {
  if (contradictions < MIN_CONTRADICTIONS || contradicted * 2 < actions.length) return undefined;
  const reason = `readings contradict ${contradicted} of ${actions.length} actions, as a fault of the service would`;
  return {
    reason: `${reason}: check the service, then apply the plan again or make a new one`,
    exit: EXIT.incomplete,
  };
}

/** A plan of one or two actions tells nothing about the service. */
const MIN_CONTRADICTIONS = 2;

function logResult({ log }: Context, { action_id, summary }: Action, result: ActionResult): void {
  const { status, reason } = result;
  const line = `${action_id}: ${summary}: ${status}${reason === null ? '' : `: ${reason}`}`;
  if (isFailure(result)) log.warn(line);
  else log.info(line);
}

function isFailure({ status }: ActionResult): boolean {
  return status === 'failed' || status === 'unconfirmed';
}

/** The progress of one apply. */
export class ApplyState {
  readonly #ctx: ApplyContext;
  readonly #unsettled: readonly UnsettledAction[];
  readonly #results = new Map<Action, ActionResult>();
  /** Outcomes of actions that a reading contradicts. They are recorded at the end, once the whole plan was read. */
  readonly #contradictions = new Map<Action, () => Promise<void>>();
  #failures = 0;

  constructor(ctx: ApplyContext, unsettled: readonly UnsettledAction[]) {
    this.#ctx = ctx;
    this.#unsettled = unsettled;
    for (const action of ctx.plan.actions) {
      const entry = this.#previous(action);
      // What was left open or unconfirmed is settled, and a failed action is tried again; every other outcome is final.
      if (entry && !entry.isOpen && !isFailure(entry.row)) this.#results.set(action, entry.row);
    }
  }

  /** Actions of this apply that failed or are unconfirmed. */
  get failures(): number {
    return this.#failures;
  }

  /** Actions of this apply whose subject is not as planned. */
  get contradictions(): number {
    return this.#contradictions.size;
  }

  /** The same, with the actions that wait for one of them. */
  get contradicted(): number {
    return this.#ctx.plan.actions.filter((action) => {
      const cause = this.#contradictions.has(action) ? action : this.#blockingAction(action);
      return cause !== undefined && this.#contradictions.has(cause);
    }).length;
  }

  /** The actions without a final outcome. Those of findings with a failed action come last, so that they do not block the rest. */
  pendingActions(): readonly Action[] {
    const { actions } = this.#ctx.plan;
    const failed = new Set(actions.filter((action) => this.#hasFailed(action)).map(({ finding_id }) => finding_id));
    const pending = actions.filter((action) => !this.#results.has(action));
    return [
      ...pending.filter(({ finding_id }) => !failed.has(finding_id)),
      ...pending.filter(({ finding_id }) => failed.has(finding_id)),
    ];
  }

  async apply(action: Action, definition: ActionDefinition): Promise<ActionResult> {
    const result = await this.#run(action, definition);
    this.#results.set(action, result);
    if (isFailure(result)) this.#failures++;
    return result;
  }

  /** Records what a reading contradicted, unless the apply was stopped: what was not read may show a fault of the service. */
  async finish(stopped: Abort | null): Promise<ApplyResult> {
    for (const [action, record] of this.#contradictions) {
      if (stopped) this.#results.delete(action);
      else await record();
    }
    const { plan_id, actions } = this.#ctx.plan;
    return { plan_id, rows: actions.flatMap((action) => this.#results.get(action) ?? []), stopped };
  }

  async #run(action: Action, definition: ActionDefinition): Promise<ActionResult> {
    const previous = this.#previous(action);
    if (!previous || !isUnsettled(previous)) {
      const blocking = this.#blockingAction(action);
      if (blocking) {
        // Not in the ledger: the action is due once the one before it is applied.
        const reason = `${blocking.action_id}, which must come first, was not applied`;
        return { ...newIntent(this.#ctx, action), status: 'skipped', reason, satisfied: false, finished_at: null };
      }
      if (await this.#isAccepted(action)) {
        return skipAction(this.#ctx, action, 'the finding was accepted since the plan was made');
      }
      const repeated = findRepeated(action, this.#ctx.plan.plan_id, this.#unsettled);
      if (repeated) return failAction(this.#ctx, action, explainUnsettled(repeated), previous);
    }
    const { result, contradiction } = await executeAction(this.#ctx, action, definition, previous);
    if (contradiction) this.#contradictions.set(action, contradiction.record);
    return result;
  }

  /** An acceptance does not keep an action from being undone. */
  async #isAccepted(action: Action): Promise<boolean> {
    const { plan, published } = this.#ctx;
    if (plan.undoes !== undefined) return false;
    const accepted = await published.acceptedFindings(plan);
    return findingIds(action).every((id) => accepted.has(id));
  }

  /** An earlier action of the same finding that was not applied: the actions of a finding are a chain. */
  #blockingAction(action: Action): Action | undefined {
    const { actions } = this.#ctx.plan;
    return actions.slice(0, actions.indexOf(action)).find((earlier) => {
      const result = this.#results.get(earlier);
      return earlier.finding_id === action.finding_id && result !== undefined && !result.satisfied;
    });
  }

  #hasFailed(action: Action): boolean {
    const entry = this.#previous(action);
    return entry !== undefined && !entry.isOpen && isFailure(entry.row);
  }

  #previous({ action_id }: Action) {
    const { plan, ledger } = this.#ctx;
    return ledger.entry({ plan_id: plan.plan_id, action_id });
  }
}

export interface ApplyResult {
  readonly plan_id: string;
  /** In the order of the plan. Actions that were not reached are left out. */
  readonly rows: readonly ActionResult[];
  /** Why it stopped before the end. */
  readonly stopped: Abort | null;
}

export interface Abort {
  readonly reason: string;
  readonly exit: ExitCode;
}
