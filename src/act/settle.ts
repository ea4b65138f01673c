import { formatSeconds } from '../core/clock.ts';
import { formatError } from '../core/errors.ts';
import { sleep } from '../http/retry.ts';
import type { ActionOutcome } from './ledger.ts';
import { type Attempt, observeAction, type Reading, rethrowUnexpected } from './observe-action.ts';
import { getOperation } from './registry.ts';

/** When the subject is read, in fractions of the target's lag. The last one confirms the one at the end of the lag. */
const READINGS = [0, 0.01, 0.04, 0.15, 0.4, 1, 1.04];
/** From this fraction on, two readings in a row that show the action end the wait. */
const EARLIEST_AGREEMENT = 0.15;
/** For a call that was sent longer ago than the lag. */
const LATE_READINGS = [0, 0.05];

/** What readings over the lag agree on. `failed`: it was certainly not applied, and may be sent again. */
export interface Settlement {
  readonly status: 'applied' | 'unconfirmed' | 'failed';
  readonly reason: string;
  /** The last one; undefined where it failed. */
  readonly reading: Reading | undefined;
}

/**
 * Finds out whether a call without a clear answer took effect. Services report a change late (replicas, eventual consistency), so
 * one reading proves nothing: those over the whole lag must agree. Ends early on the user's signal, without a verdict.
 * @param elapsedMs how long ago the call was sent
 * @param answer how the service answered it
 */
export async function settleAction(
  attempt: Attempt,
  elapsedMs: number,
  answer: ActionOutcome['answer'],
): Promise<Settlement> {
  const { samples, isInterrupted } = await takeSamples(attempt, elapsedMs);
  const last = samples.at(-1);
  const settled = (status: Settlement['status'], reason: string) => ({ status, reason, reading: last?.reading });
  if (attempt.definition.notVerifiable) return settled('unconfirmed', 'a read cannot show whether it was applied');
  if (isInterrupted) return settled('unconfirmed', 'the readings were interrupted');
  if (samples.length > 1 && isAppliedTwice(samples)) return settled('applied', 'readings show that it was applied');
  if (!samples.every(({ reading }) => reading?.precondition.state === 'ready')) {
    return settled('unconfirmed', explain(last as Sample));
  }
  if (answer === 'accepted') return settled('unconfirmed', 'the service accepted it, and readings do not show it');
  const { retryPolicy, method } = getOperation(attempt.action.operation);
  // DELETE is idempotent, so it may be repeated here even where the client never retries it.
  const isRepeatable = retryPolicy !== 'never' || method === 'DELETE';
  if (!isRepeatable) return settled('unconfirmed', 'readings do not show it, but it may still be in progress');
  return settled('failed', `readings over ${formatLag(attempt)} agree that it was not applied`);
}

/** Readings over what is left of the lag, or fewer where two in a row show the action. */
async function takeSamples(
  attempt: Attempt,
  elapsedMs: number,
): Promise<{ readonly samples: readonly Sample[]; readonly isInterrupted: boolean }> {
  const lagMs = attempt.remote.lagMs(attempt.action.target);
  const remainingMs = Math.min(lagMs, Math.max(0, lagMs - elapsedMs));
  const isLate = remainingMs === 0;
  const scaleMs = isLate ? lagMs : remainingMs;
  const samples: Sample[] = [];
  let waitedMs = 0;
  for (const fraction of isLate ? LATE_READINGS : READINGS) {
    if (!(await wait(attempt, scaleMs * fraction - waitedMs))) return { samples, isInterrupted: true };
    waitedMs = scaleMs * fraction;
    samples.push(await takeSample(attempt));
    if ((isLate || fraction >= EARLIEST_AGREEMENT) && samples.length > 1 && isAppliedTwice(samples)) break;
  }
  return { samples, isInterrupted: false };
}

/** The reading that shows an accepted call, or else the last one within the lag. */
export async function awaitConfirmation(attempt: Attempt, response: unknown): Promise<Sample> {
  const lagMs = attempt.remote.lagMs(attempt.action.target);
  let waitedMs = 0;
  let sample: Sample | undefined;
  for (const fraction of READINGS) {
    if (!(await wait(attempt, lagMs * fraction - waitedMs)) && sample) break;
    waitedMs = lagMs * fraction;
    sample = await takeSample(attempt, response, true);
    if (sample.isConfirmed) break;
  }
  return sample as Sample;
}

/** One reading, or why it failed. */
interface Sample {
  readonly reading: Reading | undefined;
  readonly isConfirmed: boolean;
  readonly error?: string;
}

async function takeSample(attempt: Attempt, response?: unknown, wasAccepted = false): Promise<Sample> {
  try {
    const reading = await observeAction(attempt, { wasAccepted });
    return { reading, isConfirmed: reading.isConfirmed(response) };
  } catch (error) {
    rethrowUnexpected(error);
    return { reading: undefined, isConfirmed: false, error: formatError(error) };
  }
}

function isAppliedTwice(samples: readonly Sample[]): boolean {
  return samples.slice(-2).every(({ isConfirmed }) => isConfirmed);
}

function explain({ reading, error }: Sample): string {
  if (error !== undefined) return `the subject could not be read: ${error}`;
  const precondition = reading?.precondition;
  const isReason = precondition?.state === 'drifted' || precondition?.state === 'unknown';
  return isReason ? precondition.reason : 'the readings do not agree';
}

/** False where the user's signal ended the wait. */
async function wait({ context }: Attempt, ms: number): Promise<boolean> {
  if (ms <= 0) return true;
  return sleep(ms, context.signal).then(
    () => true,
    () => false,
  );
}

export function formatLag({ remote, action }: Attempt): string {
  return formatSeconds(remote.lagMs(action.target));
}
