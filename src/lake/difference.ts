import { z } from 'zod';
import { comparedColumns } from '../load/stage.ts';
import { readHistoryStart } from '../warehouse/moment.ts';
import { quoteIdent, quoteLiteral } from '../warehouse/sql-files.ts';
import { hashedColumn } from '../warehouse/tables.ts';
import type { AddAction } from './delta-log.ts';
import { createTableView, type LakeReader, viewRuns } from './reader.ts';
import type { Relation } from './relations.ts';
import {
  changesTable,
  describedSince,
  hasOccurrence,
  isPast,
  lakeType,
  PULL_FIELDS,
  relationParts,
  replacesRows,
  rowFields,
  type TableDesign,
} from './table.ts';

/** The publishes that readers see, which are in the table `lake_runs`, as a writer sees them; times are ISO 8601. */
const visiblePublishes = z.object({
  /** Of the last run of the writer that the lake has, and before which it has all; `-infinity` for none. */
  after: z.string(),
  /** The lake lacks a run before the last one that it has. */
  is_late: z.boolean(),
  /** The lake has a run of the writer that the warehouse does not have. */
  is_ahead: z.boolean(),
  /** Other writers have published. */
  is_shared: z.boolean(),
  /** Of the last run of the warehouse; null for none. */
  latest: z.string().nullable(),
  /** Of the first run of the warehouse that the lake does not have; null for none. */
  next: z.string().nullable(),
  /** The last publish of the writer; 0 for none. */
  last: z.number(),
  /** The last publish of any writer; 0 for none. */
  last_of_all: z.number(),
});

export type VisiblePublishes = Readonly<Awaited<ReturnType<typeof readVisible>>>;

export const BEGINNING = '-infinity';

/**
 * Reads which publishes readers see, and until when others have pulled each target.
 * @param writer the number of the shard; 0 without one
 */
export async function readVisible(reader: LakeReader, writer: number) {
  const { database, files } = reader;
  await viewRuns(reader);
  await database.run(files.read('lake/visible'), { writer });
  const wholeSince = (await readHistoryStart(database.rows, files)) ?? BEGINNING;
  const [row] = await database.rows(files.read('lake/range'), { whole_since: wholeSince });
  const visible = visiblePublishes.parse(row);
  const keep = () => visible.is_shared;
  await createTableView(reader, 'lake_pulls', changesTable('pulls'), { fields: PULL_FIELDS, keep });
  await database.run(files.read('lake/foreign'));
  // Before that time, what the warehouse lacks is no change.
  const next = visible.next && Date.parse(visible.next) < Date.parse(wholeSince) ? wholeSince : visible.next;
  // `wholeSince`: since when the history of the warehouse is whole; `start`: the same, and `-infinity` where the lake is new.
  return { ...visible, next, writer, wholeSince, start: visible.last_of_all > 0 ? wholeSince : BEGINNING };
}

/** Rows of a target that are gone since another writer had it. */
export const targetLoss = z.object({
  target: z.string(),
  relation: z.string(),
  volatile: z.boolean(),
  deleted: z.number(),
  /** Rows that the lake has now. */
  held: z.number(),
});
export type Loss = Readonly<z.infer<typeof targetLoss>>;

/** The statements that fill `lake_pending`, in their order. */
const FILLS: Readonly<Record<Relation['kind'], readonly string[]>> = {
  history: ['reach', 'history_changes'],
  register: ['log_changes'],
  journal: ['journal_changes'],
  rollup: ['rollup_nights'],
};

/**
 * Fills the table `lake_pending` with what a relation of the warehouse has and the lake does not.
 * @param isRepeated writes the last run once more if no run has changed: `runs` makes a publish visible
 * @returns the pending ends of rows that this warehouse never had: no pull has judged them
 */
