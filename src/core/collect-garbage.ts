import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** Less is not worth the time: a collection takes 0.1 s of the processors. It counts buffers, which are outside the heap. */
const MIN_BYTES = 48 * 1024 * 1024;

let collect: (() => void) | undefined;

/**
 * Frees what is garbage, before DuckDB needs memory. V8 does not know of it, and leaves large texts in its heap until that has grown by
 * about 100 MB.
 */
export function collectGarbage(): void {
  const { used_heap_size, external_memory } = getHeapStatistics();
  if (used_heap_size + external_memory < MIN_BYTES) return;
  collect ??= exposeCollector();
  collect();
}

function exposeCollector(): () => void {
  setFlagsFromString('--expose-gc');
  return runInNewContext('gc') as () => void;
}
