import { openDatabase, type SqlParams } from '../warehouse/database.ts';
import type { SqlFiles } from '../warehouse/sql-files.ts';
import { type AssessedTarget, describeTarget } from './evaluate.ts';

/** A source whose listing may be a part of what the service has, and why. */
export interface UnprovenListing {
  readonly source: string;
  readonly why: string;
}

/** What decides how much a token sees, as in the table `tokens`. */
export interface KnownToken {
  readonly type: string | null;
  readonly is_management: boolean | null;
  readonly rights: Readonly<Record<string, unknown>> | null;
}

/**
 * The sources of a target whose listing proves nothing about what it does not contain, as the rules would decide after a pull now:
 * `queries/warehouse/listing_proofs.sql` in a database of its own.
 */
export async function findUnprovenListings(
  files: SqlFiles,
  target: AssessedTarget,
  sources: readonly string[],
  token: KnownToken | undefined,
): Promise<readonly UnprovenListing[]> {
  const database = await openDatabase(':memory:');
  const run = async (name: string, params: SqlParams) => database.run(await files.read(`warehouse/${name}`), params);
  const assume = async (name: string, table: string, params: SqlParams) =>
    database.run(await files.render(`warehouse/${name}`, { name: table }), params);
  const asOf = new Date(0).toISOString();
  try {
    const pulled = [...new Set([...sources, 'tokens'])];
    await assume('assumed_sources', 'source_state', { target: target.name, sources: pulled, as_of: asOf });
    await assume('assumed_token', 'tokens', {
      target: target.name,
      token: token === undefined ? null : JSON.stringify(token),
    });
    await run('configured_targets', { targets: JSON.stringify([describeTarget(target)]) });
    await run('listing_proofs', { as_of: asOf, stale_hours: 1 });
    const rows = await database.rows(await files.read('warehouse/unproven_listings'));
    return rows.map(({ source, why }) => ({ source: String(source), why: String(why) }));
  } finally {
    database.close();
  }
}
