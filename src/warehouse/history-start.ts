import type { Statements } from './database.ts';
import type { SqlFiles } from './sql-files.ts';

/** Since when the history is whole; undefined where nothing was removed, as in a warehouse of a version that removes nothing. */
export async function readHistoryStart(
  database: Pick<Statements, 'rows'>,
  files: Pick<SqlFiles, 'read'>,
): Promise<string | undefined> {
  const [{ has_start } = { has_start: false }] = await database.rows(files.read('warehouse/has_history_start'));
  if (has_start !== true) return undefined;
  const [row] = await database.rows(files.read('warehouse/history_start'));
  return typeof row?.starts_at === 'string' ? row.starts_at : undefined;
}
