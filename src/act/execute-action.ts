import { DAY_MS, formatSeconds } from '../core/clock.ts';
import { formatError } from '../core/errors.ts';
import { type FailureKind, ServiceError } from '../http/errors.ts';
import type { ActionDefinition, Observation, Refusal } from './define.ts';
import { type ActionIntent, type ActionOutcome, isUnsettled, type LedgerEntry } from './ledger.ts';
import {
  type ApplyContext,
  type Attempt,
  observeAction,
  type Reading,
  rethrowUnexpected,
  tryObserveAction,
} from './observe-action.ts';
import { type Action, findingIds } from './plan-file.ts';
import { awaitConfirmation, explainDoubt, settleAction } from './settle.ts';
import { findDoneElsewhere } from './unsettled.ts';

/** The result of an action in one apply. `finished_at` is null where the ledger holds no outcome. */
export type ActionResult = Omit<ActionOutcome, 'finished_at'> & { readonly finished_at: string | null };

/** The result of an action whose subject was read. */
export interface Execution {
  readonly result: ActionResult;
  /** The reading contradicts the plan, and nothing was sent. The outcome is not in the ledger yet: `record` writes it. */
  readonly contradiction?: { readonly record: () => Promise<void> };
}

/**
 * Reads the subject, and executes the action if the subject is as planned. An action that an earlier apply left open or unconfirmed
 * is settled first. The intent is on disk before anything is sent, and the outcome before the next action starts.
 */
export async function executeAction(attempt: Attempt, previous: LedgerEntry | undefined): Promise<Execution> {
  const { plan, ledger, action } = attempt;
  const row = newIntent(attempt);
  if (previous && isUnsettled(previous)) {
    const settled = await settlePrevious(attempt, previous);
    if (settled.status !== 'not-applied') return { result: settled };
  }
  let reading: Reading;
  try {
    reading = await observeAction(attempt);
  } catch (error) {
    rethrowUnexpected(error);
    return { result: await failAction(attempt, `the subject could not be read: ${formatError(error)}`, previous) };
  }
  const { precondition, observed } = reading;
  if (precondition.state === 'unknown') {
    return { result: await failAction(attempt, precondition.reason, previous) };
  }
  if (precondition.state !== 'ready') {
    const unlike = precondition.state === 'satisfied' ? undefined : observed;
    const other = findDoneElsewhere(action, plan, ledger.entries(), unlike);
    return skipContradicted(attempt, { ...row, before: observed }, reading, precondition, previous, other);
  }
  const intent = { ...row, before: observed };
  await ledger.recordIntent(intent);
  const sent = await send(attempt);
  return { result: await conclude(attempt, { ...intent, ...keepAnswer(previous), ...sent }) };
}

/** Records that an action is skipped, and why. */
export function skipAction(attempt: Attempt, reason: string): Promise<ActionResult> {
  return conclude(attempt, { ...newIntent(attempt), status: 'skipped', reason, satisfied: false });
}

/** Records that an action was not sent. The next apply tries it again. */
export function failAction(attempt: Attempt, reason: string, previous: LedgerEntry | undefined): Promise<ActionResult> {
  const row = { ...newIntent(attempt), ...keepAnswer(previous) };
  return conclude(attempt, { ...row, status: 'failed', reason, satisfied: false });
}

export function newIntent({ plan, context, action }: Attempt): ActionIntent {
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
    started_at: context.clock.now().toISOString(),
    before: null,
    after: null,
    ...(plan.accept_days !== undefined && { accepts: acceptUndone(action, plan.accept_days, context.clock.now()) }),
  };
}

function acceptUndone(action: Action, days: number, now: Date): ActionIntent['accepts'] {
  return { finding_ids: [...findingIds(action)], until: new Date(now.getTime() + days * DAY_MS).toISOString() };
}

type Conclusion = Pick<ActionOutcome, 'status' | 'reason' | 'satisfied' | 'answer'>;
type ConclusionAfter = Conclusion & Pick<ActionOutcome, 'after'>;

