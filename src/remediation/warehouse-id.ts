import { randomUUID } from 'node:crypto';
import type { Config } from '../config/config.ts';
import type { Context } from '../core/context.ts';
import { openPublished, type Warehouse, withWarehouse } from '../warehouse/session.ts';

/** The ID of the published warehouse. A warehouse without one, written by an early version, gets it under the lock. */
export async function readWarehouseId(config: Config, context: Context): Promise<string> {
  const known = await publishedWarehouseId(config);
  if (known !== undefined) return known;
  const { log, clock } = context;
  return withWarehouse({ config, purpose: 'playbook', now: clock.now(), log }, ensureWarehouseId);
}

/** The ID of the published warehouse; undefined where it has none. */
export async function publishedWarehouseId(config: Config): Promise<string | undefined> {
  const { database, files } = await openPublished(config);
  try {
    const [table] = await database.rows(await files.read('remediation/has_warehouse_id'));
    if (table?.present !== true) return undefined;
    const [row] = await database.rows(await files.read('remediation/warehouse_id'));
    return row ? String(row.warehouse_id) : undefined;
  } finally {
    database.close();
  }
}

/** Assigns an ID to the warehouse if it has none. */
export async function ensureWarehouseId({ database, files }: Warehouse): Promise<string> {
  await database.run(await files.read('remediation/set_warehouse_id'), { warehouse_id: randomUUID() });
  const [row] = await database.rows(await files.read('remediation/warehouse_id'));
  return String(row?.warehouse_id);
}
