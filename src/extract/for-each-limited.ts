import pLimit from 'p-limit';

/**
 * Works on a limited number of items at a time. The first failure aborts the items in progress and starts no more. It is thrown once
 * all have ended, so that none writes to a rejected landing. Calls may be nested; each has a limit of its own.
 */
export async function forEachLimited<T>(
  items: readonly T[],
  work: (item: T) => Promise<void>,
  concurrency: number,
  failed: Pick<AbortController, 'signal' | 'abort'>,
): Promise<void> {
  const limit = pLimit(concurrency);
  await limit.map(items, async (item) => {
    if (failed.signal.aborted) return;
    try {
      await work(item);
    } catch (error) {
      failed.abort(error); // only the first call sets the reason
    }
  });
  failed.signal.throwIfAborted();
}
