import { comparedColumns } from '../load/stage-parts.ts';
import { quoteIdent, quoteLiteral } from '../warehouse/sql-files.ts';
import { hashedColumn } from '../warehouse/tables.ts';
import { hasOccurrence, type LakeRelation, rowFields } from './layout.ts';
import type { LakeReader } from './reader.ts';
import type { Relation } from './relations.ts';
import { lakeType } from './schema.ts';

/**
 * Fills the table `lake_pending` with what a relation of the warehouse has and the lake does not. The table `lake_log` has what the
 * lake holds of the rows that are compared.
 */

export interface PendingContext {
  readonly reader: Pick<LakeReader, 'database' | 'files'>;
  /** `as_of` of the last run that the lake has; `-infinity` for none. */
  readonly after: string;
  /** `as_of` of the first run that it does not have; null for none. */
  readonly since: string | null;
  /** `as_of` of the last run of the warehouse. */
  readonly now: string;
  /** Since when the history of the warehouse is whole: what the lake has from before is not compared. */
  readonly start: string;
}

export const BEGINNING = '-infinity';

type Fill = (context: PendingContext, relation: Relation, parts: Readonly<Record<string, string>>) => Promise<void>;

export function fillPending(context: PendingContext, relation: Relation, held: LakeRelation): Promise<void> {
  return FILL[relation.kind](context, relation, pendingParts(relation, held));
}

const FILL: Readonly<Record<Relation['kind'], Fill>> = {
  async history(context, relation, parts) {
    await findReach(context, parts, {
      source: `source = ${quoteLiteral(relation.source ?? '')}`,
      since: context.since,
    });
    await run(context, 'lake/history_changes', parts);
  },
  async register(context, { byTarget, loggedAt }, parts) {
    const { after, now, start } = context;
    // Of a target that another writer had, whenever that was, the log says nothing before this one has pulled it.
    if (byTarget) await findReach({ ...context, after: BEGINNING }, parts, { source: 'true', since: now });
    const since = `${quoteIdent(loggedAt ?? '')} >= ${quoteLiteral(start)}::timestamptz`;
    const own = loggedAt === undefined || start === BEGINNING ? 'true' : since;
    const reached = byTarget ? 'target in (select lake_target from lake_reach)' : own;
    await run(context, 'lake/log_changes', { ...parts, reached }, { after, now });
  },
  async journal(context, _, parts) {
    await run(context, 'lake/journal_changes', parts, { after: context.after });
  },
  async rollup(context, { stored }, parts) {
    const rollup = await context.reader.files.render(`lake/${stored}`, {});
    await run(context, 'lake/rollup_changes', { ...parts, rollup }, { after: context.after });
  },
};

interface Reach {
  /** SQL: the pulls that fill the relation. */
  readonly source: string;
  readonly since: string | null;
}

/** Fills `lake_reach` with the targets that are compared. */
async function findReach(
  context: PendingContext,
  { stored = '' }: Readonly<Record<string, string>>,
  { source, since }: Reach,
): Promise<void> {
  await run(context, 'lake/reach', { stored, source }, { after: context.after, since });
}

async function run(
  { reader: { database, files } }: Pick<PendingContext, 'reader'>,
  name: string,
  parts: Readonly<Record<string, string>>,
  params: Readonly<Record<string, string | null>> = {},
): Promise<void> {
  await database.run(await files.render(name, parts), params);
}

/** Rows of a target that are gone since another writer had it. */
export interface Loss {
  readonly target: string;
  readonly relation: string;
  readonly volatile: boolean;
  readonly deleted: number;
  /** Rows that the lake has now. */
  readonly held: number;
}

/** Pending ends of rows that this warehouse never had: no pull has judged them. */
export async function findLosses(
  { reader: { database, files } }: Pick<PendingContext, 'reader'>,
  relation: Relation,
  held: LakeRelation,
): Promise<readonly Loss[]> {
  if (relation.kind !== 'history') return [];
  const rows = await database.rows(await files.render('lake/losses', pendingParts(relation, held)));
  const { name, volatile } = relation;
  return rows.map(({ target, deleted, held: before }) => ({
    target: String(target),
    relation: name,
    volatile,
    deleted: Number(deleted),
    held: Number(before),
  }));
}

/** Adds the last run once more if no run has changed: `runs` makes a publish visible. */
export async function repeatLastRun(
  context: Pick<PendingContext, 'reader' | 'now'>,
  relation: Relation,
  held: LakeRelation,
): Promise<void> {
  await run(context, 'lake/repeat_run', pendingParts(relation, held), { now: context.now });
}

function pendingParts(relation: Relation, held: LakeRelation): Record<string, string> {
  const fields = rowFields(held);
  const types = new Map(held.columns.map(({ field, type }) => [field, type]));
  const columns = held.columns.map(({ name }) => quoteIdent(name));
  const qualify = (table: string, names: readonly string[]) =>
    names.map((name) => `${table}.${quoteIdent(name)}`).join(', ');
  const values = held.columns.map(({ name, type, field }) => `${toLake(name, type)} as ${quoteIdent(field)}`);
  return {
    stored: quoteIdent(relation.stored),
    values: values.join(', '),
    fields: fields.map(quoteIdent).join(', '),
    whole: fields.map((name) => hashedColumn({ name, type: types.get(name) ?? '' })).join(', '),
    identity: held.identity.map(quoteIdent).join(', '),
    content: comparedColumns({
      columns: held.columns.map(({ field, type }) => ({ name: field, type })),
      computed: relation.computed.map((name) => held.columns.find((column) => column.name === name)?.field ?? name),
    }).join(', '),
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
