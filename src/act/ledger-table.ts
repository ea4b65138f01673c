import { rename } from 'node:fs/promises';
import { join } from 'node:path';
import type { Config } from '../config/config.ts';
import type { WorkContext } from '../core/context.ts';
import { catchKnown, formatError, TidemarkError } from '../core/errors.ts';
import { writeFileAtomic } from '../core/fs.ts';
import { isPresent } from '../core/paths.ts';
import { acceptFindings } from '../tell/findings/evaluate.ts';
import { chooseTime } from '../warehouse/latest.ts';
import { acquireLock, type Lock } from '../warehouse/lock.ts';
import { warehouseFiles } from '../warehouse/publish.ts';
import type { OpenWarehouse, Warehouse } from '../warehouse/session.ts';
import { assertReadable, withPublished, withWarehouse } from '../warehouse/session.ts';
import { toJsonParam } from '../warehouse/sql-params.ts';
import { type LedgerEntries, ledgerFile, ledgerLine, toLedgerRow } from './ledger.ts';
import type { LedgerHead, LedgerScan, SeenLedger } from './ledger-chain.ts';
import { findUnreadable, NOTHING_SEEN, scanLedger, toLedgerText, unseenEvents } from './ledger-chain.ts';
import type { Ledger, LedgerInspection } from './ledger-file.ts';
import { assertSound, formatProblem, inspectLedger, openLedgerFile } from './ledger-file.ts';
import { ensureWarehouseId } from './plan-targets.ts';
import type { Acting } from './remote.ts';

/** What the warehouse keeps of the ledger: the table `actions`, a copy of it, and its last line. */

/**
 * The entry of every action, in the order in which they were started.
 * @param warehouse which has seen the ledger; @default the published one, if there is one
 * @throws TidemarkError DATA where the ledger is damaged, or does not continue what the warehouse has seen.
 */
export async function readLedger(config: Config, warehouse?: OpenWarehouse): Promise<LedgerEntries> {
  const inspection = warehouse ? await inspectSeen(config, warehouse) : await verifyLedger(config);
  return assertSound(config.data, inspection).entries;
}

export async function inspectSeen({ data }: Pick<Config, 'data'>, warehouse: OpenWarehouse): Promise<LedgerInspection> {
  return inspectLedger(data, await readSeenLedger(warehouse));
}

export async function readSeenLedger({ database, files }: OpenWarehouse): Promise<SeenLedger> {
  const [table] = await database.rows(files.read('remediation/has_ledger_head'));
  const heads = table?.present === true ? await database.rows(files.read('remediation/ledger_heads')) : [];
  const rows = await database.rows(files.read('remediation/seen_actions'));
  return {
    heads: heads.map(({ lines, digest }) => ({ lines: Number(lines), digest: String(digest) })),
    rows: rows as unknown as SeenLedger['rows'],
  };
}

async function readPublishedSeen(config: Config): Promise<SeenLedger> {
  return isPresent(warehouseFiles(config.data).published) ? withPublished(config, readSeenLedger) : NOTHING_SEEN;
}

/** Everything that is wrong with the ledger. A prune that replaces warehouse and ledger meanwhile is nothing wrong: both are read again. */
export async function verifyLedger(config: Config): Promise<LedgerInspection & { readonly seen: SeenLedger }> {
  const seen = await readPublishedSeen(config);
  const inspection = await inspectLedger(config.data, seen);
  if (inspection.problems.length === 0) return { ...inspection, seen };
  const { heads } = await readPublishedSeen(config);
  return heads[0]?.digest === seen.heads[0]?.digest ? { ...inspection, seen } : verifyLedger(config);
}

/**
 * Copies the ledger to the table `actions`, and assigns an ID to a warehouse without one. Called in every run.
 * @throws TidemarkError DATA as `readLedger`; the table is then left unchanged.
 */
export async function syncLedger(warehouse: Warehouse, config: Config, now: Date): Promise<void> {
  await ensureWarehouseId(warehouse);
  await keepLedger(warehouse, assertSound(config.data, await inspectSeen(config, warehouse)), now);
  // The findings of each undo are accepted once: an acceptance that has ended since, because they got worse, stays ended.
  const { database, files } = warehouse;
  const next = await chooseTime(warehouse, now);
  const undone = await database.rows(files.read('remediation/undone_findings'), { now: next.toISOString() });
  for (const { ids, plan_id, owner, until, undone_at } of undone) {
    const acceptance = { reason: `undone by plan ${plan_id}`, owner: String(owner), until: new Date(String(until)) };
    // an acceptance before its undo, as a clock that went back would date it, would be followed by another one in each run
    const at = new Date(Math.max(next.getTime(), Date.parse(String(undone_at))));
    await acceptFindings(warehouse, { ...acceptance, ids: ids as readonly string[] }, at);
  }
}

/** A ledger of years as one parameter needs more memory than a run has. */
const ROWS_AT_ONCE = 1000;

