import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from '../config/config.ts';
import type { Context } from '../core/context.ts';
import { EXIT, type ExitCode, TidemarkError } from '../core/errors.ts';
import { acquireLock } from '../warehouse/lock.ts';
import { withWarehouse } from '../warehouse/session.ts';
import type { ActionDefinition, Playbook } from './define.ts';
import { type ActionResult, type ApplyContext, executeAction, newIntent, skipAction } from './execute-action.ts';
import { Ledger, syncLedger } from './ledger.ts';
import { type Action, findingIds, type Plan } from './plan-file.ts';
import { assertApplicable, readAcceptedFindings } from './preconditions.ts';
import { RemoteServices } from './remote.ts';

export const DEFAULT_MAX_FAILURES = 3;

export interface ApplyOptions {
  readonly config: Config;
  readonly context: Context;
  /** Stops after this number of actions that failed or are unconfirmed. */
  readonly maxFailures: number;
  /** Those that the plan may be of. */
  readonly playbooks: readonly Playbook[];
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

/**
 * Applies an approved plan, one action at a time, and continues where an earlier apply stopped. No action is applied twice.
 * @throws TidemarkError UNSAFE as `assertApplicable`; LOCKED while another apply runs.
 */
export async function applyPlan(plan: Plan, options: ApplyOptions): Promise<ApplyResult> {
  const { config, context, playbooks } = options;
  const definitions = await assertApplicable(plan, config, context.clock.now(), playbooks);
  const release = await acquireLock(join(config.data, 'apply.lock'), `plan ${plan.plan_id}`, context.clock.now());
  try {
    return await applyActions(plan, definitions, options);
  } finally {
    await release();
    await copyLedger(config, context);
  }
}

/** 0 when every action was applied or needed no change, 1 when one failed or is unconfirmed; an abort has its own code. */
export function applyExitCode({ rows, stopped }: ApplyResult): ExitCode {
  if (stopped) return stopped.exit;
  return rows.some(isFailure) ? EXIT.incomplete : EXIT.done;
}

function isFailure({ status }: ActionResult): boolean {
  return status === 'failed' || status === 'unconfirmed';
}

async function applyActions(
  plan: Plan,
  definitions: ReadonlyMap<Action, ActionDefinition>,
  options: ApplyOptions,
): Promise<ApplyResult> {
  const { config, context } = options;
  // An action that was started is completed: the user's signal stops the loop before the next action, not a call.
  const remote = new RemoteServices(config, context, new AbortController().signal);
  const ledger = await Ledger.open(config.data);
  try {
    const accepted = await readAcceptedFindings(plan, config, context);
    const state = new ApplyState({ plan, remote, ledger, context }, accepted);
    for (const action of state.pendingActions()) {
      const abort = checkAbort(options, plan, state.failures);
      if (abort) return state.result(abort);
      const result = await state.apply(action, definitions.get(action) as ActionDefinition);
      logResult(context, action, result);
    }
    return state.result(null);
  } finally {
    await ledger.close();
    await remote.close();
  }
}

/** The progress of one apply. */
class ApplyState {
  readonly #ctx: ApplyContext;
  /** IDs of accepted findings. */
  readonly #accepted: ReadonlySet<string>;
  readonly #results = new Map<Action, ActionResult>();
  #failures = 0;

  constructor(ctx: ApplyContext, accepted: ReadonlySet<string>) {
    this.#ctx = ctx;
    this.#accepted = accepted;
    for (const action of ctx.plan.actions) {
      const entry = this.#previous(action);
      // An open action is resolved, and a failed one is tried again; every other outcome is final.
      if (entry && !entry.isOpen && entry.row.status !== 'failed') this.#results.set(action, entry.row);
    }
  }

  /** Actions of this apply that failed or are unconfirmed. */
  get failures(): number {
    return this.#failures;
  }

  /** The actions without a final outcome. Those of findings with a failed action come last, so that they do not block the rest. */
  pendingActions(): readonly Action[] {
    const { actions } = this.#ctx.plan;
    const failed = new Set(
      actions
        .filter((action) => {
          const entry = this.#previous(action);
          return entry !== undefined && !entry.isOpen && entry.row.status === 'failed';
        })
        .map(({ finding_id }) => finding_id),
    );
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

  result(stopped: Abort | null): ApplyResult {
    const { plan_id, actions } = this.#ctx.plan;
    return { plan_id, rows: actions.flatMap((action) => this.#results.get(action) ?? []), stopped };
  }

  async #run(action: Action, definition: ActionDefinition): Promise<ActionResult> {
    const previous = this.#previous(action);
    if (!previous?.isOpen) {
      const blocking = this.#blockingAction(action);
      if (blocking) {
        // Not in the ledger: the action is due once the one before it is applied.
        const reason = `${blocking.action_id}, which must come first, was not applied`;
        return { ...newIntent(this.#ctx, action), status: 'skipped', reason, satisfied: false, finished_at: null };
      }
      if (findingIds(action).every((id) => this.#accepted.has(id))) {
        return skipAction(this.#ctx, action, 'the finding was accepted since the plan was made');
      }
    }
    return executeAction(this.#ctx, action, definition, previous);
  }

  /** An earlier action of the same finding that was not applied: the actions of a finding are a chain. */
  #blockingAction(action: Action): Action | undefined {
    const { actions } = this.#ctx.plan;
    return actions.slice(0, actions.indexOf(action)).find((earlier) => {
      const result = this.#results.get(earlier);
      return earlier.finding_id === action.finding_id && result !== undefined && !result.satisfied;
    });
  }

  #previous({ action_id }: Action) {
    const { plan, ledger } = this.#ctx;
    return ledger.entry({ plan_id: plan.plan_id, action_id });
  }
}

function checkAbort({ config, context, maxFailures }: ApplyOptions, plan: Plan, failures: number): Abort | undefined {
  const file = join(config.data, 'STOP');
  if (existsSync(file)) return { reason: `${file} exists: remove it to continue`, exit: EXIT.unsafe };
  if (context.signal.aborted) return { reason: 'interrupted: apply the plan again to continue', exit: EXIT.incomplete };
  if (context.clock.now().getTime() >= Date.parse(plan.expires_at)) {
    return { reason: `the plan expired at ${plan.expires_at}`, exit: EXIT.unsafe };
  }
  if (failures < maxFailures) return undefined;
  return { reason: `${failures} actions failed or are unconfirmed`, exit: EXIT.incomplete };
}

function logResult({ log }: Context, { action_id, summary }: Action, result: ActionResult): void {
  const { status, reason } = result;
  const line = `${action_id}: ${summary}: ${status}${reason === null ? '' : `: ${reason}`}`;
  if (isFailure(result)) log.warn(line);
  else log.info(line);
}

/** The ledger is the source of truth. Where a run holds the warehouse, that run copies it to the table `actions`. */
async function copyLedger(config: Config, context: Context): Promise<void> {
  const { log, clock } = context;
  try {
    await withWarehouse({ config, purpose: 'playbook apply', now: clock.now(), log }, (warehouse) =>
      syncLedger(warehouse, config),
    );
  } catch (error) {
    if (!(error instanceof TidemarkError)) throw error;
    log.warn(`the next run will update the table actions: ${error.message}`);
  }
}
