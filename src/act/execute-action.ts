import { DAY_MS, formatSeconds } from '../core/clock.ts';
import { DEFAULT_TIMEOUTS } from '../core/context.ts';
import { formatError } from '../core/errors.ts';
import { ServiceError } from '../http/errors.ts';
import { mayBeDone } from '../services/classify-error.ts';
import { explainWrapping } from '../services/response.ts';
import { withPublished } from '../warehouse/session.ts';
import type { Precondition } from './define.ts';
import {
  type ActionIntent,
  type ActionOutcome,
  type ActionStatus,
  explainLater,
  type indexSinceUndone,
  isUnsettled,
  type LedgerEntry,
} from './ledger.ts';
import type { Reading, Sample } from './observe-action.ts';
import { type ApplyContext, type Attempt, readRepeatedly, rethrowUnexpected, tryObserve } from './observe-action.ts';
import { findingIds } from './plan-file.ts';
import { explainOther } from './plan-targets.ts';
import { getOperation } from './registry.ts';

/** The result of an action in one apply. `finished_at` is null where the ledger holds no outcome. */
export type ActionResult = Omit<ActionOutcome, 'finished_at'> & { readonly finished_at: string | null };

/** The result of an action whose subject was read. */
interface Execution {
  readonly result: ActionResult;
  /** The same, where the reading contradicts the plan and nothing was sent: the ledger does not have it yet. */
  readonly contradiction?: ActionOutcome;
}

/** How an action ended. `satisfied` is true for one that was applied. */
type Conclusion = Pick<ActionOutcome, 'status' | 'reason'> &
  Partial<Pick<ActionOutcome, 'satisfied' | 'before' | 'after' | 'answer'>>;

/**
 * Reads the subject, and executes the action if the subject is as planned. The intent is on disk before anything is sent, and the
 * outcome before the next action starts.
 */
export async function executeAction(
  attempt: Attempt,
  findSinceUndone: ReturnType<typeof indexSinceUndone>,
): Promise<Execution> {
  const { previous } = attempt;
  const reading = await tryObserve(attempt);
  const { precondition, observed } = reading;
  if (precondition.state === 'unknown') {
    const mayBeGone = isAmbiguous(previous) && getOperation(previous.operation).method === 'DELETE' && reading.isAbsent;
    return { result: await recordUnsent(attempt, mayBeGone ? 'unconfirmed' : 'failed', precondition.reason) };
  }
  const intent = { ...newIntent(attempt), before: observed };
  if (precondition.state !== 'ready') return skipContradicted(attempt, intent, reading, precondition);
  const later = findSinceUndone(attempt.action);
  if (later) return { result: await recordUnsent(attempt, 'skipped', explainLater(later)) };
  // To read the subject may have taken as long as the service asked to wait.
  if (await isAccepted(attempt)) return { result: await recordUnsent(attempt, 'skipped', ACCEPTED) };
  await attempt.ledger.record(intent);
  const sent = await send(attempt);
  return { result: await conclude(attempt, { ...intent, ...keepAnswer(previous) }, sent) };
}

export const ACCEPTED = 'the finding was accepted since the plan was made';

/**
 * Whether all findings of an action are accepted now. A run may replace the warehouse meanwhile: the newest one is asked. An acceptance does
 * not keep an action from being undone.
 */
export async function isAccepted({ plan, config, context, action }: Attempt): Promise<boolean> {
  if (plan.undoes !== undefined) return false;
  return withPublished(config, async ({ database, files }) => {
    const params = { ids: findingIds(action), now: context.clock.now().toISOString() };
    const [row] = await database.rows(files.read('remediation/are_accepted'), params);
    return row?.accepted === true;
  });
}

/** Records that an action was not sent. The next apply tries again what failed. */
export function recordUnsent(attempt: Attempt, status: ActionStatus, reason: string): Promise<ActionResult> {
  return conclude(attempt, keepEarlier(attempt, newIntent(attempt)), { status, reason });
}

