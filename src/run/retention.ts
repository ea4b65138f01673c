import { stat } from 'node:fs/promises';
import { listOldPlans } from '../act/plan-store.ts';
import { listOldActions, type PrunedLedger, removeOldActions } from '../act/prune-ledger.ts';
import type { Config } from '../config/config.ts';
import { DAY_MS, HOUR_MS } from '../core/clock.ts';
import type { Context, JobContext } from '../core/context.ts';
import { errorMessage, TidemarkError } from '../core/errors.ts';
import { ignoreMissing, removePaths } from '../core/fs.ts';
import { isPresent } from '../core/paths.ts';
import { type StoreContext, withLakeStore } from '../lake/open-store.ts';
import { readPublishedUntil } from '../lake/publish.ts';
import { landingBytes, listOldLandings } from '../landing/store.ts';
import { listOldReports } from '../tell/reports/archive.ts';
import { loadSubjectKinds, type SubjectKind } from '../tell/reports/subjects.ts';
import { warehouseFiles } from '../warehouse/publish.ts';
import { type OpenWarehouse, type WriteWarehouse, withPublished, withWarehouseLock } from '../warehouse/session.ts';
import { quoteIdent, quoteLiteral, type SqlFiles } from '../warehouse/sql-files.ts';
import { fillParams } from '../warehouse/sql-params.ts';
import { assertDiskSpace } from '../warehouse/storage.ts';
import { historyTable, loadTables, sameKey, type Table } from '../warehouse/tables.ts';

/** What goes of a table or of a folder. */
interface Removal {
  /** A table, or `ledger`, `landings`, `plans` and `reports`. */
  readonly what: string;
  readonly count: number;
  /** Of the files, or of the text of the rows. */
  readonly bytes: number;
}

/**
 * The time from which on the history stays. Rules look back as far as their thresholds, and the lake takes from the history what it does
 * not have yet.
 * @returns undefined where everything stays, or there is no warehouse
 * @throws TidemarkError as the lake
 */
export async function findHorizon(config: Config, context: StoreContext & Pick<Context, 'clock'>) {
  const { data, historyDays, lake, thresholds } = config;
  if (historyDays === undefined || !isPresent(warehouseFiles(data).published)) return undefined;
  const reach = Object.entries(thresholds).map(([name, value]) => (name.endsWith('Days') ? value : 0));
  const days = Math.max(historyDays, (thresholds.deadAgentHours * HOUR_MS) / DAY_MS, ...reach);
  const now = context.clock.now();
  const horizon = new Date(now.getTime() - days * DAY_MS);
  if (lake === undefined) return horizon;
  const until = await withLakeStore(context, config, (store) => readPublishedUntil({ config, store, now }));
  return until !== undefined && until > horizon ? horizon : until;
}

/** What `landingDays`, `planDays`, `reportDays` and `historyDays` would remove now. Nothing is changed. */
export async function listPrunable(config: Config, context: JobContext): Promise<readonly Removal[]> {
  const { removals: files } = await listOldFiles(config, context);
  const horizon = await findHorizon(config, context);
  if (horizon === undefined) return files;
  const { start, removals } = await withPublished(config, (published) => listOldHistory(published, horizon));
  const now = context.clock.now();
  const actions = start === null ? undefined : await listOldActions(config, new Date(start), now);
  return [...files, ...removals, ...toLedgerRemoval(actions)];
}

/** Removes it, under the lock of the warehouse. Files go first: they may be what fills the disk, and to remove history needs space. */
export async function prune(config: Config, context: JobContext): Promise<readonly Removal[]> {
  const lock = { config, purpose: 'prune', now: context.clock.now(), log: context.log, freesSpace: true };
  return withWarehouseLock(lock, async (write) => {
    const { removals, paths } = await listOldFiles(config, context);
    await removePaths(paths);
    if (config.historyDays !== undefined) await assertDiskSpace(config.data);
    return [...removals, ...(await pruneHistory(config, context, write))];
  });
}

