import { TidemarkError } from '../core/errors.ts';
import type { Database } from '../warehouse/database.ts';
import type { SqlFiles } from '../warehouse/sql-files.ts';

export interface Acceptance {
  readonly ids: readonly string[];
  readonly reason: string;
  /** Who answers for it. */
  readonly owner: string;
  /** When it ends. */
  readonly until: Date;
}

/**
 * Takes findings as they are, until the acceptance ends or one gets worse: its severity rises, or the weight that its rule gives
 * it grows. A resolved finding has no acceptance: if it comes back, it is news.
 * @throws TidemarkError USAGE when one of them is not there to be accepted, or the end has passed; nothing is then changed.
 */
export async function acceptFindings(
  database: Database,
  files: SqlFiles,
  { ids, reason, owner, until }: Acceptance,
  now: Date,
): Promise<void> {
  if (until <= now) throw new TidemarkError('USAGE', `--until ${until.toISOString()} has passed`);
  const params = { ids, reason, owner, until: until.toISOString(), now: now.toISOString() };
  await database.transaction(async () => {
    await assertOpen(database, files, ids);
    await database.run(await files.read('warehouse/find_accept'), params);
    await database.run(await files.read('warehouse/find_accept_event'), params);
  });
}

/** @throws TidemarkError USAGE naming the findings that are unknown or resolved. */
export async function assertOpen(database: Database, files: SqlFiles, ids: readonly string[]): Promise<void> {
  const rows = await database.rows(await files.read('warehouse/find_one'), { ids });
  const states = new Map(rows.map(({ finding_id, state }) => [finding_id, state]));
  const unknown = ids.filter((id) => !states.has(id));
  if (unknown.length > 0) {
    throw new TidemarkError('USAGE', `unknown finding ${unknown.join(', ')}`, { hint: 'see `tidemark findings`' });
  }
  const resolved = ids.filter((id) => states.get(id) === 'resolved');
  if (resolved.length > 0) throw new TidemarkError('USAGE', `already resolved: ${resolved.join(', ')}`);
}
