import type { Config } from '../core/config.ts';
import { describe, TidemarkError } from '../core/errors.ts';
import type { Log } from '../core/log.ts';
import type { Warehouse } from '../warehouse/session.ts';
import { giveIdentity } from './identity.ts';
import { readLedger } from './ledger.ts';
import { type LedgerRow, ledgerRows } from './ledger-rows.ts';

/**
 * Fills the table `actions` from the ledger, and gives the warehouse its identity where it has none. Called in every run.
 * @throws TidemarkError DATA for a damaged ledger; with `log` that is said there instead, and the table stays as it was.
 */
export async function syncLedger(warehouse: Warehouse, config: Config, log?: Log): Promise<void> {
  const { database, files } = warehouse;
  await giveIdentity(warehouse);
  const rows = await rowsOf(config, log);
  if (!rows) return;
  await database.transaction(async () => {
    await database.run(await files.text('remediation/actions_clear'));
    await database.run(await files.text('remediation/actions_fill'), { rows: JSON.stringify(rows) });
  });
}

async function rowsOf({ data }: Config, log: Log | undefined): Promise<readonly LedgerRow[] | undefined> {
  try {
    return ledgerRows(await readLedger(data));
  } catch (error) {
    if (!log || !(error instanceof TidemarkError)) throw error;
    log.warn(`the table actions stays as it was: ${describe(error)}`);
    return undefined;
  }
}
