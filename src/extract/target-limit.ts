// biome-ignore lint/style/noRestrictedImports: it measures this process
import { cpuUsage } from 'node:process';
import pLimit, { type LimitFunction } from 'p-limit';

/** So many keep this process busy where services respond at once. */
const LEAST = 8;
/** More are no faster, as one process reads all responses. */
const MOST = 32;
const STEP = 8;
const INTERVAL_MS = 500;

/** Processors that this process uses: with fewer than the first it waits for services, with more than the second for itself. */
const IDLE_PROCESSORS = 0.5;
const BUSY_PROCESSORS = 0.8;

/** How many targets are extracted at once. Each has pages and buffers in memory. */
export interface TargetLimit {
  readonly limit: LimitFunction;
  /** Ends the measurement. */
  stop(): void;
}

/** A limit that is low while this process is busy, and high while it waits for services. */
export function limitTargets(): TargetLimit {
  const limit = pLimit(LEAST);
  let used = cpuUsage();
  let at = performance.now();
  const timer = setInterval(() => {
    const { user, system } = cpuUsage(used);
    const processors = (user + system) / 1000 / (performance.now() - at);
    limit.concurrency = chooseLimit(limit.concurrency, processors);
    used = cpuUsage();
    at = performance.now();
  }, INTERVAL_MS);
  timer.unref();
  return { limit, stop: () => clearInterval(timer) };
}

/**
 * The next limit.
 * @param processors how many this process has used since the last call
 */
export function chooseLimit(current: number, processors: number): number {
  if (processors < IDLE_PROCESSORS) return Math.min(current + STEP, MOST);
  return processors > BUSY_PROCESSORS ? Math.max(current - STEP, LEAST) : current;
}