async function conclude(ctx: ApplyContext, row: Omit<ActionOutcome, 'finished_at'>): Promise<ActionOutcome> {
  const outcome = finish(ctx, row);
  await ctx.ledger.recordOutcome(outcome);
  return outcome;
}

function finish({ context }: ApplyContext, row: Omit<ActionOutcome, 'finished_at'>): ActionOutcome {
  const reason = row.reason === null ? null : context.redactor.text(row.reason);
  return { ...row, reason, finished_at: context.clock.now().toISOString() };
}

/** An earlier request whose answer was unclear may take effect later, and is then ours. */
function isAmbiguous(previous: LedgerEntry | undefined): previous is Extract<LedgerEntry, { readonly isOpen: false }> {
  return previous !== undefined && !previous.isOpen && previous.row.answer === 'ambiguous';
}

function keepAnswer(previous: LedgerEntry | undefined): Pick<ActionOutcome, 'answer'> {
  return isAmbiguous(previous) ? { answer: 'ambiguous' } : {};
}

type Contradiction = Exclude<Observation['precondition'], { state: 'ready' }>;

/** How the reason begins where an action is skipped because the subject is already as the action would leave it. */
const NO_CHANGE_NEEDED = 'no change needed';

function skippedBy({ state, reason }: Contradiction): Conclusion {
  return state === 'satisfied'
    ? { status: 'skipped', reason: `${NO_CHANGE_NEEDED}: ${reason}`, satisfied: true }
    : { status: 'skipped', reason, satisfied: false };
}

async function skipContradicted(
  ctx: ApplyContext,
  row: ActionIntent,
  { isAbsenceProven, observed }: Reading,
  precondition: Contradiction,
  previous: LedgerEntry | undefined,
  other: ActionOutcome | undefined,
): Promise<Execution> {
  if (other) {
    const reason = `${NO_CHANGE_NEEDED}: ${other.action_id} of plan ${other.plan_id} did it at ${other.finished_at}`;
    return { result: await conclude(ctx, { ...row, status: 'skipped', reason, satisfied: true }) };
  }
  if (isAmbiguous(previous) && precondition.state === 'satisfied') {
    const reason = `${CONFIRMED_LATE}: ${precondition.reason}`;
    return {
      result: await conclude(ctx, { ...previous.row, status: 'applied', reason, satisfied: true, after: observed }),
    };
  }
  const outcome = finish(ctx, { ...row, ...skippedBy(precondition) });
  if (isAbsenceProven) {
    await ctx.ledger.recordOutcome(outcome);
    return { result: outcome };
  }
  return { result: outcome, contradiction: { record: () => ctx.ledger.recordOutcome(outcome) } };
}

const CONFIRMED_LATE = 'confirmed late';

/**
 * Settles an action that an earlier apply left open or unconfirmed, by readings over the lag. `not-applied`: it may be sent now.
 * Nothing is sent here.
 */
async function settlePrevious(
  attempt: Attempt,
  { isOpen, row }: LedgerEntry,
): Promise<ActionResult | { readonly status: 'not-applied'; readonly after: ActionOutcome['after'] }> {
  const { context, definition } = attempt;
  const elapsedMs = context.clock.now().getTime() - Date.parse(row.started_at);
  const verdict = await settleAction(attempt, { elapsedMs });
  const after = verdict.reading?.observed ?? null;
  const answer = 'answer' in row ? row.answer : undefined;
  const prefix = isOpen ? 'interrupted; ' : '';
  if (verdict.state === 'applied' && !definition.notVerifiable) {
    const reason = `${CONFIRMED_LATE}: ${prefix}readings show that it was applied${describe(verdict.reading)}`;
    return conclude(attempt, { ...row, status: 'applied', reason, satisfied: true, after, ...(answer && { answer }) });
  }
  const doubt = explainDoubt(verdict, attempt, answer);
  if (doubt === undefined) return { status: 'not-applied', after };
  const reason = `${prefix}${doubt}: check the subject, and make a new plan if the action is still needed`;
  const settled = {
    ...row,
    status: 'unconfirmed' as const,
    reason,
    satisfied: false,
    after,
    ...(answer && { answer }),
  };
  // An action that could not be read stays open.
  if (isOpen && !verdict.reading) return { ...settled, reason: context.redactor.text(reason), finished_at: null };
  return conclude(attempt, settled);
}