/** An earlier request may still take effect: an undo restores what it found, and knows from its time what another plan has done since. */
function keepEarlier({ previous }: Attempt, intent: ActionIntent): LedgerEntry {
  if (!isAmbiguous(previous)) return intent;
  const { before, started_at } = previous;
  return { ...intent, before, started_at, ...keepAnswer(previous) };
}

/** A result that the ledger does not hold: the action is due later, or stays open. */
export function unrecorded(entry: LedgerEntry, status: ActionStatus, reason: string): ActionResult {
  return { ...entry, event: 'outcome', status, reason, satisfied: false, finished_at: null };
}

export function newIntent({ plan, context, action }: Attempt): ActionIntent {
  const now = context.clock.now();
  const acceptedUntil = new Date(now.getTime() + (plan.accept_days ?? 0) * DAY_MS).toISOString();
  return {
    event: 'intent',
    plan_id: plan.plan_id,
    action_id: action.action_id,
    playbook: plan.playbook,
    operation: action.operation,
    target: action.target,
    params: action.params,
    finding_id: action.finding_id,
    ...(action.finding_ids && { finding_ids: action.finding_ids }),
    reason: null,
    approved_by: plan.approvals.map(({ by }) => by).join(', '),
    started_at: now.toISOString(),
    before: null,
    after: null,
    ...(plan.accept_days !== undefined && { accepts: { finding_ids: [...findingIds(action)], until: acceptedUntil } }),
  };
}

async function conclude(ctx: ApplyContext, entry: LedgerEntry, conclusion: Conclusion): Promise<ActionOutcome> {
  const outcome = finish(ctx, entry, conclusion);
  await ctx.ledger.record(outcome);
  return outcome;
}

function finish({ context }: ApplyContext, entry: LedgerEntry, conclusion: Conclusion): ActionOutcome {
  const reason = conclusion.reason === null ? null : context.redactor.text(conclusion.reason);
  const ended = { satisfied: conclusion.status === 'applied', finished_at: context.clock.now().toISOString() };
  return { ...entry, event: 'outcome', ...ended, ...conclusion, reason };
}

/** An earlier request that was interrupted, or whose answer was unclear, may take effect later, and is then ours. */
function isAmbiguous(previous: LedgerEntry | undefined): previous is LedgerEntry {
  return (
    previous !== undefined && (previous.event === 'intent' || isUnsettled(previous) || previous.answer === 'ambiguous')
  );
}

function keepAnswer(previous: LedgerEntry | undefined): Pick<ActionOutcome, 'answer'> {
  return isAmbiguous(previous) ? { answer: 'ambiguous' } : {};
}

type Contradiction = Extract<Precondition, { readonly reason: string }>;

function skippedBy({ state, reason }: Contradiction): Conclusion {
  const satisfied = state === 'satisfied';
  return { status: 'skipped', reason: satisfied ? `no change needed: ${reason}` : reason, satisfied };
}

function confirmedLate(reason: string): Conclusion {
  return { status: 'applied', reason: `confirmed late: ${reason}` };
}

async function skipContradicted(
  attempt: Attempt,
  intent: ActionIntent,
  { isAbsenceProven, observed }: Reading,
  precondition: Contradiction,
): Promise<Execution> {
  const { previous } = attempt;
  if (isAmbiguous(previous) && precondition.state === 'satisfied') {
    const conclusion = { ...confirmedLate(precondition.reason), ...keepAnswer(previous), after: observed };
    return { result: await conclude(attempt, previous, conclusion) };
  }
  const entry = keepEarlier(attempt, intent);
  if (isAbsenceProven) return { result: await conclude(attempt, entry, skippedBy(precondition)) };
  const result = finish(attempt, entry, skippedBy(precondition));
  return { result, contradiction: result };
}

/**
 * Reads the subject of an action that an earlier apply left open or unconfirmed, over the lag, and records what became of it: one that
 * was certainly not applied has failed, so that the next apply tries it again. Nothing is sent.
 */
