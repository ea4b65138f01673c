import { existsSync } from 'node:fs';
import { rename } from 'node:fs/promises';
import { join } from 'node:path';
import type { Config } from '../config/config.ts';
import type { WorkContext } from '../core/context.ts';
import { formatError, TidemarkError } from '../core/errors.ts';
import { writeFileAtomic } from '../core/fs.ts';
import { acceptFindings } from '../tell/findings/evaluate.ts';
import { acquireLock, type Lock } from '../warehouse/lock.ts';
import { warehouseFiles } from '../warehouse/publish.ts';
import { assertReadable, type Warehouse, withPublished, withWarehouse } from '../warehouse/session.ts';
import { toJsonParam } from '../warehouse/sql-params.ts';
import { type LedgerEntries, ledgerFile, ledgerLine, toEvent, toLedgerRow } from './ledger.ts';
import type { LedgerHead, LedgerScan, SeenLedger } from './ledger-chain.ts';
import { findUnreadable, NOTHING_SEEN, scanLedger, toLedgerText, unseenEvents } from './ledger-chain.ts';
import { assertSound, formatProblem, inspectLedger, Ledger, type LedgerInspection, readSound } from './ledger-file.ts';
import { ensureWarehouseId, readSeenLedger } from './published-reads.ts';

/** What the warehouse keeps of the ledger: the table `actions`, a copy of it, and its last line. */

type LedgerWarehouse = Pick<Warehouse, 'database' | 'files'>;

/**
 * The entry of every action, in the order in which they were started.
 * @param warehouse which has seen the ledger; @default the published one, if there is one
 * @throws TidemarkError DATA where the ledger is damaged, or does not continue what the warehouse has seen.
 */
export async function readLedger(config: Config, warehouse?: LedgerWarehouse): Promise<LedgerEntries> {
  const { scan } = warehouse
    ? await readSound(config.data, await readSeenLedger(warehouse))
    : assertSound(config.data, await verifyLedger(config));
  return scan.entries;
}

async function readPublishedSeen(config: Config): Promise<SeenLedger> {
  return existsSync(warehouseFiles(config.data).published) ? withPublished(config, readSeenLedger) : NOTHING_SEEN;
}

/** Everything that is wrong with the ledger. A prune that replaces warehouse and ledger meanwhile is nothing wrong: both are read again. */
export async function verifyLedger(config: Config): Promise<LedgerInspection & { readonly seen: SeenLedger }> {
  const seen = await readPublishedSeen(config);
  const inspection = await inspectLedger(config.data, seen);
  if (inspection.problems.length === 0) return { ...inspection, seen };
  const { head } = await readPublishedSeen(config);
  return head?.digest === seen.head?.digest ? { ...inspection, seen } : verifyLedger(config);
}

/**
 * Copies the ledger to the table `actions`, and assigns an ID to a warehouse without one. Called in every run.
 * @throws TidemarkError DATA as `readLedger`; the table is then left unchanged.
 */
export async function syncLedger(warehouse: Warehouse, { data }: Config, now: Date): Promise<void> {
  await ensureWarehouseId(warehouse);
  const { scan } = await readSound(data, await readSeenLedger(warehouse));
  await keepLedger(warehouse, scan, now);
  // The findings of each undo are accepted once: an acceptance that has ended since, because they got worse, stays ended.
  const { database, files } = warehouse;
  const undone = await database.rows(files.read('remediation/undone_findings'), { now: now.toISOString() });
  for (const { ids, plan_id, owner, until } of undone as unknown as Undone[]) {
    const acceptance = { ids, reason: `undone by plan ${plan_id}`, owner, until: new Date(until) };
    await acceptFindings(database, files, acceptance, now);
  }
}

/** The findings of an undo. */
interface Undone {
  readonly plan_id: string;
  readonly ids: readonly string[];
  readonly owner: string;
  readonly until: string;
}

/** Replaces the table `actions`. `replaced`: the end of the ledger that this one takes the place of. */
export async function keepLedger(
  { database, files }: LedgerWarehouse,
  { entries, head }: Pick<LedgerScan, 'entries' | 'head'>,
  now: Date,
  replaced?: LedgerHead,
): Promise<void> {
  const rows = [...entries.values()].map((entry) => ({ ...toLedgerRow(entry), entry: toEvent(entry) }));
  const ends = { replaced_lines: replaced?.lines ?? null, replaced_digest: replaced?.digest ?? null };
  await database.transaction(async () => {
    await database.run(files.read('remediation/clear_actions'));
    await database.run(files.read('remediation/insert_actions'), { rows: toJsonParam(rows) });
    await database.run(files.read('remediation/set_ledger_head'), { ...head, ...ends, now: now.toISOString() });
  });
}

/** As `syncLedger`. A ledger that is refused is logged. @returns why it was refused */
export async function trySyncLedger(
  warehouse: Warehouse,
  config: Config,
  { clock, log }: Pick<WorkContext, 'clock' | 'log'>,
): Promise<TidemarkError | undefined> {
  try {
    await syncLedger(warehouse, config, clock.now());
    return undefined;
  } catch (error) {
    if (!(error instanceof TidemarkError)) throw error;
    log.warn(`the table actions was not updated: ${formatError(error)}`);
    return error;
  }
}

