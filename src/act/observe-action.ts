import { setTimeout as sleep } from 'node:timers/promises';
import { formatError, TidemarkError } from '../core/errors.ts';
import type { Redactor } from '../core/redact/redactor.ts';
import { LockError } from '../warehouse/lock.ts';
import { withPublished } from '../warehouse/session.ts';
import { quoteIdent } from '../warehouse/sql-files.ts';
import { resolveParams } from './action-call.ts';
import type { AbsenceEvidence, ActionDefinition, GuardRead, ReadResult, ReadResults } from './define.ts';
import { NO_ID, preconditionSchema, unknown } from './define.ts';
import { type LedgerEntry, toKey } from './ledger.ts';
import type { Ledger } from './ledger-file.ts';
import type { Action, Plan } from './plan-file.ts';
import { explainOther } from './plan-targets.ts';
import { ask } from './playbook-fault.ts';
import { getOperation } from './registry.ts';
import type { Acting, RemoteServices } from './remote.ts';

export interface ApplyContext extends Acting {
  readonly plan: Plan;
  readonly remote: RemoteServices;
  readonly ledger: Ledger;
}

/** An action that is applied, with its definition, and what the ledger has of it. */
export interface Attempt extends ApplyContext {
  readonly action: Action;
  readonly definition: ActionDefinition;
  readonly previous: LedgerEntry | undefined;
}

/** An action, and what reading its subject may use. */
export type Observed = Pick<Attempt, 'plan' | 'remote' | 'config' | 'context' | 'action' | 'definition'> & {
  readonly ledger: Pick<Ledger, 'entries'>;
};

/** The evaluated result of a guard. */
export type Reading = Readonly<Awaited<ReturnType<typeof observeAction>>>;

/**
 * Reads and evaluates the guard of an action. An absence that is not proven makes the precondition `unknown`. With `wasAccepted`,
 * the service has just accepted the deletion of the subject, so "not found" needs no further evidence.
 */
export async function observeAction(attempt: Observed, { wasAccepted = false } = {}) {
  const { remote, context, action, definition } = attempt;
  const { target, operation, guard } = action;
  const results: Record<string, ReadResult> = {};
  for (const [name, { operation, params, ...options }] of Object.entries(guard.reads)) {
    results[name] = await remote.read(target, getOperation(operation), params, options);
  }
  const wasDeleted = wasAccepted && getOperation(operation).method === 'DELETE';
  const { isAbsent, unproven } = wasDeleted ? PRESENT : await verifyAbsence(results, attempt);
  const reason = findUnanswered(results, definition) ?? unproven;
  if (reason !== undefined) return unclear(reason, isAbsent);
  const inputs = definition.schema.parse(guard.inputs);
  const observed = ask(() => definition.observe(results, inputs));
  const unfit = findUnfit(observed, context.redactor);
  if (unfit !== undefined) return unclear(`what was read has ${unfit} that the ledger cannot hold`);
  const { data: precondition } = preconditionSchema.safeParse(ask(() => definition.evaluate(observed, inputs)));
  if (!precondition) return unclear('`evaluate` of the playbook does not say whether the action applies');
  /** Whether the call that returned `response` shows in what was observed. */
  const isConfirmed = (response: unknown) =>
    (ask(() => definition.isConfirmed?.(observed, inputs, response)) ?? precondition.state === 'satisfied') === true;
  return { observed, precondition, isConfirmed, isAbsent, isAbsenceProven: isAbsent };
}

const REPEATS = 3;

/**
 * As `observeAction`; where a read fails, the precondition is unknown. Where the reads had to wait for longer than the lag, the answers before
 * the wait may show the past: all are read again.
 */
export async function tryObserve(attempt: Observed): Promise<Reading> {
  const { remote, action, context } = attempt;
  const lagMs = remote.lagMs(action.target);
  for (let left = REPEATS; ; left--) {
    const { throttleWaitMs } = remote.metrics;
    const reading = await observeAction(attempt).catch((error: unknown) => {
      rethrowUnexpected(error);
      return unclear(context.redactor.text(`the subject could not be read: ${formatError(error)}`));
    });
    const isLate = lagMs > 0 && remote.metrics.throttleWaitMs - throttleWaitMs > lagMs;
    if (!isLate || reading.precondition.state === 'unknown') return reading;
    if (context.signal.aborted || left === 0) return unclear('to read the subject takes longer than the lag');
    const other = await explainOther(attempt);
    if (other !== undefined) return unclear(other);
  }
}

