import { randomUUID } from 'node:crypto';
import type { Config } from '../config/config.ts';
import type { WorkContext } from '../core/context.ts';
import { type Warehouse, withPublished, withWarehouse } from '../warehouse/session.ts';
import { quoteIdent } from '../warehouse/sql-files.ts';
import type { AbsenceEvidence } from './define.ts';
import type { SeenLedger } from './ledger-chain.ts';

type Published = Pick<Warehouse, 'database' | 'files'>;

/** What commands ask the published warehouse. Each question opens the newest one: a run may replace it meanwhile. */

/** Whether all of these findings are accepted now. */
export function areAccepted(config: Config, ids: readonly string[], now: Date): Promise<boolean> {
  return withPublished(config, async ({ database, files }) => {
    const params = { ids, now: now.toISOString() };
    const [row] = await database.rows(files.read('remediation/are_accepted'), params);
    return row?.accepted === true;
  });
}

/** The IDs that the warehouse knows in the list of an evidence. */
export function readKnownIds(
  config: Config,
  target: string,
  { table, column, within }: AbsenceEvidence['known'],
  inputs: Readonly<Record<string, unknown>>,
): Promise<readonly string[]> {
  // A plan of an earlier version may lack the input.
  const parent = within && inputs[within[1]];
  return withPublished(config, async ({ database, files }) => {
    const sql = files.render('remediation/known_ids', {
      table: quoteIdent(table),
      column: quoteIdent(column),
      within: quoteIdent(within && parent !== undefined ? within[0] : 'target'),
    });
    return (await database.rows(sql, { target, parent: String(parent ?? target) })).map(({ id }) => String(id));
  });
}

/** What a warehouse has seen of the ledger. */
export async function readSeenLedger({ database, files }: Published): Promise<SeenLedger> {
  const [table] = await database.rows(files.read('remediation/has_ledger_head'));
  const [head] = table?.present === true ? await database.rows(files.read('remediation/ledger_head')) : [];
  const rows = await database.rows(files.read('remediation/seen_actions'));
  return {
    head: head && { lines: Number(head.lines), digest: String(head.digest) },
    replaced: head?.replaced_digest
      ? { lines: Number(head.replaced_lines), digest: String(head.replaced_digest) }
      : undefined,
    rows: rows as unknown as SeenLedger['rows'],
  };
}

/** The ID of the published warehouse; undefined where it has none. */
export function readWarehouseId(config: Config): Promise<string | undefined> {
  return withPublished(config, findWarehouseId);
}

/** The ID of the published warehouse: one that only `tidemark pull` has written gets it under the lock. */
export async function identifyPublished(config: Config, { log, clock }: WorkContext): Promise<string> {
  const known = await readWarehouseId(config);
  return known ?? withWarehouse({ config, purpose: 'playbook', now: clock.now(), log }, ensureWarehouseId);
}

async function findWarehouseId({ database, files }: Published): Promise<string | undefined> {
  const [row] = await database.rows(files.read('remediation/warehouse_id'));
  return row ? String(row.warehouse_id) : undefined;
}

/** Assigns an ID to the warehouse if it has none. */
export async function ensureWarehouseId(warehouse: Warehouse): Promise<string> {
  const sql = warehouse.files.read('remediation/set_warehouse_id');
  await warehouse.database.run(sql, { warehouse_id: randomUUID() });
  return String(await findWarehouseId(warehouse));
}
