import { randomUUID } from 'node:crypto';
import type { Config } from '../core/config.ts';
import type { Context } from '../core/context.ts';
import { openPublished, type Warehouse, withWarehouse } from '../warehouse/session.ts';

/** What tells this warehouse from every other. One from before identities is given its own, under the lock. */
export async function identityOf(config: Config, context: Context): Promise<string> {
  const known = await publishedIdentity(config);
  if (known !== undefined) return known;
  const { log, clock } = context;
  return withWarehouse({ config, purpose: 'playbook', now: clock.now(), log }, giveIdentity);
}

/** The identity of the published warehouse, if it has one. */
export async function publishedIdentity(config: Config): Promise<string | undefined> {
  const { database, files } = await openPublished(config);
  try {
    const [table] = await database.rows(await files.text('remediation/has_identity'));
    if (table?.present !== true) return undefined;
    const [row] = await database.rows(await files.text('remediation/identity'));
    return row ? String(row.warehouse_id) : undefined;
  } finally {
    database.close();
  }
}

/** @returns the identity, given now where there was none. */
export async function giveIdentity({ database, files }: Warehouse): Promise<string> {
  await database.run(await files.text('remediation/give_identity'), { warehouse_id: randomUUID() });
  const [row] = await database.rows(await files.text('remediation/identity'));
  return String(row?.warehouse_id);
}