/** @param isAbsent whether a read of the guard found nothing, which proves nothing here */
function unclear(reason: string, isAbsent = false) {
  return { observed: null, precondition: unknown(reason), isConfirmed: () => false, isAbsent, isAbsenceProven: false };
}

/** The read that the service cannot answer, where the playbook does not say that it has another use for that: nothing is known then. */
function findUnanswered(results: ReadResults, { reads }: ActionDefinition): string | undefined {
  for (const [name, { operation, allowFailure, mayBeUnlisted }] of Object.entries(reads)) {
    const result = results[name];
    if (!result || result.found || result.failure === 'not-found' || allowFailure || mayBeUnlisted) continue;
    return `${operation} does not tell: ${result.message}`;
  }
  return undefined;
}

/** What of a value no file may hold: a service may repeat our token. */
export function findUnfit(value: unknown, redactor: Redactor): string | undefined {
  const text = toJson(value);
  if (text === undefined) return 'a value';
  return redactor.row(text) === text ? undefined : 'a secret';
}

/** Undefined for what JSON does not have, such as an integer of any size. */
function toJson(value: unknown): string | undefined {
  try {
    return JSON.stringify(value);
  } catch {
    return undefined;
  }
}

/** A lost lock ends the apply, and any other error is a bug of this program. The action then stays open in the ledger. */
export function rethrowUnexpected(error: unknown): undefined {
  if (!(error instanceof TidemarkError) || error instanceof LockError) throw error;
}

/** One reading, or why it failed. */
export type Sample = Readonly<Awaited<ReturnType<typeof takeSample>>>;

/** When the subject is read, in fractions of the target's lag. The last one confirms the one at the end of the lag. */
const READINGS = [0, 0.01, 0.04, 0.15, 0.4, 1, 1.04];

/**
 * Reads the subject over the lag of its target, until a reading is enough or the user's signal ends the wait.
 * @param accepted the response of the service that has just accepted the call
 */
export async function readRepeatedly(
  attempt: Attempt,
  isEnough: (sample: Sample, before: Sample | undefined, fraction: number) => boolean,
  accepted?: { readonly response: unknown },
): Promise<{ readonly samples: readonly Sample[]; readonly last: Sample; readonly isInterrupted: boolean }> {
  const { signal } = attempt.context;
  const lagMs = attempt.remote.lagMs(attempt.action.target);
  const endMs = performance.now() + lagMs * Math.max(...READINGS);
  let last = await takeSample(attempt, accepted);
  const samples = [last];
  for (const [index, fraction] of READINGS.entries()) {
    if (isEnough(last, samples.at(-2), fraction)) break;
    const next = READINGS[index + 1];
    if (next === undefined) break;
    // A service that hangs could hold the apply for an hour.
    if (last.error !== undefined && performance.now() > endMs) break;
    const isInterrupted = await sleep(lagMs * (next - fraction), false, { signal }).catch(() => true);
    if (isInterrupted) return { samples, last, isInterrupted };
    last = await takeSample(attempt, accepted);
    samples.push(last);
  }
  return { samples, last, isInterrupted: false };
}

async function takeSample(attempt: Attempt, accepted?: { readonly response: unknown }) {
  try {
    const reading = await observeAction(attempt, { wasAccepted: accepted !== undefined });
    return { reading, isConfirmed: reading.isConfirmed(accepted?.response) };
  } catch (error) {
    rethrowUnexpected(error);
    return { reading: undefined, isConfirmed: false, error: formatError(error) };
  }
}

/** Of a read that found its subject. */
const PRESENT = { isAbsent: false, unproven: undefined as string | undefined };

/**
 * Verifies every absence in the results of a guard: whether a read shows that its subject is gone, and why that is not proven. "Not
 * found" may also mean that the token lost a permission or that a replica lags, so it proves nothing without a list that answers, is
 * plausible and lacks the subject.
 */
