import type { AbsenceEvidence, ActionDefinition, GuardRead, ReadResult, ReadResults } from './define.ts';
import { resolveParams } from './plan-actions.ts';
import type { Action } from './plan-file.ts';

/** What verifying an absence may use. */
export interface EvidenceSources {
  /** Reads the list of an evidence. */
  readonly readList: (operation: string, params: Action['params'], allPages?: boolean) => Promise<ReadResult>;
  /** The IDs that the warehouse and the plan know in that list. */
  readonly knownIds: (evidence: AbsenceEvidence) => Promise<readonly string[]>;
}

/** Whether a read shows that its subject is gone, and why that is not proven. */
export interface AbsenceCheck {
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
