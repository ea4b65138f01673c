import type { Database } from '../warehouse/database.ts';
import { quoteIdent, type SqlFiles } from '../warehouse/sql-files.ts';
import { type BaseState, findBaseState } from './base-state.ts';
import { appendToTable } from './commit.ts';
import { writePending } from './data-files.ts';
import type { AddAction, Snapshot } from './delta-log.ts';
import { changesTable, describedSince, designTable, stateTable, type TableDesign, tableName } from './layout.ts';
import {
  BEGINNING,
  findDifferences,
  findHistoryChanges,
  findJournalChanges,
  findLogChanges,
  findRollupChanges,
  findState,
  repeatLastRun,
} from './pending.ts';
import { quarterStart, quartersBetween } from './quarters.ts';
import { createTableView, type LakeReader, renderTyped } from './reader.ts';
import { type Relation, RUNS } from './relations.ts';
import type { LakeStore } from './store.ts';
import { DUCKDB, renderHeld } from './views.ts';
import type { VisiblePublishes } from './visible.ts';

/** A publish in progress. */
export interface Publishing {
  readonly store: LakeStore;
  readonly database: Database;
  readonly files: SqlFiles;
  readonly reader: LakeReader;
  /** Its number, which no other publish has. */
  readonly publish: number;
  readonly nowMs: number;
  /** `as_of` of the last run that the lake has; `-infinity` for none. */
  readonly after: string;
  /** `as_of` of the last run of the warehouse. */
  readonly now: string;
  /** What readers see of this writer. */
  readonly visible: VisiblePublishes;
}

/** Rows of a table that a publish has written to files, not yet in the log. */
export interface StagedTable {
  readonly table: string;
  readonly snapshot: Snapshot;
  readonly design: TableDesign;
  readonly adds: readonly AddAction[];
}

type Part = 'changes' | 'state';

interface StageOptions {
  /** Writes the last run once more if no run has changed: `runs` makes a publish visible. @default false */
  readonly isRepeated?: boolean;
}

/**
 * Writes the data files of what a relation has and the lake does not: its changes, and its state if a quarter has begun. Nothing of it
 * is in a log until `commitTable`.
 */
export async function stageRelation(
  publishing: Publishing,
  relation: Relation,
  { isRepeated = false }: StageOptions = {},
): Promise<readonly StagedTable[]> {
  const [changes, state] = [
    await prepare(publishing, relation, 'changes'),
    await prepare(publishing, relation, 'state'),
  ];
  await findChanges(publishing, relation, changes);
  if (isRepeated) await repeatLastRun(publishing, relation, changes.design.relation);
  const staged = { ...changes, adds: await writePending(publishing, changes.design.relation, 'changes') };
  return [staged, { ...state, adds: await stageStates(publishing, relation, changes, state) }];
}

interface PreparedTable extends Omit<StagedTable, 'adds'> {
  /** This writer has published since the table was described as it is now: what it had before is there. */
  readonly isCurrent: boolean;
}

async function prepare(publishing: Publishing, relation: Relation, part: Part): Promise<PreparedTable> {
  const table = tableName(relation.name, part);
  const snapshot = await publishing.reader.snapshot(table);
  const design = designTable(relation, part, snapshot.metaData, publishing);
  const isCurrent = !design.metaData && publishing.visible.last >= describedSince(snapshot.metaData);
  return { table, snapshot, design, isCurrent };
}

async function findChanges(publishing: Publishing, relation: Relation, changes: PreparedTable): Promise<void> {
  const held = changes.design.relation;
  const context = changes.isCurrent ? publishing : { ...publishing, after: BEGINNING };
  const isEmpty = changes.snapshot.files.size === 0;
  const hold = () => (isEmpty ? holdNothing(publishing, changes) : holdRows(publishing, relation, changes));
  if (relation.kind === 'rollup') return findRollupChanges(context, relation, held);
  if (relation.kind === 'journal') return findJournalChanges(context, relation, held);
  if (relation.kind === 'register') {
    return findLogChanges(context, relation, held, hold);
  }
  if (changes.isCurrent || isEmpty) return findHistoryChanges(context, relation, held, hold);
  return findDifferences(context, relation, held, () => holdLog(publishing, changes));
}

