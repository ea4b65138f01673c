import type { ApplyContext } from './apply-context.ts';
import type { Abort, ApplyResult } from './apply-result.ts';
import type { ActionDefinition } from './define.ts';
import { type ActionResult, executeAction, isUnsettled, newIntent, skipAction } from './execute-action.ts';
import { type Action, findingIds } from './plan-file.ts';

export function isFailure({ status }: ActionResult): boolean {
  return status === 'failed' || status === 'unconfirmed';
}

/** The progress of one apply. */
export class ApplyState {
  readonly #ctx: ApplyContext;
  readonly #results = new Map<Action, ActionResult>();
  /** Outcomes of actions that a reading contradicts. They are recorded at the end, unless the service seems to be at fault. */
  readonly #contradictions = new Map<Action, () => Promise<void>>();
  #failures = 0;

  constructor(ctx: ApplyContext) {
    this.#ctx = ctx;
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

  /** Records what a reading contradicted, unless `stopped` says that so many contradictions are a fault of the service. */
  async finish(stopped: Abort | null): Promise<ApplyResult> {
    for (const [action, record] of this.#contradictions) {
      if (stopped?.isServiceFault) this.#results.delete(action);
      else await record();
    }
    return this.result(stopped);
  }

  result(stopped: Abort | null): ApplyResult {
    const { plan_id, actions } = this.#ctx.plan;
    const rows = actions.flatMap((action) => this.#results.get(action) ?? []);
    return { plan_id, rows, stopped: stopped && { reason: stopped.reason, exit: stopped.exit } };
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
