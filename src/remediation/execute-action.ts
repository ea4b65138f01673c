import type { Context } from '../core/context.ts';
import { formatError, TidemarkError } from '../core/errors.ts';
import { type FailureKind, ServiceError } from '../http/errors.ts';
import { sleep } from '../http/retry.ts';
import type { ActionDefinition, Observation } from './define.ts';
import type { ActionIntent, ActionOutcome, Ledger, LedgerEntry } from './ledger.ts';
import type { Action, Plan } from './plan-file.ts';
import { getOperation } from './registry.ts';
import type { RemoteServices } from './remote.ts';

export interface ApplyContext {
  readonly plan: Plan;
  readonly remote: RemoteServices;
  readonly ledger: Ledger;
  readonly context: Context;
}

/** The result of an action in one apply. `finished_at` is null where the ledger holds no outcome. */
export type ActionResult = Omit<ActionOutcome, 'finished_at'> & { readonly finished_at: string | null };

/**
 * Reads the subject, and executes the action if the subject is as planned. An action that an earlier apply left open is resolved
 * first. The intent is on disk before anything is sent, and the outcome before the next action starts.
 */
export async function executeAction(
  ctx: ApplyContext,
  action: Action,
  definition: ActionDefinition,
  previous: LedgerEntry | undefined,
): Promise<ActionResult> {
  const row = newIntent(ctx, action);
  let observation: Observation;
  try {
    observation = await observe(ctx, action, definition);
  } catch (error) {
    rethrowUnexpected(error);
    return handleUnreadable(ctx, row, previous, error);
  }
  const { precondition, observed } = observation;
  if (previous?.isOpen) {
    const resolved = resolveInterrupted(action, definition, precondition);
    if (resolved) return conclude(ctx, { ...previous.row, ...resolved, after: observed });
  }
  if (precondition.state !== 'ready') return conclude(ctx, { ...row, before: observed, ...skippedBy(precondition) });
  const intent = { ...row, before: observed };
  await ctx.ledger.recordIntent(intent);
  return conclude(ctx, { ...intent, ...(await send(ctx, action, definition)) });
}

/** Records that an action is skipped, and why. */
export function skipAction(ctx: ApplyContext, action: Action, reason: string): Promise<ActionResult> {
  return conclude(ctx, { ...newIntent(ctx, action), status: 'skipped', reason, satisfied: false });
}

export function newIntent({ plan, context }: ApplyContext, action: Action): ActionIntent {
  return {
    plan_id: plan.plan_id,
    action_id: action.action_id,
    playbook: plan.playbook,
    operation: action.operation,
    target: action.target,
    params: action.params,
    finding_id: action.finding_id,
    reason: null,
    approved_by: plan.approval?.by ?? '',
    started_at: context.clock.now().toISOString(),
    before: null,
    after: null,
  };
}

type Conclusion = Pick<ActionOutcome, 'status' | 'reason' | 'satisfied'>;
type ConclusionAfter = Conclusion & Pick<ActionOutcome, 'after'>;

async function conclude(ctx: ApplyContext, row: Omit<ActionOutcome, 'finished_at'>): Promise<ActionOutcome> {
  const reason = row.reason === null ? null : ctx.context.redactor.text(row.reason);
  const outcome = { ...row, reason, finished_at: ctx.context.clock.now().toISOString() };
  await ctx.ledger.recordOutcome(outcome);
  return outcome;
}

function skippedBy({ state, reason }: Exclude<Observation['precondition'], { state: 'ready' }>): Conclusion {
  return state === 'satisfied'
    ? { status: 'skipped', reason: `no change needed: ${reason}`, satisfied: true }
    : { status: 'skipped', reason, satisfied: false };
}

async function observe(
  { remote }: ApplyContext,
  { target, guard }: Action,
  definition: ActionDefinition,
): Promise<Observation> {
  return definition.observe(await remote.readGuards(target, guard.reads), guard.inputs);
}

/**
 * Reads may lag behind writes: ACL policies are replicated (docs/services/scheduler.md#acl-policies), and the explorer is
 * eventually consistent (docs/services/platform.md#explorer-queries).
 */
const REREAD_DELAYS_MS = [300, 1200];

/** The observation that confirms the call, or else the last one. A signal does not interrupt an action that was sent. */
async function observeUntilConfirmed(
  ctx: ApplyContext,
  action: Action,
  definition: ActionDefinition,
  response: unknown,
): Promise<Observation> {
  let observation = await observe(ctx, action, definition);
  for (const waitMs of REREAD_DELAYS_MS) {
    if (observation.isConfirmed(response)) break;
    await sleep(waitMs, new AbortController().signal);
    observation = await observe(ctx, action, definition);
  }
  return observation;
}

