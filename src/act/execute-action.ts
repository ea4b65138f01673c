import { DAY_MS } from '../core/clock.ts';
import { formatError } from '../core/errors.ts';
import { type FailureKind, ServiceError } from '../http/errors.ts';
import type { Precondition } from './define.ts';
import { type ActionIntent, type ActionOutcome, isUnsettled, type LedgerEntry } from './ledger.ts';
import { type ApplyContext, type Attempt, observeAction, type Reading, rethrowUnexpected } from './observe-action.ts';
import { findSame, listDoneElsewhere } from './other-plans.ts';
import { findingIds } from './plan-file.ts';
import { awaitConfirmation, formatLag, type Settlement, settleAction } from './settle.ts';

/** The result of an action in one apply. `finished_at` is null where the ledger holds no outcome. */
export type ActionResult = Omit<ActionOutcome, 'finished_at'> & { readonly finished_at: string | null };

/** The result of an action whose subject was read. */
export interface Execution {
  readonly result: ActionResult;
  /** Set where the reading contradicts the plan, and nothing was sent: writes the outcome, which the ledger does not have yet. */
  readonly record?: () => Promise<void>;
}

/** How an action ended. `satisfied` is true for one that was applied. */
type Conclusion = Pick<ActionOutcome, 'status' | 'reason'> &
  Partial<Pick<ActionOutcome, 'satisfied' | 'after' | 'answer'>>;

/**
 * Reads the subject, and executes the action if the subject is as planned. An action that an earlier apply left open or unconfirmed
 * is settled first. The intent is on disk before anything is sent, and the outcome before the next action starts.
 */
export async function executeAction(attempt: Attempt, previous: LedgerEntry | undefined): Promise<Execution> {
  if (previous && isUnsettled(previous)) {
    const settlement = await settlePrevious(attempt, previous);
    if (settlement.status !== 'failed') return { result: await recordSettlement(attempt, previous, settlement) };
  }
  let reading: Reading;
  try {
    reading = await observeAction(attempt);
  } catch (error) {
    rethrowUnexpected(error);
    return { result: await failAction(attempt, `the subject could not be read: ${formatError(error)}`, previous) };
  }
  const { precondition, observed } = reading;
  if (precondition.state === 'unknown') return { result: await failAction(attempt, precondition.reason, previous) };
  const intent = { ...newIntent(attempt), before: observed };
  if (precondition.state !== 'ready') return skipContradicted(attempt, intent, reading, precondition, previous);
  await attempt.ledger.recordIntent(intent);
  const sent = await send(attempt, previous);
  return { result: await conclude(attempt, { ...intent, ...keepAnswer(previous) }, sent) };
}

/** Records that an action is skipped, and why. */
export function skipAction(attempt: Attempt, reason: string): Promise<ActionResult> {
  return conclude(attempt, newIntent(attempt), { status: 'skipped', reason });
}

/** Records that an action was not sent. The next apply tries it again. */
export function failAction(attempt: Attempt, reason: string, previous: LedgerEntry | undefined): Promise<ActionResult> {
  return conclude(attempt, { ...newIntent(attempt), ...keepAnswer(previous) }, { status: 'failed', reason });
}

export function newIntent({ plan, context, action }: Attempt): ActionIntent {
  const now = context.clock.now();
  const acceptedUntil = new Date(now.getTime() + (plan.accept_days ?? 0) * DAY_MS).toISOString();
  return {
    plan_id: plan.plan_id,
    action_id: action.action_id,
    playbook: plan.playbook,
    operation: action.operation,
    target: action.target,
    params: action.params,
    finding_id: action.finding_id,
    reason: null,
    approved_by: plan.approvals.map(({ by }) => by).join(', '),
    started_at: now.toISOString(),
    before: null,
    after: null,
    ...(plan.accept_days !== undefined && { accepts: { finding_ids: [...findingIds(action)], until: acceptedUntil } }),
  };
}

async function conclude(
  ctx: ApplyContext,
  row: ActionIntent | ActionOutcome,
  conclusion: Conclusion,
): Promise<ActionOutcome> {
  const outcome = finish(ctx, row, conclusion);
  await ctx.ledger.recordOutcome(outcome);
  return outcome;
}

function finish({ context }: ApplyContext, row: ActionIntent | ActionOutcome, conclusion: Conclusion): ActionOutcome {
  const reason = conclusion.reason === null ? null : context.redactor.text(conclusion.reason);
  const satisfied = conclusion.status === 'applied';
  return { ...row, satisfied, ...conclusion, reason, finished_at: context.clock.now().toISOString() };
}

/** An earlier request that was interrupted, or whose answer was unclear, may take effect later, and is then ours. */
function isAmbiguous(previous: LedgerEntry | undefined): previous is LedgerEntry {
  return previous !== undefined && (previous.isOpen || isUnsettled(previous) || previous.row.answer === 'ambiguous');
}

function keepAnswer(previous: LedgerEntry | undefined): Pick<ActionOutcome, 'answer'> {
  return isAmbiguous(previous) ? { answer: 'ambiguous' } : {};
}

type Contradiction = Extract<Precondition, { readonly reason: string }>;

