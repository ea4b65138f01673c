import { quoteIdent } from '../warehouse/sql-files.ts';
import { migrateTable } from './compact.ts';
import { writeRows } from './data-files.ts';
import type { AddAction, Snapshot } from './delta-log.ts';
import {
  changesTable,
  describedSince,
  designTable,
  isPast,
  replacesRows,
  rowFields,
  type TableDesign,
} from './layout.ts';
import { BEGINNING, fillPending, findLosses, type Loss, repeatLastRun } from './pending.ts';
import { createTableView, type LakeWriter } from './reader.ts';
import type { Relation } from './relations.ts';
import type { VisiblePublishes } from './visible.ts';

/** A publish in progress. */
export interface Publishing extends LakeWriter {
  /** Its number, which no other publish has. */
  readonly publish: number;
  /** The number of the shard; 0 without one. */
  readonly writer: number;
  /** `as_of` of the last run of this writer that the lake has; `-infinity` for none. */
  readonly after: string;
  /** `as_of` of the last run of the warehouse. */
  readonly now: string;
  /** What readers see. */
  readonly visible: VisiblePublishes;
}

/** Rows of a table that a publish has written to files, not yet in the log. */
export interface StagedTable {
  readonly table: string;
  readonly snapshot: Snapshot;
  readonly design: TableDesign;
  readonly adds: readonly AddAction[];
  /** What `tidemark lake close` judges. */
  readonly losses: readonly Loss[];
}

interface StageOptions {
  /** Writes the last run once more if no run has changed: `runs` makes a publish visible. @default false */
  readonly isRepeated?: boolean;
}

/** Writes the data files of what a relation has and the lake does not. Nothing of it is in a log. */
export async function stageRelation(
  publishing: Publishing,
  relation: Relation,
  { isRepeated = false }: StageOptions = {},
): Promise<StagedTable> {
  const table = changesTable(relation.name);
  await migrateTable(publishing, table);
  const snapshot = await publishing.reader.snapshot(table);
  const design = designTable(relation, snapshot.metaData, publishing);
  // This writer has published since the table was described as it is now: what it had before is there.
  const isCurrent = !design.metaData && publishing.visible.last >= describedSince(snapshot.metaData);
  const context = isCurrent ? publishing : { ...publishing, after: BEGINNING };
  const since = isCurrent ? publishing.visible.next : publishing.visible.start;
  await holdLog(publishing, relation, design, isCurrent && !hasCancelled(snapshot));
  await fillPending({ ...context, since, start: publishing.visible.start }, relation, design.relation);
  if (isRepeated) await repeatLastRun(context, relation, design.relation);
  const losses = publishing.writer === 0 ? [] : await findLosses(publishing, relation, design.relation);
  const rows = { rows: 'lake_pending', publish: `${publishing.publish}::bigint` };
  return { table, snapshot, design, adds: await writeRows(publishing, design.relation, rows), losses };
}

/** Fills `lake_log` with the changes that the lake holds of the rows that this publish compares. */
async function holdLog(
  { reader, writer }: Publishing,
  relation: Relation,
  design: TableDesign,
  isRecentEnough: boolean,
): Promise<void> {
  const keep = (add: AddAction) => replacesRows(design.relation) && !(isRecentEnough && isPast(add));
  await createTableView(reader, 'lake_changes', changesTable(relation.name), { fields: design.fields, keep });
  const parts = {
    writer: String(writer),
    // Rows belong to a target, or else to the writer.
    owned: relation.byTarget ? 'true' : `publish % 1024 = ${writer}`,
    identity: design.relation.identity.map(quoteIdent).join(', '),
    fields: rowFields(design.relation).map(quoteIdent).join(', '),
  };
  await reader.database.run(await reader.files.render('lake/log', parts));
}

/** A row that is cancelled may be the one that has replaced those in the files of the past. */
function hasCancelled({ files }: Snapshot): boolean {
  return [...files.values()].some((add) => !isPast(add) && (add.stats ?? '').includes('"op":"void"'));
}