/** The ledger is the source of truth. Where a run holds the warehouse, that run copies it to the table `actions`. */
export async function copyLedger(config: Config, context: WorkContext): Promise<void> {
  const { log, clock } = context;
  try {
    await withWarehouse({ config, purpose: 'playbook apply', now: clock.now(), log }, (warehouse) =>
      syncLedger(warehouse, config, clock.now()),
    );
  } catch (error) {
    if (!(error instanceof TidemarkError)) throw error;
    log.warn(`the next run will update the table actions: ${formatError(error)}`);
  }
}

/**
 * Opens the ledger under the lock that everything has which writes it.
 * @param copy copies it to the table `actions` afterwards
 * @throws TidemarkError LOCKED while another has it; DATA as `Ledger.open`
 */
export async function withLedger<T>(
  config: Config,
  { clock }: Pick<WorkContext, 'clock'>,
  { purpose, copy }: { readonly purpose: string; readonly copy: (() => Promise<unknown>) | undefined },
  work: (ledger: Ledger, lock: Lock) => Promise<T>,
): Promise<T> {
  const lock = await lockLedger(config, purpose, clock.now());
  let ledger: Ledger | undefined;
  try {
    ledger = await Ledger.open(config.data, lock, await withPublished(config, readSeenLedger));
    return await work(ledger, lock);
  } finally {
    await ledger?.close();
    await lock.release();
    await copy?.();
  }
}

export function lockLedger({ data }: Pick<Config, 'data'>, purpose: string, now: Date): Promise<Lock> {
  return acquireLock(join(data, 'apply.lock'), purpose, { now });
}

/**
 * Writes a ledger that was refused again: what the table `actions` has, then the lines that the warehouse has not seen. The refused
 * file is kept beside it. The table comes first: what a kill leaves is refused, and restored again.
 * @returns the number of actions.
 * @throws TidemarkError UNSAFE where the ledger is not refused, or there is nothing to restore it from.
 */
export function restoreLedger(config: Config, context: WorkContext): Promise<number> {
  const file = ledgerFile(config.data);
  return changeLedger(config, context, '--restore', async (warehouse, lock) => {
    const seen = await readSeenLedger(warehouse);
    const { scan, isMissing, problems } = await inspectLedger(config.data, seen);
    if (problems.length === 0) {
      const state = isMissing ? 'was never written' : 'exists, and continues what the warehouse has seen';
      throw new TidemarkError('UNSAFE', `${file} ${state}`, { hint: 'there is nothing to restore' });
    }
    if (seen.rows.length === 0) throw new TidemarkError('UNSAFE', 'the table actions has no rows');
    const rows = await warehouse.database.rows(warehouse.files.read('remediation/actions'));
    const events = rows.map(({ entry }) => ledgerLine.parse(JSON.parse(String(entry))));
    const text = toLedgerText([...events, ...unseenEvents(scan, seen)]);
    const finish = async () => {
      lock.assertHeld();
      if (!isMissing) await rename(file, `${file}.${scan.head.digest.slice(0, 8)}`);
      await writeFileAtomic(file, text);
    };
    return { scan: scanLedger(text), finish };
  });
}

/**
 * Takes a ledger that was refused as it is.
 * @returns the number of actions.
 * @throws TidemarkError UNSAFE where there is none, DATA for a line that cannot be read.
 */
export function acceptLedger(config: Config, context: WorkContext): Promise<number> {
  const file = ledgerFile(config.data);
  return changeLedger(config, context, '--accept', async () => {
    const { isMissing, scan } = await inspectLedger(config.data, NOTHING_SEEN);
    if (isMissing) throw new TidemarkError('UNSAFE', `${file} is missing`, { hint: 'write it with `--restore`' });
    const [damaged] = findUnreadable(scan);
    if (!damaged) return { scan };
    throw new TidemarkError('DATA', formatProblem(file, damaged), {
      hint: 'it may record an action: correct the line, or restore the ledger with `--restore`',
    });
  });
}

/** @param change returns the ledger to keep, and what follows once the warehouse is published */
async function changeLedger(
  config: Config,
  { clock, log }: WorkContext,
  option: string,
  change: (
    warehouse: Warehouse,
    lock: Lock,
  ) => Promise<{ readonly scan: LedgerScan; readonly finish?: () => Promise<void> }>,
): Promise<number> {
  const purpose = `playbook ledger ${option}`;
  const now = clock.now();
  await assertReadable(warehouseFiles(config.data).published);
  const lock = await lockLedger(config, purpose, now);
  try {
    const { scan, finish } = await withWarehouse({ config, purpose, now, log }, async (warehouse) => {
      const changed = await change(warehouse, lock);
      await keepLedger(warehouse, changed.scan, now);
      return changed;
    });
    await finish?.();
    return scan.entries.size;
  } finally {
    await lock.release();
  }
}
