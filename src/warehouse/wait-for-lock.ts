import { setTimeout as sleep } from 'node:timers/promises';
import type { Config } from '../config/config.ts';
import { MINUTE_MS } from '../core/clock.ts';
import type { Context } from '../core/context.ts';
import { formatError, TidemarkError } from '../core/errors.ts';
import { LockError } from './lock.ts';

const RETRY_EVERY_MS = 2_000;

/**
 * Repeats `work` while another process holds the lock that it begins with, at most for `schedule.lockWaitMinutes`, and says for whom it
 * waits: a lock that is held for a short time must not prevent a run.
 * @throws as `work`; TidemarkError LOCKED also where the signal ends the wait
 */
export async function waitForLock<T>(
  { schedule: { lockWaitMinutes } }: Pick<Config, 'schedule'>,
  { log, signal }: Pick<Context, 'log' | 'signal'>,
  work: () => Promise<T>,
): Promise<T> {
  for (let waitedMs = 0; ; waitedMs += RETRY_EVERY_MS) {
    try {
      return await work();
    } catch (error) {
      // A lock that was lost is no lock to wait for: `work` had begun.
      const isHeld = error instanceof TidemarkError && error.code === 'LOCKED' && !(error instanceof LockError);
      if (!isHeld || waitedMs >= lockWaitMinutes * MINUTE_MS || signal.aborted) throw error;
      if (waitedMs === 0) log.warn(`waiting for at most ${lockWaitMinutes} min: ${formatError(error)}`);
      await sleep(RETRY_EVERY_MS, undefined, { signal }).catch(() => {
        throw error;
      });
    }
  }
}
