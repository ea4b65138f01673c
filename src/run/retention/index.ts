import { stat } from 'node:fs/promises';
import { listOldPlans } from '../../act/plan-store.ts';
import { listOldActions, type PrunedLedger, removeOldActions } from '../../act/prune-ledger.ts';
import type { Config } from '../../config/config.ts';
import { DAY_MS, HOUR_MS } from '../../core/clock.ts';
import type { Context, JobContext } from '../../core/context.ts';
import { errorMessage, TidemarkError } from '../../core/errors.ts';
import { removePaths } from '../../core/fs.ts';
import { isPresent } from '../../core/paths.ts';
import { type StoreContext, withLakeStore } from '../../lake/open-store.ts';
import { readPublishedUntil } from '../../lake/publish.ts';
import { landingBytes, listOldLandings } from '../../landing/store.ts';
import { listOldReports } from '../../tell/reports/archive.ts';
import { warehouseFiles } from '../../warehouse/publish.ts';
import { type WarehouseWriter, withPublished, withWarehouseLock } from '../../warehouse/session.ts';
import { loadTables } from '../../warehouse/tables.ts';
import { listOldHistory, type Removal, removeOldHistory } from './history.ts';

/**
 * The time from which on the history stays. Rules look back as far as their thresholds, and the lake takes from the history what it does
 * not have yet.
 * @returns undefined where everything stays
 * @throws TidemarkError as the lake
 */
export async function findHorizon(
  config: Config,
  context: StoreContext & Pick<Context, 'clock'>,
): Promise<Date | undefined> {
  const { historyDays, lake, thresholds } = config;
  if (historyDays === undefined) return undefined;
  const reach = Object.entries(thresholds).map(([name, value]) => (name.endsWith('Days') ? value : 0));
  const days = Math.max(historyDays, (thresholds.deadAgentHours * HOUR_MS) / DAY_MS, ...reach);
  const horizon = new Date(context.clock.now().getTime() - days * DAY_MS);
  if (lake === undefined) return horizon;
  const until = await withLakeStore(context, config, (store) =>
    readPublishedUntil({ config, store, now: context.clock.now() }),
  );
  return until !== undefined && until > horizon ? horizon : until;
}

/** What `landingDays`, `planDays`, `reportDays` and `historyDays` would remove now. Nothing is changed. */
export async function listPrunable(config: Config, context: JobContext): Promise<readonly Removal[]> {
  const { removals: files } = await listOldFiles(config, context);
  const horizon = isPresent(warehouseFiles(config.data).published) ? await findHorizon(config, context) : undefined;
  if (horizon === undefined) return files;
  const { start, removals } = await withPublished(config, async (published) =>
    listOldHistory({ ...published, tables: loadTables(published.files), horizon }),
  );
  const now = context.clock.now();
  const actions = start === null ? undefined : await listOldActions(config, new Date(start), now);
  return [...files, ...removals, ...toLedgerRemoval(actions)];
}

/** Removes it, under the lock of the warehouse. */
export async function prune(config: Config, context: JobContext): Promise<readonly Removal[]> {
  const lock = { config, purpose: 'prune', now: context.clock.now(), log: context.log };
  return withWarehouseLock(lock, async (writer) => {
    const { removals, paths } = await listOldFiles(config, context);
    await removePaths(paths);
    return [...removals, ...(await pruneHistory(config, context, writer))];
  });
}

/** What a run removes when it has ended; its reports remove earlier ones. History that cannot be judged stays. */
export async function pruneAfterRun(config: Config, context: JobContext, writer: WarehouseWriter): Promise<void> {
  await removePaths(await listOldLandings(config, context.clock.now()));
  await removePaths(await listOldPlans(config, context));
  try {
    if (!context.signal.aborted) await pruneHistory(config, context, writer);
  } catch (error) {
    if (!(error instanceof TidemarkError) || error.code === 'LOCKED') throw error;
    context.log.warn(`history older than \`historyDays\` is kept: ${errorMessage(error)}`);
  }
}

async function listOldFiles(config: Config, context: JobContext) {
  const now = context.clock.now();
  const folders = {
    landings: await listOldLandings(config, now),
    plans: await listOldPlans(config, context),
    reports: await listOldReports(config.output, now, config.reportDays),
  };
  const removals: Removal[] = [];
  for (const [what, paths] of Object.entries(folders)) {
    const sizes = await Promise.all(paths.map(measurePath));
    removals.push({ what, count: paths.length, bytes: sizes.reduce((sum, size) => sum + size, 0) });
  }
  return { removals, paths: Object.values(folders).flat() };
}

async function measurePath(path: string): Promise<number> {
  const entry = await stat(path);
  return entry.isDirectory() ? landingBytes(path) : entry.size;
}

async function pruneHistory(config: Config, context: JobContext, writer: WarehouseWriter): Promise<readonly Removal[]> {
  if (!isPresent(warehouseFiles(config.data).published)) return [];
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
