import type { Database } from '../warehouse/database.ts';
import { quoteIdent, type SqlFiles } from '../warehouse/sql-files.ts';
import { hasOccurrence, type LakeRelation, rowFields } from './layout.ts';
import type { Relation } from './relations.ts';
import { lakeType } from './schema.ts';

/**
 * Fills the table `lake_pending` with what a relation of the warehouse has and the lake does not. The table `lake_held` has what the
 * lake holds.
 */

export interface PendingContext {
  readonly database: Database;
  readonly files: SqlFiles;
  /** `as_of` of the last run that the lake has; `-infinity` for none. */
  readonly after: string;
  /** `as_of` of the last run of the warehouse. */
  readonly now: string;
}

export const BEGINNING = '-infinity';

/** Changes of a history since the last publish. `hold` fills `lake_held` with the rows of the lake. */
export async function findHistoryChanges(
  context: PendingContext,
  relation: Relation,
  held: LakeRelation,
  hold: () => Promise<void>,
): Promise<void> {
  const { database, files, after, now } = context;
  const parts = pendingParts(relation, held);
  await database.run(await files.render('lake/history_changes', parts), { after });
  if (!relation.isComputed || after === BEGINNING) return;
  await hold();
  await database.run(await files.render('lake/refreshed', parts), { after, now });
}

/** All changes of a history that the lake does not hold as they are: for a table that is new or has new columns. */
export async function findDifferences(
  context: PendingContext,
  relation: Relation,
  held: LakeRelation,
  hold: () => Promise<void>,
): Promise<void> {
  const { database, files } = context;
  const parts = pendingParts(relation, held);
  await database.run(await files.render('lake/history_changes', parts), { after: BEGINNING });
  await hold();
  await database.run(await files.render('lake/differing', parts));
}

/** Rows of a log that are new, changed or gone. */
export async function findLogChanges(
  context: PendingContext,
  relation: Relation,
  held: LakeRelation,
  hold: () => Promise<void>,
): Promise<void> {
  const { database, files, after, now } = context;
  await hold();
  await database.run(await files.render('lake/log_changes', pendingParts(relation, held)), { after, now });
}

/** Rows of a log that belong to runs since the last publish. */
export async function findJournalChanges(
  { database, files, after }: PendingContext,
  relation: Relation,
  held: LakeRelation,
): Promise<void> {
  await database.run(await files.render('lake/journal_changes', pendingParts(relation, held)), { after });
}

/** Rows that are computed for the runs since the last publish. */
export async function findRollupChanges(
  { database, files, after }: PendingContext,
  relation: Relation,
  held: LakeRelation,
): Promise<void> {
  const rollup = await files.render(`lake/${relation.stored}`, {});
  const parts = { ...pendingParts(relation, held), rollup };
  await database.run(await files.render('lake/rollup_changes', parts), { after });
}

/** The full state of a relation: of a history at a time, of a log now. */
export async function findState(
  { database, files }: PendingContext,
  relation: Relation,
  held: LakeRelation,
  time: string,
): Promise<void> {
  const template = relation.kind === 'history' ? 'lake/history_state' : 'lake/log_state';
  await database.run(await files.render(template, pendingParts(relation, held)), { time });
}

/** Adds the last run once more if no run has changed: `runs` makes a publish visible. */
export async function repeatLastRun(
  { database, files, now }: PendingContext,
  relation: Relation,
  held: LakeRelation,
): Promise<void> {
  await database.run(await files.render('lake/repeat_run', pendingParts(relation, held)), { now });
}

export function pendingParts(relation: Relation, held: LakeRelation): Record<string, string> {
  const fields = rowFields(held);
  const columns = held.columns.map(({ name }) => quoteIdent(name));
  const qualify = (table: string, names: readonly string[]) =>
    names.map((name) => `${table}.${quoteIdent(name)}`).join(', ');
  const values = held.columns.map(({ name, type, field }) => `${toLake(name, type)} as ${quoteIdent(field)}`);
  return {
    stored: quoteIdent(relation.stored),
    values: values.join(', '),
    fields: fields.map(quoteIdent).join(', '),
    begun: qualify('begun', fields),
    ended: qualify('ended', fields),
    beganAll: qualify('begun', ['op', 'as_of', ...fields]),
    endedAll: qualify('ended', ['op', 'as_of', ...fields]),
    same: held.identity
      .map((field) => `begun.${quoteIdent(field)} is not distinct from ended.${quoteIdent(field)}`)
      .join(' and '),
    key: relation.key.map(quoteIdent).join(', '),
    all: hasOccurrence(relation.kind) ? columns.join(', ') : '',
    loggedAt: relation.loggedAt === undefined ? '$now::timestamptz' : quoteIdent(relation.loggedAt),
  };
}

/** The value of a column as the lake holds it. */
function toLake(name: string, type: string): string {
  const { written } = lakeType(type);
  return written.toUpperCase() === type.toUpperCase() ? quoteIdent(name) : `${quoteIdent(name)}::${written}`;
}
