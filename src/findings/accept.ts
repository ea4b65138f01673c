import { TidemarkError } from '../core/errors.ts';
import type { Database } from '../warehouse/database.ts';
import type { SqlFiles } from '../warehouse/sql-files.ts';

export interface Acceptance {
  readonly ids: readonly string[];
  readonly reason: string;
  /** The person responsible. */
  readonly owner: string;
  readonly until: Date;
}

/**
 * Accepts findings until a time, or until they get worse: their severity or the weight given by the rule rises. Resolving a finding
 * ends its acceptance.
 * @throws TidemarkError USAGE if a finding is unknown or resolved, or the end has passed; no finding is then accepted.
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
    await database.run(await files.read('warehouse/accept_findings'), params);
    await database.run(await files.read('warehouse/record_acceptance'), params);
  });
}

/** @throws TidemarkError USAGE naming the findings that are unknown or resolved. */
export async function assertOpen(database: Database, files: SqlFiles, ids: readonly string[]): Promise<void> {
  const rows = await database.rows(await files.read('warehouse/findings_by_id'), { ids });
  const states = new Map(rows.map(({ finding_id, state }) => [finding_id, state]));
  const unknown = ids.filter((id) => !states.has(id));
  if (unknown.length > 0) {
    throw new TidemarkError('USAGE', `unknown finding ${unknown.join(', ')}`, { hint: 'see `tidemark findings`' });
  }
  const resolved = ids.filter((id) => states.get(id) === 'resolved');
  if (resolved.length > 0) throw new TidemarkError('USAGE', `already resolved: ${resolved.join(', ')}`);
}
