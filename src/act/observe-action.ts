import type { Config } from '../config/config.ts';
import type { WorkContext } from '../core/context.ts';
import { TidemarkError } from '../core/errors.ts';
import { LockError } from '../warehouse/lock.ts';
import {
  type AbsenceEvidence,
  type ActionDefinition,
  type GuardRead,
  type Observation,
  type ReadResult,
  type ReadResults,
  unknown,
} from './define.ts';
import type { Ledger } from './ledger-file.ts';
import { resolveParams } from './plan-actions.ts';
import type { Action, Plan } from './plan-file.ts';
import { readKnownIds } from './published-reads.ts';
import { getOperation } from './registry.ts';
import type { RemoteServices } from './remote.ts';
import { findDoneElsewhere } from './unsettled.ts';

/** The evaluated result of a guard, with what it rests on. */
export interface Reading extends Observation {
  /** The absence of a subject is part of the result, and is proven. */
  readonly isAbsenceProven: boolean;
}

/**
 * Reads and evaluates the guard of an action. An absence that is not proven makes the precondition `unknown`. With `wasAccepted`,
 * the service has just accepted the deletion of the subject, so "not found" needs no further evidence.
 */
export async function observeAction(observed: Observed, { wasAccepted = false } = {}): Promise<Reading> {
  const { remote, action, definition } = observed;
  const results = await remote.readGuards(action.target, action.guard.reads);
  const isDeletion = getOperation(action.operation).method === 'DELETE';
  const check =
    wasAccepted && isDeletion
      ? { isAbsent: false, unproven: undefined }
      : await verifyAbsence(results, action, definition, evidenceSources(observed));
  if (check.unproven !== undefined) {
    const precondition = unknown(check.unproven);
    return { observed: null, precondition, isConfirmed: () => false, isAbsenceProven: false };
  }
  return { ...definition.observe(results, action.guard.inputs), isAbsenceProven: check.isAbsent };
}

/** An action, and what reading its subject may use. */
interface Observed extends Pick<Attempt, 'plan' | 'remote' | 'config' | 'action' | 'definition'> {
  readonly ledger: Pick<Ledger, 'entry' | 'entries'>;
}

/** Undefined where the subject cannot be read. */
export async function tryObserveAction(attempt: Attempt): Promise<Reading | undefined> {
  try {
    return await observeAction(attempt);
  } catch (error) {
    rethrowUnexpected(error);
    return undefined;
  }
}

/** A lost lock ends the apply, and any other error is a bug of this program. The action then stays open in the ledger. */
export function rethrowUnexpected(error: unknown): void {
  if (!(error instanceof TidemarkError) || error instanceof LockError) throw error;
}

function evidenceSources(observed: Observed): EvidenceSources {
  const { plan, remote, config, action } = observed;
  const { target, operation, guard } = action;
  return {
    readList: (name, params, allPages) => remote.read(target, getOperation(name), params, { allPages }),
    knownIds: async (evidence) => {
      const known = await readKnownIds(config, target, evidence.known, guard.inputs);
      const peers = plan.actions.filter((peer) => peer.operation === operation && peer.target === target);
      const applied = peers.filter((peer) => isApplied(observed, peer)).map(({ guard: { inputs } }) => inputs);
      const gone = new Set(applied.map((inputs) => String(inputs[evidence.subject])));
      return known.filter((id) => !gone.has(id));
    },
  };
}

function isApplied({ plan, ledger }: Observed, action: Action): boolean {
  const entry = ledger.entry({ plan_id: plan.plan_id, action_id: action.action_id });
  if (entry !== undefined && !entry.isOpen && entry.row.satisfied) return true;
  return findDoneElsewhere(action, plan, ledger.entries()) !== undefined;
}

/** What an action is applied with. */
export interface ApplyContext {
  readonly plan: Plan;
  readonly remote: RemoteServices;
  readonly ledger: Ledger;
  readonly config: Config;
  readonly context: WorkContext;
}

/** An action that is applied, with its definition. */
export interface Attempt extends ApplyContext {
  readonly action: Action;
  readonly definition: ActionDefinition;
}

/** What verifying an absence may use. */
export interface EvidenceSources {
  /** Reads the list of an evidence. */
  readonly readList: (operation: string, params: Action['params'], allPages?: boolean) => Promise<ReadResult>;
  /** The IDs that the warehouse and the plan know in that list. */
  readonly knownIds: (evidence: AbsenceEvidence) => Promise<readonly string[]>;
}

/** Whether a read shows that its subject is gone, and why that is not proven. */
interface AbsenceCheck {
  readonly isAbsent: boolean;
  readonly unproven: string | undefined;
}

/**
 * Verifies every absence in the results of a guard. "Not found" may also mean that the token lost a permission or that a replica
 * lags, so it proves nothing without a list that answers, is plausible and lacks the subject.
 */
export async function verifyAbsence(
  results: ReadResults,
  { guard }: Pick<Action, 'guard'>,
  definition: ActionDefinition,
  sources: EvidenceSources,
): Promise<AbsenceCheck> {
  let isAbsent = false;
  let unproven: string | undefined;
  for (const [name, read] of Object.entries(definition.reads)) {
    const result = results[name];
    if (!result) continue;
    const check = await verifyRead(result, read, guard.inputs, sources);
    // Once the subject is proven to be gone, what belongs to it is not found either.
    if (check.isAbsent && check.unproven === undefined && read.absence?.list) return check;
    isAbsent ||= check.isAbsent;
    unproven ??= check.unproven;
  }
  return { isAbsent, unproven };
}

const PRESENT: AbsenceCheck = { isAbsent: false, unproven: undefined };

async function verifyRead(
  result: ReadResult,
  { operation, absence }: GuardRead,
  inputs: Action['guard']['inputs'],
  sources: EvidenceSources,
): Promise<AbsenceCheck> {
  const unproven = (reason: string) => ({ isAbsent: true, unproven: reason });
  const isNotFound = !result.found && result.failure === 'not-found';
  if (isNotFound && !absence?.list) return unproven(`${operation} answers "not found", which proves nothing`);
  const subject = absence && inputs[absence.subject];
  if (!absence || subject === null || subject === undefined) return PRESENT;
  if (absence.list ? !isNotFound : !result.found) return PRESENT;
  const list = absence.list ? await readEvidence(absence.list, inputs, sources) : result;
  const listName = absence.list?.operation ?? operation;
  if (!list.found) return unproven(`${operation} and ${listName} answer "not found", which proves nothing`);
  const ids = new Set(absence.listIds(list.value));
  if (ids.has(String(subject))) {
    return absence.list ? unproven(`${operation} answers "not found", and ${listName} contains it`) : PRESENT;
  }
  const others = (await sources.knownIds(absence)).filter((id) => id !== String(subject));
  return { isAbsent: true, unproven: explainImplausible(listName, ids, others, absence) };
}

function readEvidence(
  { operation, params, allPages }: Pick<GuardRead, 'operation' | 'params' | 'allPages'>,
  inputs: Action['guard']['inputs'],
  { readList }: EvidenceSources,
): Promise<ReadResult> {
  return readList(operation, resolveParams(params, inputs), allPages);
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
