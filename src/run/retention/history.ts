import { loadSubjectKinds, type SubjectKind } from '../../tell/reports/subjects.ts';
import type { OpenWarehouse } from '../../warehouse/session.ts';
import { quoteIdent, quoteLiteral, type SqlFiles } from '../../warehouse/sql-files.ts';
import { historyTable, sameKey, type Table } from '../../warehouse/tables.ts';

/** What goes of a table or of a folder. */
export interface Removal {
  /** A table, or `ledger`, `landings`, `plans` and `reports`. */
  readonly what: string;
  readonly count: number;
  /** Of the files, or of the text of the rows. */
  readonly bytes: number;
}

export interface HistoryPrune extends OpenWarehouse {
  readonly tables: ReadonlyMap<string, Table>;
  /** The state at this time stays, and all that is later. */
  readonly horizon: Date;
}

/**
 * What goes from the history. It only reads, and leaves the rows in temporary tables. `start`: the time from which on the history stays
 * whole; null where nothing goes.
 */
export async function listOldHistory(prune: HistoryPrune) {
  const { database, files, horizon } = prune;
  const [row] = await database.rows(files.read('retention/start'), { horizon: horizon.toISOString() });
  const removals: Removal[] = [];
  const start = typeof row?.start === 'string' ? row.start : null;
  if (start === null) return { start, removals };
  for (const what of await findOldRows(prune, start)) {
    const [counted] = await database.rows(files.render('retention/count', toParts(what)));
    removals.push({ what, count: Number(counted?.count), bytes: Number(counted?.bytes) });
  }
  return { start, removals: removals.filter(({ count }) => count > 0) };
}

/** Removes it, and keeps the start: an earlier time is unknown from then on. */
export async function removeOldHistory(prune: HistoryPrune, now: Date): ReturnType<typeof listOldHistory> {
  const { database, files } = prune;
  const { start, removals } = await listOldHistory(prune);
  if (removals.length === 0) return { start, removals };
  await database.transaction(async () => {
    for (const { what } of removals) await database.run(files.render('retention/remove', toParts(what)));
    await database.run(files.read('retention/set_start'), { start, now: now.toISOString() });
  });
  return { start, removals };
}

/** A stored table, and the temporary table with its rows that go. */
const toParts = (stored: string) => ({ stored: quoteIdent(stored), old: quoteIdent(`old_${stored}`) });

const LOGS = { pulls: 'old_pulls', finding_events: 'old_events' } as const;

/** @returns the stored tables of which rows may go */
async function findOldRows(prune: HistoryPrune, start: string): Promise<readonly string[]> {
  const { database, files, tables } = prune;
  const kinds = loadSubjectKinds(files);
  const found: string[] = [];
  for (const table of tables.values()) {
    if (table.source) found.push(...(await findOldVersions(prune, table, kinds, start)));
  }
  for (const [stored, query] of Object.entries(LOGS)) {
    await database.run(files.render(`retention/${query}`, toParts(stored)), { start });
    found.push(stored);
  }
  return found;
}

async function findOldVersions(
  { database, files }: HistoryPrune,
  table: Table,
  kinds: readonly SubjectKind[],
  start: string,
): Promise<readonly string[]> {
  const stored = historyTable(table);
  const versions = toParts(stored);
  const key = ['target', ...table.key].map(quoteIdent).join(', ');
  const opened = kinds.map((kind) => renderOpened(files, table, kind)).join('\n');
  await database.run(files.render('retention/old_versions', { ...versions, key, opened }), { start });
  if (!table.members) return [stored];
  const members = toParts(`${table.name}_members`);
  const parts = {
    stored: versions.stored,
    oldVersions: versions.old,
    members: members.stored,
    old: members.old,
    sameKey: sameKey(table, 'member', 'version'),
  };
  await database.run(files.render('retention/old_members', parts), { start });
  return [stored, `${table.name}_members`];
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
