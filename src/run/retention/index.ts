import { existsSync } from 'node:fs';
import { listOldPlans } from '../../act/plan-store.ts';
import { listOldActions, type PrunedLedger, removeOldActions } from '../../act/prune-ledger.ts';
import type { Config } from '../../config/config.ts';
import type { JobContext } from '../../core/context.ts';
import { errorMessage, TidemarkError } from '../../core/errors.ts';
import { removePaths } from '../../core/fs.ts';
import { listOldLandings } from '../../landing/store.ts';
import { listOldReports } from '../../tell/reports/archive.ts';
import { warehouseFiles } from '../../warehouse/publish.ts';
import { type WarehouseWriter, withPublished, withWarehouseLock } from '../../warehouse/session.ts';
import { loadTables } from '../../warehouse/tables.ts';
import { listOldHistory, removeOldHistory } from './history.ts';
import { findHorizon } from './horizon.ts';
import { measureFiles, type Removal } from './removal.ts';

/** What `landingDays`, `planDays`, `reportDays` and `historyDays` would remove now. Nothing is changed. */
export async function listPrunable(config: Config, context: JobContext): Promise<readonly Removal[]> {
  const folders = await listOldFiles(config, context);
  const files = await Promise.all([...folders].map(([what, paths]) => measureFiles(what, paths)));
  const horizon = existsSync(warehouseFiles(config.data).published) ? await findHorizon(config, context) : undefined;
  if (horizon === undefined) return files;
  const { start, removals } = await withPublished(config, async (published) =>
    listOldHistory({ ...published, tables: await loadTables(published.files), horizon }),
  );
  const now = context.clock.now();
  const actions = start === null ? undefined : await listOldActions(config, new Date(start), now);
  return [...files, ...removals, ...toLedgerRemoval(actions)];
}

/** Removes it, under the lock of the warehouse. */
export async function prune(config: Config, context: JobContext): Promise<readonly Removal[]> {
  const lock = { config, purpose: 'prune', now: context.clock.now(), log: context.log };
  return withWarehouseLock(lock, async (writer) => {
    const folders = await listOldFiles(config, context);
    const files = await Promise.all([...folders].map(([what, paths]) => measureFiles(what, paths)));
    for (const paths of folders.values()) await removePaths(paths);
    return [...files, ...(await pruneHistory(config, context, writer))];
  });
}

/** What a run removes when it has ended; its reports remove earlier ones. History that cannot be judged stays. */
export async function pruneAfterRun(config: Config, context: JobContext, writer: WarehouseWriter): Promise<void> {
  const now = context.clock.now();
  await removePaths(await listOldLandings(config, now));
  await removePaths(await listOldPlans(config, { now, log: context.log }));
  try {
    if (!context.signal.aborted) await pruneHistory(config, context, writer);
  } catch (error) {
    if (!(error instanceof TidemarkError) || error.code === 'LOCKED') throw error;
    context.log.warn(`history older than \`historyDays\` is kept: ${errorMessage(error)}`);
  }
}

async function listOldFiles(
  config: Config,
  { clock, log }: JobContext,
): Promise<ReadonlyMap<string, readonly string[]>> {
  const now = clock.now();
  return new Map([
    ['landings', await listOldLandings(config, now)],
    ['plans', await listOldPlans(config, { now, log })],
    ['reports', await listOldReports(config.output, now, config.reportDays)],
  ]);
}

async function pruneHistory(config: Config, context: JobContext, writer: WarehouseWriter): Promise<readonly Removal[]> {
  if (!existsSync(warehouseFiles(config.data).published)) return [];
  const horizon = await findHorizon(config, context);
  if (horizon === undefined) return [];
  const { start, removals } = await writer.write(
    (warehouse) => removeOldHistory({ ...warehouse, horizon }, context.clock.now()),
    context.signal,
  );
  const actions = start === null ? undefined : await removeOldActions(config, context, new Date(start), writer);
  return [...removals, ...toLedgerRemoval(actions)];
}

const toLedgerRemoval = (pruned: PrunedLedger | undefined): readonly Removal[] =>
  pruned ? [{ what: 'ledger', count: pruned.count, bytes: pruned.bytes }] : [];
