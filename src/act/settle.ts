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

/** What readings over the lag agree on. `unknown`: they disagree, or some failed; `reason` says how. */
export type Verdict =
  | { readonly state: 'applied' | 'not-applied'; readonly reading: Reading }
  | { readonly state: 'unknown'; readonly reason: string; readonly reading: Reading | undefined };

export interface SettleOptions {
  /** The response of the call; undefined where there is none. */
  readonly response?: unknown;
  /** How long ago the call was sent. */
  readonly elapsedMs: number;
}

/**
 * Finds out whether a call without a clear answer took effect. Services report a change late (replicas, eventual consistency), so
 * one reading proves nothing: those over the whole lag must agree. Ends early on the user's signal, without a verdict.
 */
export async function settleAction(attempt: Attempt, { response, elapsedMs }: SettleOptions): Promise<Verdict> {
  const lagMs = attempt.remote.lagMs(attempt.action.target);
  const remainingMs = Math.min(lagMs, Math.max(0, lagMs - elapsedMs));
  const fractions = remainingMs > 0 ? READINGS : LATE_READINGS;
  const scaleMs = remainingMs > 0 ? remainingMs : lagMs;
  const readings: Sample[] = [];
  let waitedMs = 0;
  for (const fraction of fractions) {
    if (!(await wait(attempt, scaleMs * fraction - waitedMs))) return interrupted(readings);
    waitedMs = scaleMs * fraction;
    readings.push(await takeSample(attempt, response));
    const hasAgreed = fraction >= EARLIEST_AGREEMENT || remainingMs === 0;
    if (hasAgreed && readings.length > 1 && isAppliedTwice(readings)) break;
  }
  return judge(readings);
}

/** The reading that shows an accepted call, or else the last one within the lag. Undefined where none succeeded. */
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
export interface Sample {
  readonly reading: Reading | undefined;
  readonly isConfirmed: boolean;
  readonly error: string | undefined;
}

async function takeSample(attempt: Attempt, response: unknown, wasAccepted = false): Promise<Sample> {
  try {
    const reading = await observeAction(attempt, { wasAccepted });
    return { reading, isConfirmed: reading.isConfirmed(response), error: undefined };
  } catch (error) {
    rethrowUnexpected(error);
    return { reading: undefined, isConfirmed: false, error: formatError(error) };
  }
}

function isAppliedTwice(samples: readonly Sample[]): boolean {
  return samples.slice(-2).every(({ isConfirmed }) => isConfirmed);
}

function judge(samples: readonly Sample[]): Verdict {
  const last = samples.at(-1)?.reading;
  if (last && samples.length > 1 && isAppliedTwice(samples)) return { state: 'applied', reading: last };
  if (last && samples.every(({ reading }) => reading?.precondition.state === 'ready')) {
    return { state: 'not-applied', reading: last };
  }
  return { state: 'unknown', reason: explain(samples), reading: last };
}

function explain(samples: readonly Sample[]): string {
  const { reading, error } = samples.at(-1) as Sample;
  if (error !== undefined) return `the subject could not be read: ${error}`;
  const precondition = reading?.precondition;
  if (precondition && (precondition.state === 'drifted' || precondition.state === 'unknown'))
    return precondition.reason;
  return 'the readings do not agree';
}

function interrupted(samples: readonly Sample[]): Verdict {
  return { state: 'unknown', reason: 'the readings were interrupted', reading: samples.at(-1)?.reading };
}

/** False where the user's signal ended the wait. */
async function wait({ context }: Attempt, ms: number): Promise<boolean> {
  if (ms <= 0) return true;
  try {
    await sleep(ms, context.signal);
    return true;
  } catch {
    return false;
  }
}

/** Why an action without a clear answer stays unconfirmed; undefined where it was certainly not applied and may be sent again. */
export function explainDoubt(
  verdict: Verdict,
  { action: { operation }, definition: { notVerifiable } }: Attempt,
  answer: ActionOutcome['answer'],
): string | undefined {
  if (notVerifiable) return 'a read cannot show whether it was applied';
  if (verdict.state === 'unknown') return verdict.reason;
  if (answer === 'accepted') return 'the service accepted it, and readings do not show it';
  return isRepeatable(operation) ? undefined : 'readings do not show it, but it may still be in progress';
}

/** DELETE is idempotent, so it may be repeated here even where the client never retries it. */
function isRepeatable(name: string): boolean {
  const { retryPolicy, method } = getOperation(name);
  return retryPolicy !== 'never' || method === 'DELETE';
}