export async function fillPending(
  reader: LakeReader,
  visible: VisiblePublishes,
  relation: Relation,
  design: TableDesign,
  isRepeated: boolean,
): Promise<readonly Loss[]> {
  const { database, files } = reader;
  const table = changesTable(relation.name);
  const snapshot = await reader.snapshot(table);
  // This writer has published since the table was described as it is now: what it had before is there.
  const isCurrent = !design.metaData && visible.last >= describedSince(snapshot.metaData);
  const { start, next } = visible;
  const period = isCurrent ? { after: visible.after, since: next } : { after: BEGINNING, since: start };
  const parts = {
    ...columnParts(relation, design),
    ...targetParts(visible, relation, period),
    writer: String(visible.writer),
  };
  // A row that is cancelled may be the one that has replaced those in the files of the past.
  const isCancelling = (add: AddAction) => !isPast(add) && (add.stats ?? '').includes('"op":"void"');
  const isRecentEnough = isCurrent && !visible.is_late && ![...snapshot.files.values()].some(isCancelling);
  await createTableView(reader, 'lake_changes', table, {
    fields: design.fields,
    // Only rows that replace each other are compared.
    keep: (add) => replacesRows(design.relation) && !(isRecentEnough && isPast(add)),
  });
  const reach = relation.kind === 'register' && relation.byTarget ? ['reach'] : [];
  const repeated = isRepeated ? ['repeat_run'] : [];
  for (const name of ['log', ...reach, ...FILLS[relation.kind], ...repeated])
    await database.run(files.render(`lake/${name}`, parts));
  if (visible.writer === 0 || relation.kind !== 'history') return [];
  const rows = await database.rows(files.render('lake/losses', parts));
  const { name, volatile } = relation;
  return z.array(targetLoss).parse(rows.map((row) => ({ ...row, relation: name, volatile })));
}

type Parts = Readonly<Record<string, string>>;

/** SQL: which rows are compared, and from which time on. */
function targetParts(
  { latest, start, wholeSince }: VisiblePublishes,
  { kind, source = '', byTarget, loggedAt }: Relation,
  period: { readonly after: string; readonly since: string | null },
): Parts {
  const toTime = (time: string | null) => (time === null ? 'null' : `${quoteLiteral(time)}::timestamptz`);
  const [after, now] = [toTime(period.after), toTime(latest)];
  const written = loggedAt === undefined ? now : quoteIdent(loggedAt);
  const isWhole = loggedAt === undefined || start === BEGINNING ? 'true' : `${written} >= ${toTime(start)}`;
  // Of a target that another writer had, whenever that was, a log says nothing before this one has pulled it.
  const reach = kind === 'register' ? { source: 'true', since: now, pulledAfter: toTime(BEGINNING) } : undefined;
  return {
    after,
    now,
    wholeSince: toTime(wholeSince),
    loggedAt: written,
    ends: String(loggedAt === undefined),
    // Rows belong to a target, or else to the writer.
    owned: byTarget ? 'true' : 'lake_is_own',
    reached: byTarget ? 'target in (select lake_target from lake_reach)' : isWhole,
    ...(reach ?? { source: `source = ${quoteLiteral(source)}`, since: toTime(period.since), pulledAfter: after }),
  };
}

function columnParts(relation: Relation, { relation: held }: TableDesign): Parts {
  const types = new Map(held.columns.map(({ field, type }) => [field, type]));
  const toField = (name: string) => held.columns.find((column) => column.name === name)?.field ?? name;
  const list = (names: readonly string[]) => names.map(quoteIdent).join(', ');
  const compare = (field: string, how: string) =>
    `begun.${quoteIdent(field)} is ${how} from ended.${quoteIdent(field)}`;
  return {
    ...relationParts(held),
    stored: quoteIdent(relation.stored),
    values: held.columns.map(({ name, type, field }) => `${toLake(name, type)} as ${quoteIdent(field)}`).join(', '),
    whole: rowFields(held)
      .map((name) => hashedColumn({ name, type: types.get(name) ?? '' }))
      .join(', '),
    content: comparedColumns({
      columns: held.columns.map(({ field, type }) => ({ name: field, type })),
      unordered: relation.unordered.map(toField),
      computed: relation.computed.map(toField),
    }).join(', '),
    same: held.identity.map((field) => compare(field, 'not distinct')).join(' and '),
    differs: held.columns.map(({ field }) => compare(field, 'distinct')).join(' or '),
    key: list(relation.key),
    all: hasOccurrence(relation) ? list(held.columns.map(({ name }) => name)) : '',
  };
}

/** The value of a column as the lake holds it. */
function toLake(name: string, type: string): string {
  const { written } = lakeType(type);
  return written === undefined ? quoteIdent(name) : `${quoteIdent(name)}::${written}`;
}
