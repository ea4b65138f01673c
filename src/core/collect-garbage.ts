import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** A smaller heap is not worth the time. */
const MIN_HEAP_BYTES = 64 * 1024 * 1024;

let collect: (() => void) | undefined;

/**
 * Frees what is garbage, before DuckDB needs memory. V8 does not know of it, and leaves large texts in its heap until that has grown by
 * about 100 MB.
 */
export function collectGarbage(): void {
  if (getHeapStatistics().total_heap_size < MIN_HEAP_BYTES) return;
  collect ??= exposeCollector();
  collect();
}

function exposeCollector(): () => void {
  setFlagsFromString('--expose-gc');
  return runInNewContext('gc') as () => void;
}
