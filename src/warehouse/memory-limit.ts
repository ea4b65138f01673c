import type { Database } from './database.ts';
import { quoteLiteral, type SqlFiles } from './sql-files.ts';

/**
 * What loading leaves to DuckDB of `memoryLimit`, so that the limit holds for the process: Node, the reader's buffers and what
 * DuckDB takes outside of its own come to about as much again. Loads take no longer by it; with more, a stage only fills it.
 */
const LOAD_SHARE = 1 / 4;
/** Less than this, and two threads that compress rows of a wide table may not find room. */
const MIN_MB = 250;

const MEGABYTES: Readonly<Record<string, number>> = { k: 1 / 1000, m: 1, g: 1000, t: 1_000_000 };

/** The part of a size such as `1GB` (as `memoryLimit` allows them) that loads get. */
export function loadMemoryLimit(memoryLimit: string): string {
  const [, amount = '', unit = 'g', binary] = /^([\d.]+)\s*([KMGT])(i?)B$/iu.exec(memoryLimit) ?? [];
  const power = ['k', 'm', 'g', 't'].indexOf(unit.toLowerCase()) + 1;
  const whole = Number(amount) * (MEGABYTES[unit.toLowerCase()] ?? 0) * (binary ? 1.024 ** power : 1);
  return `${Math.round(Math.max(whole * LOAD_SHARE, Math.min(whole, MIN_MB)) * 1000)}KB`;
}

/** Lets DuckDB have all of `memoryLimit` from here on. */
export async function raiseMemoryLimit(database: Database, files: SqlFiles, memoryLimit: string): Promise<void> {
  await database.run(await files.render('warehouse/memory_limit', { limit: quoteLiteral(memoryLimit) }));
}