/** How the reason begins where an action is skipped because the subject is already as the action would leave it. */
const NO_CHANGE_NEEDED = 'no change needed';

function skippedBy({ state, reason }: Contradiction): Conclusion {
  const satisfied = state === 'satisfied';
  return { status: 'skipped', reason: satisfied ? `${NO_CHANGE_NEEDED}: ${reason}` : reason, satisfied };
}

function confirmedLate(reason: string): Conclusion {
  return { status: 'applied', reason: `confirmed late: ${reason}` };
}

async function skipContradicted(
  attempt: Attempt,
  intent: ActionIntent,
  { isAbsenceProven, observed }: Reading,
  precondition: Contradiction,
  previous: LedgerEntry | undefined,
): Promise<Execution> {
  const { plan, ledger, action } = attempt;
  const isSatisfied = precondition.state === 'satisfied';
  const other = findSame(action, listDoneElsewhere(plan, ledger.entries), isSatisfied ? undefined : observed);
  if (other) {
    const reason = `${other.action_id} of plan ${other.plan_id} did it at ${other.finished_at}`;
    return { result: await conclude(attempt, intent, skippedBy({ state: 'satisfied', reason })) };
  }
  if (isAmbiguous(previous) && isSatisfied) {
    const conclusion = { ...confirmedLate(precondition.reason), after: observed };
    return { result: await conclude(attempt, previous.row, conclusion) };
  }
  const result = finish(attempt, intent, skippedBy(precondition));
  const record = () => ledger.recordOutcome(result);
  if (!isAbsenceProven) return { result, record };
  await record();
  return { result };
}

/** Reads the subject of an action that an earlier apply left open or unconfirmed, over the lag. Nothing is sent here. */
function settlePrevious(attempt: Attempt, { isOpen, row }: LedgerEntry): Promise<Settlement> {
  const elapsedMs = attempt.context.clock.now().getTime() - Date.parse(row.started_at);
  return settleAction(attempt, elapsedMs, isOpen ? undefined : row.answer);
}

async function recordSettlement(
  attempt: Attempt,
  { isOpen, row }: LedgerEntry,
  { status, reason, reading }: Settlement,
): Promise<ActionResult> {
  const after = reading?.observed ?? null;
  const prefix = isOpen ? 'interrupted; ' : '';
  if (status === 'failed') return conclude(attempt, row, { status, reason, after, answer: 'ambiguous' });
  if (status === 'applied') {
    const detail = reading && 'reason' in reading.precondition ? `: ${reading.precondition.reason}` : '';
    return conclude(attempt, row, { ...confirmedLate(`${prefix}${reason}${detail}`), after });
  }
  const advice = 'check the subject, and make a new plan if the action is still needed';
  const doubt = { status, reason: `${prefix}${reason}: ${advice}`, satisfied: false, after };
  // An action that could not be read stays open.
  if (isOpen && !reading) return { ...finish(attempt, row, doubt), finished_at: null };
  return conclude(attempt, row, doubt);
}

/** Settles an action; one that was certainly not applied is recorded as failed, so that the next apply tries it again. */
export async function settleOnly(attempt: Attempt, previous: LedgerEntry): Promise<ActionResult> {
  return recordSettlement(attempt, previous, await settlePrevious(attempt, previous));
}

async function send(attempt: Attempt, previous: LedgerEntry | undefined): Promise<Conclusion> {
  let response: unknown;
  try {
    response = await attempt.remote.execute(attempt.action);
  } catch (error) {
    rethrowUnexpected(error);
    return explainFailure(attempt, error, previous);
  }
  const { reading, isConfirmed, error } = await awaitConfirmation(attempt, response);
  const after = reading?.observed ?? null;
  if (isConfirmed) return { status: 'applied', reason: null, after };
  const doubt =
    error === undefined
      ? `readings over ${formatLag(attempt)} do not show it`
      : `the subject could not be read again: ${error}`;
  return { status: 'unconfirmed', reason: `the service accepted it, and ${doubt}`, after, answer: 'accepted' };
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
]);

async function explainFailure(
  attempt: Attempt,
  error: unknown,
  previous: LedgerEntry | undefined,
): Promise<Conclusion> {
  const message = formatError(error);
  const refusal =
    error instanceof ServiceError
      ? attempt.definition.refusals?.find((one) => one.message.test(error.serviceMessage))
      : undefined;
  if (!refusal && error instanceof ServiceError && !NOT_EXECUTED.has(error.failure)) {
    // After a 5xx, a reset or a time-out, only readings over the lag tell whether the action took effect.
    const { status, reason, reading } = await settleAction(attempt, 0, 'ambiguous');
    return { status, reason: `${message}; ${reason}`, after: reading?.observed ?? null, answer: 'ambiguous' };
  }
  const reading = await observeAction(attempt).catch(rethrowUnexpected);
  const after = reading?.observed ?? null;
  // Someone else, or an earlier request, may have made the change between the read and the call.
  if (reading?.precondition.state === 'satisfied') {
    const { precondition } = reading;
    return { ...(isAmbiguous(previous) ? confirmedLate(precondition.reason) : skippedBy(precondition)), after };
  }
  return { status: 'failed', reason: refusal ? `${message}; not done: ${refusal.advice}` : message, after };
}
