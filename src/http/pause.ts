import { setTimeout as sleep } from 'node:timers/promises';

/** The one place that waits. Rejects with the signal's reason when it is aborted. */
export async function pause(waitMs: number, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  try {
    await sleep(waitMs, undefined, { signal });
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  }
}
