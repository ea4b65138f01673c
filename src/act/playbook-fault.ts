import { createContext, Script } from 'node:vm';
import { formatSeconds } from '../core/clock.ts';
import { formatError, isMemoryError, TidemarkError } from '../core/errors.ts';
import { isQueryError } from '../warehouse/database.ts';
import { classifyStorageError } from '../warehouse/storage.ts';
import type { PlanContext, Playbook, PlaybookFinding } from './define.ts';

/** A fault in a playbook, which a user may have written. */
export class PlaybookFault extends TidemarkError {
  constructor(what: string, cause?: unknown) {
    super('INCOMPLETE', `the playbook failed: ${what}`, { cause });
  }
}

/** For `catch`: an error of a playbook, as people can act on it. @throws an error of the warehouse that it asked */
export function toFault(error: unknown): TidemarkError {
  if (error instanceof TidemarkError) return error;
  if (isQueryError(error) || isMemoryError(error) || classifyStorageError(error) !== undefined) throw error;
  return new PlaybookFault(formatError(error), error);
}

/** A playbook that computes, or asks for nothing, for so long is taken to have no end: the program would hang, or end without a word. */
const MAX_SILENCE_MS = 60_000;

const CALL = new Script('call()');
const scope = createContext({ call: undefined });

/** Calls a function until it returns or waits. @throws PlaybookFault where it only computes: nothing else could interrupt it */
function callWithin<T>(maxMs: number, call: () => T): T {
  try {
    scope.call = call;
    return CALL.runInContext(scope, { timeout: maxMs }) as T;
  } catch (error) {
    if (Object(error).code !== 'ERR_SCRIPT_EXECUTION_TIMEOUT') throw error;
    throw new PlaybookFault(`it computes for ${formatSeconds(maxMs)} without a pause`, error);
  } finally {
    scope.call = undefined; // it may hold all that was read
  }
}

/** Calls a function of an action. @throws PlaybookFault for what it throws, and for one that answers later: it would not be waited for */
export function ask<T>(call: () => T, maxMs = MAX_SILENCE_MS): T {
  try {
    const value = callWithin(maxMs, call);
    if (!(value instanceof Promise)) return value;
    value.catch(() => {});
  } catch (error) {
    throw toFault(error);
  }
  throw new PlaybookFault('a function of an action is asynchronous');
}

/** Lets a playbook plan. @throws PlaybookFault where it does not end */
export async function askForPlan(
  playbook: Playbook,
  findings: readonly PlaybookFinding[],
  { read, query, ...context }: PlanContext,
  maxSilenceMs = MAX_SILENCE_MS,
  maxMs = MAX_SILENCE_MS,
): ReturnType<Playbook['plan']> {
  let [begun, ended, seen] = [0, 0, 0];
  const count = <T>(call: Promise<T>): Promise<T> => {
    begun++;
    return call.finally(() => ended++);
  };
  let timer: NodeJS.Timeout | undefined;
  const silence = new Promise<never>((_, reject) => {
    timer = setInterval(() => {
      if (begun === ended && ended === seen)
        reject(new PlaybookFault(`it has neither planned nor read anything for ${formatSeconds(maxSilenceMs)}`));
      seen = ended;
    }, maxSilenceMs);
  });
  const counted: PlanContext = {
    ...context,
    read: (...words) => count(read(...words)),
    query: (...words) => count(query(...words)),
  };
  try {
    return await Promise.race([callWithin(maxMs, () => playbook.plan(findings, counted)), silence]);
  } finally {
    clearInterval(timer);
  }
}
