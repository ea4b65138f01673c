import type { Database } from './database.ts';
import { quoteLiteral, type SqlFiles } from './sql-files.ts';

/**
 * The part of `memoryLimit` that DuckDB gets for loads, so that the whole process stays within the limit: Node, the CSV reader's
 * buffers and DuckDB's allocations outside its buffer pool need the rest. A lower limit does not slow loads.
 */
const LOAD_SHARE = 1 / 4;
/** With less, two threads that compress rows of a wide table may run out of memory. */
const MIN_MB = 250;

const MEGABYTES: Readonly<Record<string, number>> = { k: 1 / 1000, m: 1, g: 1000, t: 1_000_000 };

/** The limit for loads, from a size such as `1GB`. */
export function loadMemoryLimit(memoryLimit: string): string {
  const [, amount = '', unit = 'g', binary] = /^([\d.]+)\s*([KMGT])(i?)B$/iu.exec(memoryLimit) ?? [];
  const power = ['k', 'm', 'g', 't'].indexOf(unit.toLowerCase()) + 1;
  const whole = Number(amount) * (MEGABYTES[unit.toLowerCase()] ?? 0) * (binary ? 1.024 ** power : 1);
  return `${Math.round(Math.max(whole * LOAD_SHARE, Math.min(whole, MIN_MB)) * 1000)}KB`;
}

/** Gives DuckDB all of `memoryLimit` from now on. */
export async function raiseMemoryLimit(database: Database, files: SqlFiles, memoryLimit: string): Promise<void> {
  await database.run(await files.render('warehouse/memory_limit', { limit: quoteLiteral(memoryLimit) }));
}