/** Replaces the table `actions`. `replaced`: the end of the ledger that this one takes the place of. */
export async function keepLedger(
  { database, files }: OpenWarehouse,
  { entries, head }: Pick<LedgerScan, 'entries' | 'head'>,
  now: Date,
  replaced?: LedgerHead,
): Promise<void> {
  const all = [...entries.values()];
  const ends = { replaced_lines: replaced?.lines ?? null, replaced_digest: replaced?.digest ?? null };
  await database.transaction(async () => {
    await database.run(files.read('remediation/clear_actions'));
    for (let at = 0; at < all.length; at += ROWS_AT_ONCE) {
      const rows = all.slice(at, at + ROWS_AT_ONCE).map((entry) => ({ ...toLedgerRow(entry), entry }));
      await database.run(files.read('remediation/insert_actions'), { rows: toJsonParam(rows) });
    }
    await database.run(files.read('remediation/set_ledger_head'), { ...head, ...ends, now: now.toISOString() });
  });
}

/**
 * Does it where the program does not depend on it: what prevents it is logged, such as a ledger that is refused, or a run that holds the
 * warehouse and copies the ledger itself.
 * @param warehouse the working one of a run in progress; @default the published one
 * @returns why the table was not updated
 */
export async function trySyncLedger({ config, context: { clock, log } }: Acting, warehouse?: Warehouse) {
  const now = clock.now();
  const sync = (open: Warehouse) => syncLedger(open, config, now);
  const synced = warehouse ? sync(warehouse) : withWarehouse({ config, purpose: 'playbook apply', now, log }, sync);
  // An apply tells what it did, whatever fails after it, such as the disk.
  const error = await synced.catch((cause: unknown) => (warehouse ? catchKnown(cause) : cause));
  if (error) log.warn(`the table actions was not updated: ${formatError(error)}`);
  return error ?? undefined;
}

/**
 * Opens the ledger under the lock that everything has which writes it.
 * @param copy copies it to the table `actions` afterwards
 * @throws TidemarkError LOCKED while another has it; DATA as `openLedgerFile`
 */
export async function withLedger<T>(
  { config, context: { clock } }: Acting,
  { purpose, copy }: { readonly purpose: string; readonly copy: (() => Promise<unknown>) | undefined },
  work: (ledger: Ledger, lock: Lock) => Promise<T>,
): Promise<T> {
  const lock = await lockLedger(config, purpose, clock.now());
  let ledger: Ledger | undefined;
  try {
    ledger = await openLedgerFile(config.data, lock, await withPublished(config, readSeenLedger));
    return await work(ledger, lock);
  } finally {
    await ledger?.close();
    await lock.release();
    await copy?.();
  }
}

export function lockLedger({ data }: Pick<Config, 'data'>, purpose: string, now: Date): Promise<Lock> {
  return acquireLock(join(data, 'apply.lock'), purpose, now);
}

/**
 * Ends a refusal. `--restore` writes the ledger again: what the table `actions` has, then the lines that the warehouse has not seen; the
 * refused file is kept beside it. `--accept` takes the file as it is. The table comes first: what a kill leaves is refused, and restored
 * again.
 * @returns the number of actions.
 * @throws TidemarkError UNSAFE where the ledger is not refused, or is missing on both sides; DATA for a line that cannot be accepted.
 */
export async function repairLedger(config: Config, { clock, log }: WorkContext, option: '--restore' | '--accept') {
  const purpose = `playbook ledger ${option}`;
  const now = clock.now();
  const file = ledgerFile(config.data);
  await assertReadable(warehouseFiles(config.data).published);
  const lock = await lockLedger(config, purpose, now);
  try {
    const { ledger, text, refused } = await withWarehouse({ config, purpose, now, log }, async (warehouse) => {
      const repaired = option === '--accept' ? await acceptFile(config) : await restoreFromTable(config, warehouse);
      await keepLedger(warehouse, repaired.ledger, now);
      return repaired;
    });
    lock.assertHeld();
    if (refused) await rename(file, `${file}.${refused.digest.slice(0, 8)}`);
    if (text !== undefined) await writeFileAtomic(file, text);
    return ledger.entries.size;
  } finally {
    await lock.release();
  }
}

/** @returns the ledger, the text that its file gets, and the end of the refused file that is kept beside it */
async function restoreFromTable(config: Config, warehouse: Warehouse) {
  const seen = await readSeenLedger(warehouse);
  const refused = await inspectLedger(config.data, seen);
  if (refused.problems.length === 0) {
    const state = refused.isMissing ? 'was never written' : 'exists, and continues what the warehouse has seen';
    throw new TidemarkError('UNSAFE', `${ledgerFile(config.data)} ${state}`, { hint: 'there is nothing to restore' });
  }
  if (seen.rows.length === 0) throw new TidemarkError('UNSAFE', 'the table actions has no rows');
  const rows = await warehouse.database.rows(warehouse.files.read('remediation/actions'));
  const events = rows.map(({ entry }) => ledgerLine.parse(JSON.parse(String(entry))));
  const text = toLedgerText([...events, ...unseenEvents(refused, seen)]);
  return { ledger: scanLedger(text), text, refused: refused.isMissing ? undefined : refused.head };
}

async function acceptFile({ data }: Config) {
  const file = ledgerFile(data);
  const ledger = await inspectLedger(data, NOTHING_SEEN);
  if (ledger.isMissing) throw new TidemarkError('UNSAFE', `${file} is missing`, { hint: 'write it with `--restore`' });
  const [damaged] = findUnreadable(ledger);
  if (!damaged) return { ledger, text: undefined, refused: undefined };
  throw new TidemarkError('DATA', formatProblem(file, damaged), {
    hint: 'it may record an action: correct the line, or restore the ledger with `--restore`',
  });
}