export async function verifyAbsence(results: ReadResults, attempt: Observed) {
  let { isAbsent, unproven } = PRESENT;
  let isDoubted = false;
  for (const [name, read] of Object.entries(attempt.definition.reads)) {
    const result = results[name];
    if (!result) continue;
    const check = await verifyRead(result, read, attempt);
    // Once the subject is proven to be gone, what belongs to it is not found either. Of a list that answers, that is no excuse.
    if (check.isAbsent && check.unproven === undefined && read.absence?.list && !isDoubted) return check;
    isDoubted ||= result.found && check.unproven !== undefined;
    isAbsent ||= check.isAbsent;
    unproven ??= check.unproven;
  }
  return { isAbsent, unproven };
}

async function verifyRead(result: ReadResult, { operation, absence }: GuardRead, attempt: Observed) {
  const { remote, action } = attempt;
  const { inputs } = action.guard;
  const unproven = (reason: string) => ({ isAbsent: true, unproven: reason });
  const isNotFound = !result.found && result.failure === 'not-found';
  if (isNotFound && !absence?.list) return unproven(`${operation} answers "not found", which proves nothing`);
  const subject = absence && inputs[absence.subject];
  if (!absence || subject === null || subject === undefined) return PRESENT;
  if (absence.list ? !isNotFound : !result.found) return PRESENT;
  const { operation: listName, params, allPages } = absence.list ?? { operation, params: {} };
  const list = absence.list
    ? await remote.read(action.target, getOperation(listName), resolveParams(params, inputs), { allPages })
    : result;
  if (!list.found) return unproven(`${operation} and ${listName} answer "not found", which proves nothing`);
  const ids = ask(() => new Set(absence.listIds(list.value, inputs)));
  if (ids.has(String(subject))) {
    return absence.list ? unproven(`${operation} answers "not found", and ${listName} contains it`) : PRESENT;
  }
  if (ids.has(NO_ID)) return unproven(`${listName} lacks it, and has an item without an ID`);
  const others = (await readKnownIds(absence, attempt)).filter((id) => id !== String(subject));
  return { isAbsent: true, unproven: explainImplausible(listName, ids, others, absence) };
}

/** The IDs that the published warehouse knows in the list of an evidence, without those that the plan has removed. */
async function readKnownIds(
  { subject, known: { table, column, within } }: AbsenceEvidence,
  { plan, config, action: { target, operation, guard }, ledger }: Observed,
): Promise<readonly string[]> {
  // A plan of an earlier version may lack the input.
  const parent = within && guard.inputs[within[1]];
  const rows = await withPublished(config, async ({ database, files }) => {
    const sql = files.render('remediation/known_ids', {
      table: quoteIdent(table),
      column: quoteIdent(column),
      within: quoteIdent(within && parent !== undefined ? within[0] : 'target'),
    });
    return database.rows(sql, { target, parent: String(parent ?? target) });
  });
  const isRemoved = ({ action_id, ...peer }: Action): boolean => {
    const entry = ledger.entries.get(toKey({ plan_id: plan.plan_id, action_id }));
    const isPeer = peer.operation === operation && peer.target === target;
    return isPeer && entry?.event === 'outcome' && entry.satisfied;
  };
  const gone = new Set(plan.actions.filter(isRemoved).map((peer) => String(peer.guard.inputs[subject])));
  return rows.map(({ id }) => String(id)).filter((id) => !gone.has(id));
}

/** A list is plausible where it contains at least half of the other items that are known. */
function explainImplausible(
  listName: string,
  ids: ReadonlySet<string>,
  others: readonly string[],
  { provenWhenNoneKnown }: AbsenceEvidence,
): string | undefined {
  if (others.length === 0) {
    return provenWhenNoneKnown ? undefined : `${listName} lacks it, and no other item is known that the list contains`;
  }
  const found = others.filter((id) => ids.has(id)).length;
  if (found * 2 >= others.length) return undefined;
  return `${listName} lacks it, but contains only ${found} of ${others.length} other items that are known`;
}
