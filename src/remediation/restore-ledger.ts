import { lstat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Config } from '../config/config.ts';
import type { Context } from '../core/context.ts';
import { TidemarkError } from '../core/errors.ts';
import { writeFileAtomic } from '../core/fs.ts';
import { acquireLock } from '../warehouse/lock.ts';
import { openPublished } from '../warehouse/session.ts';
import { type LedgerRow, ledgerFile, toLedgerText } from './ledger.ts';

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
    if (await lstat(file).catch(() => undefined)) {
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
