import type { Database } from '../warehouse/database.ts';
import type { SqlFiles } from '../warehouse/sql-files.ts';

/**
 * The moment that a run's changes are valid from: the present, but always later than anything in the warehouse. A clock that
 * went back, or a second run within the same instant, can then neither reorder nor overlap history.
 */
export async function nextAsOf(database: Database, files: SqlFiles, now: Date): Promise<Date> {
  const [row] = await database.rows(await files.read('warehouse/clock'));
  const latest = typeof row?.latest === 'string' ? Date.parse(row.latest) : Number.NEGATIVE_INFINITY;
  return now.getTime() > latest ? now : new Date(latest + 1);
}

/** `20261120T021500Z`: sorts by time, and is a folder's name everywhere. */
export function formatRunId(moment: Date): string {
  return `${moment.toISOString().replaceAll(/[-:]/gu, '').slice(0, 15)}Z`;
}