/** Leaves `lake_held` empty, for a table without files. */
async function holdNothing({ files, database }: Publishing, { design }: PreparedTable): Promise<void> {
  await database.run(await files.render('lake/held_none', { typed: renderTyped(design.fields) }));
}

/** Fills `lake_held` with the present rows of the lake. It reads the last state and the files since. */
async function holdRows(publishing: Publishing, relation: Relation, changes: PreparedTable): Promise<void> {
  const { reader, files, database, visible } = publishing;
  const { design, table } = changes;
  const base = changes.isCurrent ? await findBase(publishing, relation) : undefined;
  const isKept = (kept: ReadonlySet<AddAction> | undefined) => (file: AddAction) => kept?.has(file) ?? true;
  if (!base?.isFound) await visible.readAll();
  await createTableView(reader, 'lake_changes', table, { fields: design.fields, keep: isKept(base?.changes) });
  const fields = design.fields.filter(({ name }) => name !== 'op');
  await createTableView(reader, 'lake_state', stateTable(relation.name), { fields, keep: isKept(base?.states) });
  const query = await renderHeld({ files, dialect: DUCKDB, table: localTable, runs: 'lake_runs' }, design.relation);
  await database.run(await files.render('lake/held', { query }));
}

/** Fills `lake_held` with every change that readers of the lake see. */
async function holdLog({ reader, files, database, visible }: Publishing, changes: PreparedTable): Promise<void> {
  await visible.readAll();
  const { design, table } = changes;
  await createTableView(reader, 'lake_changes', table, { fields: design.fields });
  const parts = {
    changes: 'lake_changes',
    runs: 'lake_runs',
    identity: design.relation.identity.map(quoteIdent).join(', '),
    fields: design.relation.columns.map(({ field }) => quoteIdent(field)).join(', '),
  };
  await database.run(await files.render('lake/held_log', parts));
}

/** The views of a publish, by the table of the lake that a query names. */
function localTable(name: string): string {
  return name.endsWith('_state') ? 'lake_state' : 'lake_changes';
}

async function findBase({ reader, visible }: Publishing, { name }: Relation): Promise<BaseState> {
  return findBaseState(await reader.snapshot(stateTable(name)), await reader.snapshot(changesTable(name)), visible.own);
}

/** A history has a state at the start of each quarter, a log at the first publish of each quarter and when its last one is old. */
async function stageStates(
  publishing: Publishing,
  relation: Relation,
  changes: PreparedTable,
  state: PreparedTable,
): Promise<readonly AddAction[]> {
  if (relation.kind === 'journal' || relation.kind === 'rollup') return [];
  const adds: AddAction[] = [];
  const isNew = !changes.isCurrent || !state.isCurrent || publishing.after === BEGINNING;
  for (const time of await stateTimes(publishing, relation, isNew)) {
    await findState(publishing, relation, state.design.relation, time.toISOString());
    adds.push(...(await writePending(publishing, state.design.relation, 'state')));
  }
  return adds;
}

async function stateTimes(publishing: Publishing, relation: Relation, isNew: boolean): Promise<readonly Date[]> {
  const { database, files, after, now } = publishing;
  const until = new Date(now);
  if (relation.kind === 'register') {
    const isDue = isNew || quarterStart(until).getTime() > Date.parse(after);
    return isDue || (await findBase(publishing, relation)).isOld ? [until] : [];
  }
  if (!isNew) return quartersBetween(new Date(after), until);
  const [row] = await database.rows(await files.render('lake/first_version', { stored: quoteIdent(relation.stored) }));
  return typeof row?.first === 'string' ? quartersBetween(new Date(row.first), until) : [];
}

/**
 * Commits the files of a table, in one commit with its new description if it has changed. Does nothing for a table without either.
 * @throws ConflictError if the table is that of runs and another publish has committed to it
 */
export async function commitTable(
  publishing: Publishing,
  { table, snapshot, design, adds }: StagedTable,
): Promise<void> {
  const { metaData, relation } = design;
  const { publish } = publishing;
  await appendToTable(publishing, { table, snapshot, metaData, adds, publish, isExclusive: relation.name === RUNS });
}