/** What a run removes when it has ended; its reports remove earlier ones. History that cannot be judged stays. */
export async function pruneAfterRun(config: Config, context: JobContext, write: WriteWarehouse): Promise<void> {
  await removePaths(await listOldLandings(config, context.clock.now()));
  await removePaths(await listOldPlans(config, context));
  try {
    if (!context.signal.aborted) await pruneHistory(config, context, write);
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
  const entry = await stat(path).catch(ignoreMissing);
  return entry?.isDirectory() ? landingBytes(path) : (entry?.size ?? 0);
}

async function pruneHistory(config: Config, context: JobContext, write: WriteWarehouse): Promise<readonly Removal[]> {
  const horizon = await findHorizon(config, context);
  if (horizon === undefined) return [];
  const { clock, signal } = context;
  const { start, removals } = await write((warehouse) => removeOldHistory(warehouse, horizon, clock.now()), signal);
  const actions = start === null ? undefined : await removeOldActions(config, context, new Date(start), write);
  return [...removals, ...toLedgerRemoval(actions)];
}

const toLedgerRemoval = (pruned: PrunedLedger | undefined): readonly Removal[] =>
  pruned ? [{ what: 'ledger', count: pruned.count, bytes: pruned.bytes }] : [];

/**
 * What goes from the history. It only reads, and leaves the rows in temporary tables. `start`: the time from which on the history stays
 * whole; null where nothing goes.
 * @param horizon the state at this time stays, and all that is later
 */
export async function listOldHistory({ database, files }: OpenWarehouse, horizon: Date) {
  const [row] = await database.rows(files.read('retention/start'), { horizon: horizon.toISOString() });
  const start = typeof row?.start === 'string' ? row.start : null;
  const removals: Removal[] = [];
  for (const { what, sql } of start === null ? [] : renderOld(files)) {
    await database.run(sql, { start });
    const [counted] = await database.rows(files.render('retention/count', toParts(what)));
    removals.push({ what, count: Number(counted?.count), bytes: Number(counted?.bytes) });
  }
  return { start, removals: removals.filter(({ count }) => count > 0) };
}

/** Removes it, and keeps the start: an earlier time is unknown from then on. */
export async function removeOldHistory(from: OpenWarehouse, horizon: Date, now: Date) {
  const { database, files } = from;
  const { start, removals } = await listOldHistory(from, horizon);
  if (removals.length === 0) return { start, removals };
  const setStart = fillParams(files.read('retention/set_start'), { start, now: now.toISOString() });
  await database.transact([...removals.map(({ what }) => files.render('retention/remove', toParts(what))), setStart]);
  return { start, removals };
}

/** A stored table, and the temporary table with its rows that go. */
const toParts = (stored: string) => ({ stored: quoteIdent(stored), old: quoteIdent(`old_${stored}`) });

const LOGS = { pulls: 'old_pulls', finding_events: 'old_events' } as const;

/** For each stored table, the statement that finds the rows which go. */
function renderOld(files: SqlFiles) {
  const kinds = loadSubjectKinds(files);
  const tables = [...loadTables(files).values()].filter(({ source }) => source !== undefined);
  return [
    ...tables.flatMap((table) => renderOldVersions(files, table, kinds)),
    ...Object.entries(LOGS).map(([what, query]) => ({ what, sql: files.render(`retention/${query}`, toParts(what)) })),
  ];
}

function renderOldVersions(files: SqlFiles, table: Table, kinds: readonly SubjectKind[]) {
  const what = historyTable(table);
  const { stored, old } = toParts(what);
  const key = ['target', ...table.key].map(quoteIdent).join(', ');
  const opened = kinds.map((kind) => renderOpened(files, table, kind)).join('\n');
  const versions = { what, sql: files.render('retention/old_versions', { stored, old, key, opened }) };
  if (!table.members) return [versions];
  const listed = `${table.name}_members`;
  const members = {
    old: toParts(listed).old,
    members: quoteIdent(listed),
    sameKey: sameKey(table, 'member', 'version'),
  };
  const parts = { stored, oldVersions: old, ...members };
  return [versions, { what: listed, sql: files.render('retention/old_members', parts) }];
}

/** A kind whose subjects are rows of the table; a project is a group of them. */
function renderOpened(files: SqlFiles, table: Table, { table: own, versions, type }: SubjectKind): string {
  if (own.name !== table.name || !versions.includes('version.*')) return '';
  return files.render('retention/opened', {
    versions,
    subject: quoteLiteral(type),
    stored: quoteIdent(historyTable(table)),
    same: `${sameKey(table, 'subject', 'version')} and subject.valid_from = version.valid_from`,
  });
}
