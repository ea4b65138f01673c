import type { Meter } from './meter.ts';
import { failed, type Outcome, type Problem } from './outcome.ts';
import { pause } from './pause.ts';
import { seconds, type Timing } from './timing.ts';

/**
 * When a request may be sent again by itself: `read` whenever that may help; `unsent` only where nothing can have
 * happened (turned away with 429, connection refused); `never`, since a second time does a second thing.
 */
export type Repeat = 'read' | 'unsent' | 'never';

export interface RetryOptions {
  readonly repeat: Repeat;
  readonly timing: Timing;
  /** Attempts where the service fails, breaks off or stays silent, if fewer make sense. @default those of `timing` */
  readonly heavyAttempts?: number | undefined;
  /** A longer demanded pause fails at once. */
  readonly maxWaitMs: number;
  readonly meter: Meter;
  readonly signal: AbortSignal;
  /** Called when the service asks for a pause: all requests of the credential keep it. */
  readonly hold: (waitMs: number) => void;
  /** Called before each wait. */
  readonly say: (problem: Problem, waitMs: number) => void;
}

/** An answer of the wrong form (a login page, broken JSON) is asked for this often in all. */
const FEW_ATTEMPTS = 3;

/** Makes attempts until one goes well, may not be repeated, or the attempts are used up. */
export async function withRetry<T>(attempt: () => Promise<Outcome<T>>, options: RetryOptions): Promise<Outcome<T>> {
  const { meter, timing, maxWaitMs, signal } = options;
  for (let made = 1; ; made++) {
    const outcome = await attempt();
    if (outcome.ok) return outcome;
    const { problem } = outcome;
    const waitMs = Math.max(problem.demandedMs ?? 0, backoffMs(made, timing));
    if (problem.status === 429) meter.throttled++;
    if (asksForPause(problem)) options.hold(waitMs);
    if ((problem.demandedMs ?? 0) > maxWaitMs) return failed(tooLong(problem, problem.demandedMs ?? 0));
    if (!mayRepeat(problem, options.repeat, made, attemptsAt(problem, options))) return outcome;
    options.say(problem, waitMs);
    const startedMs = performance.now();
    try {
      await pause(waitMs, signal);
    } catch {
      return failed({ failure: 'aborted', words: 'stopped', hint: 'run it again', again: 'no', unsent: false });
    }
    meter.waitedMs += performance.now() - startedMs;
    meter.retries++;
  }
}

function asksForPause({ status, demandedMs }: Problem): boolean {
  return status === 429 || (status === 503 && demandedMs !== undefined);
}

function attemptsAt({ failure }: Problem, { timing, heavyAttempts = timing.attempts }: RetryOptions): number {
  const heavy = failure === 'server' || failure === 'timeout' || failure === 'truncated';
  return heavy ? Math.min(heavyAttempts, timing.attempts) : timing.attempts;
}

function mayRepeat(problem: Problem, repeat: Repeat, made: number, attempts: number): boolean {
  if (repeat === 'never' || made >= attempts) return false;
  if (repeat === 'unsent') return problem.unsent;
  return problem.again === 'yes' || (problem.again === 'few' && made < FEW_ATTEMPTS);
}

function tooLong({ status, words }: Problem, askedMs: number): Problem {
  const asked = `asked to wait ${seconds(askedMs)}`;
  return {
    failure: 'too-long-wait',
    status,
    words: words === '' ? asked : `${asked}: ${words}`,
    again: 'no',
    unsent: true,
  };
}

/** Exponential with jitter; at least half, so that `Retry-After: 0` does not spin. */
function backoffMs(made: number, { backoffMs: first, maxBackoffMs }: Timing): number {
  const full = Math.min(maxBackoffMs, first * 2 ** (made - 1));
  return full / 2 + (Math.random() * full) / 2;
}