/** As `settlePrevious`; an action that was certainly not applied is recorded as failed, so that the next apply tries it again. */
export async function settleOnly(attempt: Attempt, previous: LedgerEntry): Promise<ActionResult> {
  const settled = await settlePrevious(attempt, previous);
  if (settled.status !== 'not-applied') return settled;
  const reason = `readings over ${formatLag(attempt)} agree that it was not applied`;
  const { after } = settled;
  return conclude(attempt, { ...previous.row, status: 'failed', reason, satisfied: false, after, answer: 'ambiguous' });
}

function formatLag({ remote, action }: Attempt): string {
  return formatSeconds(remote.lagMs(action.target));
}

function describe({ precondition }: Reading): string {
  return precondition.state === 'ready' ? '' : `: ${precondition.reason}`;
}

async function send(attempt: Attempt): Promise<ConclusionAfter> {
  let response: unknown;
  try {
    response = await attempt.remote.execute(attempt.action);
  } catch (error) {
    rethrowUnexpected(error);
    const refusal = findRefusal(attempt.definition, error);
    return refusal || isRefused(error) ? handleRefusal(attempt, error, refusal) : handleAmbiguity(attempt, error);
  }
  const { reading, isConfirmed, error } = await awaitConfirmation(attempt, response);
  const after = reading?.observed ?? null;
  if (isConfirmed) return { status: 'applied', reason: null, satisfied: true, after };
  const reason =
    error === undefined
      ? `the service accepted it, and readings over ${formatLag(attempt)} do not show it`
      : `the service accepted it, and the subject could not be read again: ${error}`;
  return { status: 'unconfirmed', reason, satisfied: false, after, answer: 'accepted' };
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

function isRefused(error: unknown): boolean {
  return !(error instanceof ServiceError) || NOT_EXECUTED.has(error.failure);
}

function findRefusal({ refusals }: ActionDefinition, error: unknown): Refusal | undefined {
  return error instanceof ServiceError ? refusals.find(({ message }) => message.test(error.serviceMessage)) : undefined;
}

async function handleRefusal(attempt: Attempt, error: unknown, refusal: Refusal | undefined): Promise<ConclusionAfter> {
  const reading = await tryObserveAction(attempt);
  const after = reading?.observed ?? null;
  // Someone else may have made the change between the read and the call.
  if (reading?.precondition.state === 'satisfied') return { ...skippedBy(reading.precondition), after };
  const reason = refusal ? `${formatError(error)}; not done: ${refusal.advice}` : formatError(error);
  return { status: 'failed', reason, satisfied: false, after };
}

/** After a 5xx, a reset or a time-out, only readings over the lag tell whether the action took effect. */
async function handleAmbiguity(attempt: Attempt, error: unknown): Promise<ConclusionAfter> {
  const message = formatError(error);
  const verdict = await settleAction(attempt, { elapsedMs: 0 });
  const after = verdict.reading?.observed ?? null;
  if (verdict.state === 'applied' && !attempt.definition.notVerifiable) {
    const reason = `${message}; readings show that it was applied`;
    return { status: 'applied', reason, satisfied: true, after, answer: 'ambiguous' };
  }
  const doubt = explainDoubt(verdict, attempt, 'ambiguous');
  if (doubt === undefined) {
    const reason = `${message}; readings over ${formatLag(attempt)} agree that it was not applied`;
    return { status: 'failed', reason, satisfied: false, after, answer: 'ambiguous' };
  }
  return { status: 'unconfirmed', reason: `${message}; ${doubt}`, satisfied: false, after, answer: 'ambiguous' };
}
