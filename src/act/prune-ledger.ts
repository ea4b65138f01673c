import type { Config } from '../config/config.ts';
import type { WorkContext } from '../core/context.ts';
import { TidemarkError } from '../core/errors.ts';
import { writeFileAtomic } from '../core/fs.ts';
import type { WriteWarehouse } from '../warehouse/session.ts';
import { isUnsettled, type LedgerEntry, type LedgerEvent, ledgerFile, toKey } from './ledger.ts';
import { type LedgerScan, scanLedger, toLedgerText } from './ledger-chain.ts';
import { assertSound } from './ledger-file.ts';
import { inspectSeen, keepLedger, lockLedger, verifyLedger } from './ledger-table.ts';
import { listPlanIds } from './plan-store.ts';

/** A ledger without old actions, how many go, and their bytes. */
export type PrunedLedger = Readonly<NonNullable<Awaited<ReturnType<typeof withoutOld>>>>;

/** What of the ledger goes: actions that ended before `start`, without those that an undo, an open plan or a settle needs. It only reads. */
export async function listOldActions(config: Config, start: Date, now: Date): Promise<PrunedLedger | undefined> {
  return withoutOld(config, assertSound(config.data, await verifyLedger(config)), start, now);
}

/**
 * Removes them. The warehouse comes first, and keeps the end of both ledgers: whichever of them a kill leaves, the next run takes it.
 * While a plan is applied, nothing goes.
 * @throws TidemarkError DATA for a ledger that is refused
 */
export async function removeOldActions(
  config: Config,
  { clock, log }: WorkContext,
  start: Date,
  write: WriteWarehouse,
): Promise<PrunedLedger | undefined> {
  const now = clock.now();
  if (!(await listOldActions(config, start, now))) return undefined;
  const lock = await lockLedger(config, 'prune', now).catch((error: unknown) => {
    if (!(error instanceof TidemarkError) || error.code !== 'LOCKED') throw error;
    log.warn('the ledger stays as it is, because a plan is being applied');
  });
  if (!lock) return undefined;
  try {
    const pruned = await write(async (warehouse) => {
      const whole = assertSound(config.data, await inspectSeen(config, warehouse));
      const rest = await withoutOld(config, whole, start, now);
      if (rest) await keepLedger(warehouse, scanLedger(rest.text), now, whole.head);
      return rest;
    });
    lock.assertHeld();
    if (pruned) await writeFileAtomic(ledgerFile(config.data), pruned.text);
    return pruned;
  } finally {
    await lock.release();
  }
}

async function withoutOld(config: Config, scan: LedgerScan, start: Date, now: Date) {
  const kept = new Set(await listPlanIds(config));
  const entries = [...scan.entries.values()].slice(0, -1); // the last one tells until when time has moved on
  const old = entries.filter((entry) => !kept.has(entry.plan_id) && isOver(entry, start.toISOString(), now));
  if (old.length === 0) return undefined;
  const keys = new Set(old.map(toKey));
  const stays = scan.records.filter((entry) => !keys.has(toKey(entry)));
  const first: LedgerEvent = { event: 'pruned', at: now.toISOString(), actions: old.length, ...scan.head };
  const text = toLedgerText([first, ...stays]);
  const bytes = scan.lines.reduce((sum, line) => sum + Buffer.byteLength(line.text) + 1, 0);
  return { count: old.length, bytes: Math.max(0, bytes - Buffer.byteLength(text)), text };
}

/** Whether an action has ended before a time, and nothing follows from it any more. */
function isOver(entry: LedgerEntry, start: string, now: Date): boolean {
  if (entry.event === 'intent' || isUnsettled(entry)) return false;
  const { finished_at, accepts } = entry;
  return finished_at < start && (accepts === undefined || Date.parse(accepts.until) <= now.getTime());
}