export async function settleAction(attempt: Attempt, previous: LedgerEntry): Promise<ActionResult> {
  const isOpen = previous.event === 'intent';
  // No answer to an interrupted request was seen, and none will be, however often its subject is read.
  const entry = { answer: 'ambiguous' as const, ...previous };
  const { status, reason, reading } = await readOutcome(attempt, entry.answer);
  const after = reading?.observed ?? null;
  const prefix = isOpen ? 'interrupted; ' : '';
  if (status === 'failed') return conclude(attempt, entry, { status, reason, after });
  if (status === 'applied') {
    return conclude(attempt, entry, { ...confirmedLate(`${prefix}${reason}`), after });
  }
  const advice = 'check the subject; a new plan may repeat it 24 hours after it was started';
  const doubt: Conclusion = { status, reason: `${prefix}${reason}: ${advice}`, after };
  const outcome = finish(attempt, entry, doubt);
  // An action that could not be read stays open.
  if (isOpen && !reading) return { ...outcome, finished_at: null };
  // A job reads what stays in doubt each night, which would add a line for ever.
  if (previous.event === 'outcome' && previous.reason === outcome.reason) return previous;
  await attempt.ledger.record(outcome);
  return outcome;
}

const RESENDS = DEFAULT_TIMEOUTS.attempts - 1;

/** @param left how often it may be sent again, where the service certainly did nothing */
async function send(attempt: Attempt, left = RESENDS): Promise<Conclusion> {
  const lagMs = attempt.remote.lagMs(attempt.action.target);
  let response: unknown;
  try {
    // A long wait for its turn outdates what was read. After another reading, its turn may come no sooner.
    response = await attempt.remote.execute(attempt.action, left === RESENDS ? lagMs : undefined);
  } catch (error) {
    rethrowUnexpected(error);
    return explainFailure(attempt, error, left);
  }
  const { last, isInterrupted } = await readRepeatedly(attempt, ({ isConfirmed }) => isConfirmed, { response });
  const { reading, isConfirmed } = last;
  const after = reading?.observed ?? null;
  if (isConfirmed) return { status: 'applied', reason: null, after };
  const doubt = isInterrupted ? INTERRUPTED : describeReadings(last, lagMs);
  const reason = [`the service accepted it, and ${doubt}`, explainWrapping(response) ?? []].flat().join(': ');
  return { status: 'unconfirmed', reason, after, answer: 'accepted' };
}

const INTERRUPTED = 'the readings were interrupted';

/** Something else may have changed in the same moment: then the reading says what. */
function describeReadings({ reading, error }: Sample, lagMs: number): string {
  if (error !== undefined) return `the subject could not be read again: ${error}`;
  return [`readings over ${formatSeconds(lagMs)} do not show it`, findObjection(reading) ?? []].flat().join(': ');
}

async function explainFailure(attempt: Attempt, error: unknown, left: number): Promise<Conclusion> {
  const { action, definition, previous } = attempt;
  const message = formatError(error);
  const failed = error instanceof ServiceError ? error : undefined;
  const refusal = failed && definition.refusals?.find((one) => one.message.test(failed.serviceMessage));
  if (failed && !refusal && mayBeDone(failed)) {
    // After a 5xx, a reset, a time-out or a refusal of a gateway, only readings over the lag tell whether the action took effect.
    const { status, reason, reading } = await readOutcome(attempt, 'ambiguous');
    return { status, reason: `${message}; ${reason}`, after: reading?.observed ?? null, answer: 'ambiguous' };
  }
  const { retryPolicy, method } = getOperation(action.operation);
  // A gateway may refuse what the service has done. What the service itself finds done was done by someone else, and is not ours to undo.
  const foundDone = ['conflict', 'invalid', ...(method === 'DELETE' ? ['not-found'] : [])];
  const mayBeOurs = failed?.status !== undefined && !foundDone.includes(failed.failure);
  const other = await explainOther(attempt); // before the reading, after which nothing may wait
  if (other !== undefined) {
    return { status: isAmbiguous(previous) ? 'unconfirmed' : 'failed', reason: `${message}; ${other}` };
  }
  const reading = await tryObserve(attempt);
  const { precondition, observed: after } = reading;
  if (mayBeOurs && reading.isConfirmed(undefined))
    return { status: 'applied', reason: `${message}; a reading shows that it was applied`, after, answer: 'ambiguous' };
  if (precondition.state === 'satisfied')
    return { ...(isAmbiguous(previous) ? confirmedLate(precondition.reason) : skippedBy(precondition)), after };
  // Before the call it was there. What is gone without a proof, as the last item of its list, may be gone by this call or an earlier one.
  const wasSent = failed?.status !== undefined || isAmbiguous(previous);
  if (method === 'DELETE' && wasSent && precondition.state === 'unknown' && reading.isAbsent)
    return { status: 'unconfirmed', reason: `${message}; ${precondition.reason}`, after, answer: 'ambiguous' };
  // The pause that the service asked for is over, and the subject may have changed meanwhile: this reading is the check.
  // A redirect (malformed) would be answered again.
  const isPassing = failed?.details.notProcessed === true && failed.failure !== 'malformed';
  const mayRepeat = retryPolicy !== 'never' || failed?.failure === 'too-long-wait';
  if (isPassing && mayRepeat && left > 0 && precondition.state === 'ready') {
    const accepted = await isAccepted(attempt).catch(rethrowUnexpected);
    if (accepted) return { status: 'skipped', reason: ACCEPTED, after };
    if (accepted === false) return { before: after, ...(await send(attempt, left - 1)) };
  }
  return { status: 'failed', reason: refusal ? `${message}; not done: ${refusal.advice}` : message, after };
}

