import { loadSubjectKinds, type SubjectKind } from '../../tell/reports/subjects.ts';
import type { Database } from '../../warehouse/database.ts';
import { sameKey } from '../../warehouse/list-columns.ts';
import { quoteIdent, quoteLiteral, type SqlFiles } from '../../warehouse/sql-files.ts';
import { historyTable, type Table } from '../../warehouse/tables.ts';
import type { Removal } from './removal.ts';

export interface HistoryPrune {
  readonly database: Database;
  readonly files: SqlFiles;
  readonly tables: ReadonlyMap<string, Table>;
  /** The state at this time stays, and all that is later. */
  readonly horizon: Date;
}

/** What goes, and the time from which on the history stays whole; null where nothing goes. */
interface OldHistory {
  readonly start: string | null;
  readonly removals: readonly Removal[];
}

/** A stored table, and the temporary table with its rows that go. */
interface OldRows {
  readonly stored: string;
  readonly old: string;
}

/** What goes from the history. It only reads, and leaves the rows in temporary tables. */
export async function listOldHistory(prune: HistoryPrune): Promise<OldHistory> {
  const { database, files, horizon } = prune;
  const [row] = await database.rows(await files.read('retention/start'), { horizon: horizon.toISOString() });
  if (typeof row?.start !== 'string') return { start: null, removals: [] };
  const { start } = row as { readonly start: string };
  const removals: Removal[] = [];
  for (const rows of await findOldRows(prune, start)) {
    const [counted] = await database.rows(await files.render('retention/count', toParts(rows)));
    removals.push({ what: rows.stored, count: Number(counted?.count), bytes: Number(counted?.bytes) });
  }
  return { start, removals: removals.filter(({ count }) => count > 0) };
}

/** Removes it, and keeps the start: an earlier time is unknown from then on. */
export async function removeOldHistory(prune: HistoryPrune, now: Date): Promise<OldHistory> {
  const { database, files } = prune;
  const { start, removals } = await listOldHistory(prune);
  if (removals.length === 0) return { start, removals };
  await database.transaction(async () => {
    for (const { what } of removals) await database.run(await files.render('retention/remove', toParts(toRows(what))));
    await database.run(await files.read('retention/set_start'), { start, now: now.toISOString() });
  });
  return { start, removals };
}

const toRows = (stored: string): OldRows => ({ stored, old: `old_${stored}` });
const toParts = ({ stored, old }: OldRows) => ({ stored: quoteIdent(stored), old: quoteIdent(old) });

async function findOldRows(prune: HistoryPrune, start: string): Promise<readonly OldRows[]> {
  const { database, files, tables } = prune;
  const kinds = await loadSubjectKinds(files);
  const found: OldRows[] = [];
  for (const table of tables.values()) {
    if (table.source) found.push(...(await findOldVersions(prune, table, kinds, start)));
  }
  for (const [stored, query] of [
    ['pulls', 'old_pulls'],
    ['finding_events', 'old_events'],
  ] as const) {
    const rows = toRows(stored);
    await database.run(await files.render(`retention/${query}`, { old: quoteIdent(rows.old) }), { start });
    found.push(rows);
  }
  return found;
}

async function findOldVersions(
  { database, files }: HistoryPrune,
  table: Table,
  kinds: readonly SubjectKind[],
  start: string,
): Promise<readonly OldRows[]> {
  const versions = toRows(historyTable(table));
  const key = ['target', ...table.key].map(quoteIdent).join(', ');
  const opened = (await Promise.all(kinds.map((kind) => renderOpened(files, table, kind)))).join('\n');
  await database.run(await files.render('retention/old_versions', { ...toParts(versions), key, opened }), { start });
  if (!table.members) return [versions];
  const members = toRows(`${table.name}_members`);
  const parts = {
    stored: quoteIdent(versions.stored),
    oldVersions: quoteIdent(versions.old),
    members: quoteIdent(members.stored),
    old: quoteIdent(members.old),
    sameKey: sameKey(table, 'member', 'version'),
  };
  await database.run(await files.render('retention/old_members', parts), { start });
  return [versions, members];
}

/** A kind whose subjects are rows of the table; a project is a group of them. */
async function renderOpened(
  files: SqlFiles,
  table: Table,
  { table: own, versions, type }: SubjectKind,
): Promise<string> {
  if (own.name !== table.name || !versions.includes('version.*')) return '';
  return files.render('retention/opened', {
    versions,
    subject: quoteLiteral(type),
    stored: quoteIdent(historyTable(table)),
    same: `${sameKey(table, 'subject', 'version')} and subject.valid_from = version.valid_from`,
  });
}
