import type { ExitCode } from '../core/errors.ts';
import type { ActionDefinition } from './define.ts';
import { type ActionResult, executeAction, failAction, newIntent, skipAction } from './execute-action.ts';
import { isUnsettled } from './ledger.ts';
import type { ApplyContext } from './observe-action.ts';
import { type Action, findingIds } from './plan-file.ts';
import { areAccepted } from './published-reads.ts';
import { explainUnsettled, findRepeated, type UnsettledAction } from './unsettled.ts';

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

/** The progress of one apply. */
export class ApplyState {
  readonly #ctx: ApplyContext;
  readonly #unsettled: readonly UnsettledAction[];
  readonly #results = new Map<Action, ActionResult>();
  /** Outcomes of actions that a reading contradicts. They are recorded at the end, once the whole plan was read. */
  readonly #contradictions = new Map<Action, () => Promise<void>>();
  /** The same actions, with those that wait for one of them. */
  readonly #contradicted = new Set<Action>();
  /** The actions of each finding, in the order of the plan: they are a chain. */
  readonly #chains: ReadonlyMap<string, readonly Action[]>;
  #failures = 0;

  constructor(ctx: ApplyContext, unsettled: readonly UnsettledAction[]) {
    this.#ctx = ctx;
    this.#unsettled = unsettled;
    this.#chains = groupChains(ctx.plan.actions);
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
    return this.#contradicted.size;
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
    const attempt = { ...this.#ctx, action, definition };
    const previous = this.#previous(action);
    if (!previous || !isUnsettled(previous)) {
      const blocking = this.#blockingAction(action);
      if (blocking) {
        // Not in the ledger: the action is due once the one before it is applied.
        const reason = `${blocking.action_id}, which must come first, was not applied`;
        return { ...newIntent(attempt), status: 'skipped', reason, satisfied: false, finished_at: null };
      }
      if (await this.#isAccepted(action)) {
        return skipAction(attempt, 'the finding was accepted since the plan was made');
      }
      const repeated = findRepeated(action, this.#ctx.plan.plan_id, this.#unsettled);
      if (repeated) return failAction(attempt, explainUnsettled(repeated), previous);
    }
    const { result, contradiction } = await executeAction(attempt, previous);
    if (contradiction) {
      this.#contradictions.set(action, contradiction.record);
      for (const blocked of result.satisfied ? [action] : this.#chainFrom(action)) this.#contradicted.add(blocked);
    }
    return result;
  }

  /** An acceptance does not keep an action from being undone. */
  async #isAccepted(action: Action): Promise<boolean> {
    const { plan, config, context } = this.#ctx;
    return plan.undoes === undefined && areAccepted(config, findingIds(action), context.clock.now());
  }

  /** An earlier action of the same finding that was not applied. */
  #blockingAction(action: Action): Action | undefined {
    const chain = this.#chains.get(action.finding_id) ?? [];
    return chain.slice(0, chain.indexOf(action)).find((earlier) => this.#results.get(earlier)?.satisfied === false);
  }

  /** An action with those of its finding that come after it. */
  #chainFrom(action: Action): readonly Action[] {
    const chain = this.#chains.get(action.finding_id) ?? [];
    return chain.slice(chain.indexOf(action));
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

function groupChains(actions: readonly Action[]): ReadonlyMap<string, readonly Action[]> {
  const chains = new Map<string, Action[]>();
  for (const action of actions) {
    const chain = chains.get(action.finding_id);
    if (chain) chain.push(action);
    else chains.set(action.finding_id, [action]);
  }
  return chains;
}

export function isFailure({ status }: ActionResult): boolean {
  return status === 'failed' || status === 'unconfirmed';
}