/** From this fraction on, two readings in a row that show the action end the wait. */
const EARLIEST_AGREEMENT = 0.15;

/**
 * Finds out whether a call without a clear answer took effect. Services report a change late (replicas, eventual consistency), so
 * one reading proves nothing: those over the whole lag must agree. Ends early on the user's signal, without a verdict.
 * @param answer how the service answered it
 * @returns what they agree on, with the last reading, if it did not fail. `failed`: it was certainly not applied, and may be sent again.
 */
async function readOutcome(attempt: Attempt, answer: ActionOutcome['answer']) {
  const lagMs = attempt.remote.lagMs(attempt.action.target);
  const isAgreed = (sample: Sample, before: Sample | undefined, fraction: number) =>
    fraction >= EARLIEST_AGREEMENT && sample.isConfirmed && before?.isConfirmed === true;
  const { samples, last, isInterrupted } = await readRepeatedly(attempt, isAgreed);
  const settled = (status: ActionStatus, reason: string) => ({ status, reason, reading: last.reading });
  if (attempt.definition.notVerifiable) return settled('unconfirmed', 'a read cannot show whether it was applied');
  if (isInterrupted) return settled('unconfirmed', INTERRUPTED);
  const other = await explainOther(attempt);
  if (other !== undefined) return { status: 'unconfirmed' as const, reason: other, reading: undefined };
  if (last.isConfirmed && samples.at(-2)?.isConfirmed) return settled('applied', describeApplied(last.reading));
  if (!samples.every(({ reading }) => reading?.precondition.state === 'ready')) {
    return settled('unconfirmed', explainDoubt(last));
  }
  if (answer === 'accepted') return settled('unconfirmed', 'the service accepted it, and readings do not show it');
  const { retryPolicy, method } = getOperation(attempt.action.operation);
  // DELETE is idempotent, so it may be repeated here even where the client never retries it.
  const isRepeatable = retryPolicy !== 'never' || method === 'DELETE';
  if (!isRepeatable) return settled('unconfirmed', 'readings do not show it, but it may still be in progress');
  return settled('failed', `readings over ${formatSeconds(lagMs)} agree that it was not applied`);
}

/** Adds what was read: of a call that a gateway has sent twice, it says that the key was rotated twice. */
function describeApplied(reading: Reading | undefined): string {
  const detail = reading && 'reason' in reading.precondition ? `: ${reading.precondition.reason}` : '';
  return `readings show that it was applied${detail}`;
}

function explainDoubt({ reading, error }: Sample): string {
  if (error !== undefined) return `the subject could not be read: ${error}`;
  return findObjection(reading) ?? 'the readings do not agree';
}

function findObjection(reading: Reading | undefined): string | undefined {
  const precondition = reading?.precondition;
  return precondition?.state === 'drifted' || precondition?.state === 'unknown' ? precondition.reason : undefined;
}
