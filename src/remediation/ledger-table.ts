import { existsSync, lstatSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from '../config/config.ts';
import type { Context } from '../core/context.ts';
import { formatError, TidemarkError } from '../core/errors.ts';
import { writeFileAtomic } from '../core/fs.ts';
import type { Log } from '../core/log.ts';
import { acquireLock } from '../warehouse/lock.ts';
import { warehouseFiles } from '../warehouse/publish.ts';
import { openPublished, type Warehouse, withWarehouse } from '../warehouse/session.ts';
import {
  assertNeverWritten,
  isLedgerMissing,
  type LedgerEntry,
  type LedgerRow,
  ledgerFile,
  readLedger,
  toLedgerRow,
  toLedgerText,
} from './ledger.ts';
import { countRecordedActions, ensureWarehouseId } from './published-reads.ts';

/** The table `actions`, a copy of the ledger in the warehouse. */

/**
 * As `readLedger`, for what would take a missing ledger as one without actions.
 * @param warehouse which may have a copy of the ledger; @default the published one, if there is one
 * @throws TidemarkError DATA also where the ledger is missing, although the warehouse has a copy of it.
 */
export async function readRecordedLedger(
  config: Config,
  warehouse?: Pick<Warehouse, 'database' | 'files'>,
): Promise<readonly LedgerEntry[]> {
  const { data } = config;
  if (await isLedgerMissing(data)) {
    const recorded = await (warehouse ? countRecordedActions(warehouse) : countPublishedActions(config));
    assertNeverWritten(ledgerFile(data), recorded);
  }
  return readLedger(data);
}

async function countPublishedActions(config: Config): Promise<number> {
  if (!existsSync(warehouseFiles(config.data).published)) return 0;
  const published = await openPublished(config);
  try {
    return await countRecordedActions(published);
  } finally {
    published.database.close();
  }
}

/**
 * Copies the ledger to the table `actions`, and assigns an ID to a warehouse without one. Called in every run.
 * @throws TidemarkError DATA for a damaged ledger. With `log` the error is logged instead, and the table is left unchanged.
 */
export async function syncLedger(warehouse: Warehouse, { data }: Config, log?: Log): Promise<void> {
  const { database, files } = warehouse;
  await ensureWarehouseId(warehouse);
  const rows = await readRows(warehouse, data, log);
  if (!rows) return;
  await database.transaction(async () => {
    await database.run(await files.read('remediation/clear_actions'));
    await database.run(await files.read('remediation/insert_actions'), { rows: JSON.stringify(rows) });
  });
}

async function readRows(
  warehouse: Warehouse,
  data: string,
  log: Log | undefined,
): Promise<readonly LedgerRow[] | undefined> {
  try {
    const entries = await readLedger(data);
    if (await isLedgerMissing(data)) {
      assertNeverWritten(ledgerFile(data), await countRecordedActions(warehouse));
    }
    return entries.map(toLedgerRow);
  } catch (error) {
    if (!log || !(error instanceof TidemarkError)) throw error;
    log.warn(`the table actions was not updated: ${formatError(error)}`);
    return undefined;
  }
}

/** The ledger is the source of truth. Where a run holds the warehouse, that run copies it to the table `actions`. */
export async function copyLedger(config: Config, context: Context): Promise<void> {
  const { log, clock } = context;
  try {
    await withWarehouse({ config, purpose: 'playbook apply', now: clock.now(), log }, (warehouse) =>
      syncLedger(warehouse, config),
    );
  } catch (error) {
    if (!(error instanceof TidemarkError)) throw error;
    log.warn(`the next run will update the table actions: ${error.message}`);
  }
}

/**
 * Writes a missing ledger from its copy in the published warehouse. What was started after that copy was made is not in it.
 * @returns the number of actions.
 * @throws TidemarkError UNSAFE where there is a ledger, or nothing to restore it from.
 */
export async function restoreLedger(config: Config, context: Context): Promise<number> {
  const file = ledgerFile(config.data);
  const now = context.clock.now();
  const lock = await acquireLock(join(config.data, 'apply.lock'), 'playbook ledger --restore', { now });
  try {
    if (lstatSync(file, { throwIfNoEntry: false })) {
      throw new TidemarkError('UNSAFE', `${file} exists`, { hint: 'move it away first if it is damaged' });
    }
    const rows = await readActions(config);
    if (rows.length === 0) throw new TidemarkError('UNSAFE', 'the table actions has no rows');
    lock.assertHeld();
    await writeFileAtomic(file, toLedgerText(rows));
    return rows.length;
  } finally {
    await lock.release();
  }
}

async function readActions(config: Config): Promise<readonly LedgerRow[]> {
  const { database, files } = await openPublished(config);
  try {
    return (await database.rows(await files.read('remediation/actions'))) as unknown as readonly LedgerRow[];
  } finally {
    database.close();
  }
}