/** Undefined where the subject cannot be read: the caller reports the error that came first. */
async function tryObserve(
  ctx: ApplyContext,
  action: Action,
  definition: ActionDefinition,
): Promise<Observation | undefined> {
  try {
    return await observe(ctx, action, definition);
  } catch (error) {
    rethrowUnexpected(error);
    return undefined;
  }
}

/** Any other error is a bug of this program. The action then stays open in the ledger. */
function rethrowUnexpected(error: unknown): void {
  if (!(error instanceof TidemarkError)) throw error;
}

/** Nothing was sent now. An action that was left open stays open, to be resolved by a later apply. */
async function handleUnreadable(
  ctx: ApplyContext,
  row: ActionIntent,
  previous: LedgerEntry | undefined,
  error: unknown,
): Promise<ActionResult> {
  const reason = `the subject could not be read: ${formatError(error)}`;
  if (!previous?.isOpen) return conclude(ctx, { ...row, status: 'failed', reason, satisfied: false });
  const redacted = ctx.context.redactor.text(`interrupted, and ${reason}`);
  return { ...previous.row, status: 'unconfirmed', reason: redacted, satisfied: false, finished_at: null };
}

/** What became of an interrupted action, as far as a read shows; undefined where it was not applied and may be sent again. */
function resolveInterrupted(
  { operation }: Action,
  definition: ActionDefinition,
  precondition: Observation['precondition'],
): Conclusion | undefined {
  const unconfirmed = (why: string): Conclusion => ({
    status: 'unconfirmed',
    reason: `interrupted, and ${why}: check the subject, and make a new plan if the action is still needed`,
    satisfied: false,
  });
  if (definition.notVerifiable) return unconfirmed('a read cannot show whether it was applied');
  if (precondition.state === 'satisfied') {
    const reason = `interrupted; a read shows that it was applied: ${precondition.reason}`;
    return { status: 'applied', reason, satisfied: true };
  }
  if (precondition.state === 'drifted') return unconfirmed(`${precondition.reason} now`);
  return isRepeatable(operation) ? undefined : unconfirmed('a read does not show it, but it may still be in progress');
}

/** DELETE is idempotent, so it may be repeated here even where the client never retries it. */
function isRepeatable(name: string): boolean {
  const { retryPolicy, method } = getOperation(name);
  return retryPolicy !== 'never' || method === 'DELETE';
}

async function send(ctx: ApplyContext, action: Action, definition: ActionDefinition): Promise<ConclusionAfter> {
  let response: unknown;
  try {
    response = await ctx.remote.execute(action);
  } catch (error) {
    rethrowUnexpected(error);
    return handleFailure(ctx, action, definition, error);
  }
  try {
    const observation = await observeUntilConfirmed(ctx, action, definition, response);
    if (observation.isConfirmed(response)) {
      return { status: 'applied', reason: null, satisfied: true, after: observation.observed };
    }
    const reason = 'the service accepted it, and a read does not show it';
    return { status: 'unconfirmed', reason, satisfied: false, after: observation.observed };
  } catch (error) {
    rethrowUnexpected(error);
    const reason = `the service accepted it, and the subject could not be read again: ${formatError(error)}`;
    return { status: 'unconfirmed', reason, satisfied: false, after: null };
  }
}

/** Failures after which it is certain that nothing was changed. A time-out or an error within the service leaves it open. */
const NOT_EXECUTED: ReadonlySet<FailureKind> = new Set<FailureKind>([
  'unauthorized',
  'forbidden',
  'not-found',
  'wrong-mount',
  'conflict',
  'precondition',
  'in-use',
  'invalid',
  'rate-limited',
  'too-long-wait',
  'too-large',
]);

async function handleFailure(
  ctx: ApplyContext,
  action: Action,
  definition: ActionDefinition,
  error: unknown,
): Promise<ConclusionAfter> {
  const message = formatError(error);
  const observation = await tryObserve(ctx, action, definition);
  const after = observation?.observed ?? null;
  if (!(error instanceof ServiceError) || NOT_EXECUTED.has(error.failure)) {
    // Someone else may have made the change between the read and the call.
    if (observation?.precondition.state === 'satisfied') return { ...skippedBy(observation.precondition), after };
    return { status: 'failed', reason: message, satisfied: false, after };
  }
  if (observation) {
    const resolved = resolveInterrupted(action, definition, observation.precondition);
    if (!resolved) {
      return { status: 'failed', reason: `${message}; a read shows that it was not applied`, satisfied: false, after };
    }
    if (resolved.status === 'applied') {
      return { ...resolved, reason: `${message}; a read shows that it was applied`, after };
    }
  }
  const reason = `${message}; it is unknown whether it was applied`;
  return { status: 'unconfirmed', reason, satisfied: false, after };
}
