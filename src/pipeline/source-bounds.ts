import { formatSeconds } from '../core/duration.ts';
import type { RequestMetrics } from '../http/request-metrics.ts';
import { BoundExceededError, type Bounds, PageCounter } from '../services/bounds.ts';
import type { ServiceClient } from '../services/client.ts';

/** setTimeout takes no longer time, and would fire at once. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** A client for one source, whose calls fail once the source has taken more than its bounds. */
export function boundClient(
  client: ServiceClient,
  bounds: Bounds,
  source: string,
  metrics: RequestMetrics,
): ServiceClient {
  const counter = new PageCounter(bounds, source);
  const startBytes = metrics.bytes;
  const countBytes = <T>(result: T): T => {
    if (metrics.bytes - startBytes <= bounds.maxBytes) return result;
    throw new BoundExceededError(`${source} has more than ${bounds.maxBytes} bytes`, 'limits.maxBytes');
  };
  return {
    ...client,
    call: async (operation, args, options) => countBytes(await client.call(operation, args, options)),
    async *pages(operation, args, options) {
      for await (const page of client.pages(operation, args, options)) {
        counter.count(page.items.length);
        yield countBytes(page);
      }
    },
    download: async (operation, args, file, options) =>
      countBytes(await client.download(operation, args, file, options)),
  };
}

/** Aborts an extraction that takes too long. */
export function startTimeBound({ maxSeconds }: Bounds, source: string, failed: AbortController): NodeJS.Timeout {
  const what = `${source} takes longer than ${formatSeconds(maxSeconds * 1000)}`;
  return startTimer(maxSeconds, () => failed.abort(new BoundExceededError(what, 'limits.maxSeconds')));
}

/** Aborts all pulls of a run that takes too long. */
export function startRunBound(maxRunTime: number, run: AbortController): NodeJS.Timeout {
  const what = `the run takes longer than ${formatSeconds(maxRunTime * 1000)}`;
  return startTimer(maxRunTime, () => run.abort(new BoundExceededError(what, 'maxRunTime')));
}

function startTimer(seconds: number, onEnd: () => void): NodeJS.Timeout {
  return setTimeout(onEnd, Math.min(MAX_TIMER_MS, seconds * 1000));
}
