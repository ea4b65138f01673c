import type { Config } from '../core/config.ts';
import type { Warehouse } from '../warehouse/session.ts';
import { giveIdentity } from './identity.ts';
import { readLedger } from './ledger.ts';
import { type LedgerRow, ledgerRows } from './ledger-rows.ts';

/** Fills the table `actions` from the ledger, and gives the warehouse its identity where it has none. Called in every run. */
export async function syncLedger(warehouse: Warehouse, config: Config): Promise<void> {
  const { database, files } = warehouse;
  const rows: readonly LedgerRow[] = ledgerRows(await readLedger(config.data));
  await giveIdentity(warehouse);
  await database.transaction(async () => {
    await database.run(await files.text('remediation/actions_clear'));
    await database.run(await files.text('remediation/actions_fill'), { rows: JSON.stringify(rows) });
  });
}
