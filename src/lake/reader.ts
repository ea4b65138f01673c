import { findFileFault, ignoreMissing } from '../core/fs.ts';
import { quoteIdent, quoteLiteral } from '../warehouse/sql-files.ts';
import {
  type Action,
  type AddAction,
  APP_ID,
  type DeltaField,
  decodePath,
  type MetaData,
  PROTOCOL,
  parseFields,
  replay,
  type Snapshot,
} from './delta-log.ts';
import { appendCommit, checkpointIfDue, damagedError, type Lake, type LakeProblem, readLog } from './log.ts';
import { RUNS } from './relations.ts';
import { findLoss, findLostClaim, readStatements, type Stated, type Statements } from './statements.ts';
import type { LakeStore } from './store.ts';
import {
  changesTable,
  FOLDER_COLUMN,
  isMisdescribed,
  isTableName,
  parseRelation,
  RUN_FIELDS,
  RUNS_TABLE,
  toDuckdbType,
} from './table.ts';

/** Reads tables of a lake with DuckDB, by the files that their logs name, and commits to these logs. */
export type LakeReader = Readonly<ReturnType<typeof createLakeReader>>;

/**
 * @param problems receives what tables lack, and the rest is read; without it, a table that lacks something is an error
 * @param isChecked compares files with their checksums: DuckDB notices some changes only, and names neither the lake nor what to do
 */
export function createLakeReader(lake: Lake, problems?: LakeProblem[], isChecked = false) {
  const { store } = lake;
  const snapshots = new Map<string, Promise<Snapshot>>();
  let known: Promise<Statements> | undefined;
  const statements = () => (known ??= readStatements(store));
  const read = async (table: string): Promise<Snapshot> => {
    const stated = (await statements()).get(table); // before the log: what is stated in between is not in it
    const found: LakeProblem[] = [];
    const log = await readLog(lake, table, found);
    const problem = found.length > 0 ? undefined : await findTableProblem(store, table, log, stated);
    if (problem !== undefined) found.push({ table, file: '', problem });
    if (found[0] && !problems) throw damagedError(store, found[0]);
    problems?.push(...found);
    return log;
  };
  const snapshot = (table: string): Promise<Snapshot> => {
    const found = snapshots.get(table) ?? read(table);
    snapshots.set(table, found);
    return found;
  };
  return {
    ...lake,
    isChecked,
    /** What publishes state of each table. */
    statements,
    /** The log of a table, read once, and compared with what publishes state of it. @throws TidemarkError DATA if it has less */
    snapshot,
    /** Every table: the folders of the lake with a log, and those that publishes state, which may be gone. */
    async snapshots(): Promise<ReadonlyMap<string, Snapshot>> {
      await snapshot(RUNS_TABLE); // before the others, so that they have all that it makes visible
      const names = new Set([...(await store.folders()).filter(isTableName), ...(await statements()).keys()]);
      const found = await Promise.all([...names].sort().map(async (name) => [name, await snapshot(name)] as const));
      return new Map(found.filter(([, { version }]) => version >= 0));
    },
    /** Commits actions to a table as the reader knows it, and writes a checkpoint if one is due. @throws ConflictError */
    async commit(table: string, actions: readonly Action[]): Promise<void> {
      const before = await snapshot(table);
      snapshots.delete(table); // what another program has committed is read before the next attempt
      const version = await appendCommit(store, table, before.version, actions);
      if (version !== before.version + 1) return;
      const after = replay(before, version, actions);
      snapshots.set(table, Promise.resolve(after));
      await checkpointIfDue(lake, table, after);
    },
  };
}

/** What is wrong with a table whose log is whole. */
async function findTableProblem(store: LakeStore, table: string, snapshot: Snapshot, stated: Stated | undefined) {
  const loss = findLoss(snapshot, stated);
  if (loss !== undefined) return loss;
  if (isMisdescribed(table, snapshot.metaData)) return 'is not described as a table of a lake';
  return table === RUNS_TABLE ? findLostClaim(store, snapshot) : undefined;
}

/** What a publish adds to a table. */
export interface TableAddition {
  readonly table: string;
  readonly adds: readonly AddAction[];
  /** The new description; undefined if the table has it already. */
  readonly metaData: MetaData | undefined;
}

/** Commits what a publish adds to a table. @returns false if there is nothing to commit @throws ConflictError */
export async function appendToTable(
  { nowMs, snapshot, commit }: LakeReader,
  { table, adds, metaData }: TableAddition,
  publish: number,
): Promise<boolean> {
  if (adds.length === 0 && !metaData) return false;
  const { version } = await snapshot(table);
  const operation = { operation: 'WRITE', operationParameters: { mode: 'Append' }, isBlindAppend: true };
  const actions: readonly Action[] = [
    { commitInfo: { timestamp: nowMs, ...operation } },
    ...(version < 0 ? [{ protocol: PROTOCOL }] : []),
    ...(metaData ? [{ metaData }] : []),
    { txn: { appId: APP_ID, version: publish, lastUpdated: nowMs } },
    ...adds.map((add) => ({ add })),
  ];
  await commit(table, actions);
  return true;
}

/** The relations of a lake; `runs` is always one of them. */
export async function listLakeRelations(reader: LakeReader, isWanted: (relation: string) => boolean = () => true) {
  const tables = [...(await reader.snapshots())];
  const relations = tables.flatMap(([table, { metaData }]) => parseRelation(table, metaData) ?? []);
  return relations.filter(({ name }) => name === RUNS || isWanted(name));
}

interface TableViewOptions {
  /** @default those of the table */
  readonly fields?: readonly DeltaField[];
  /** @default every file */
  readonly keep?: (file: AddAction) => boolean;
}

/** Creates a temporary view of a table of the lake. @throws TidemarkError DATA if a data file is not what was written */
export async function createTableView(
  { store, database, files, snapshot, isChecked }: LakeReader,
  view: string,
  table: string,
  { fields, keep = () => true }: TableViewOptions = {},
): Promise<void> {
  const { metaData, files: named } = await snapshot(table);
  const stored = (fields ?? parseFields(metaData)).filter(({ name }) => name !== FOLDER_COLUMN);
  const locate = async (add: AddAction): Promise<string> => {
    const path = dataPath(table, add.path);
    const fault = await findFault(store, path, add, isChecked);
    if (fault !== undefined) throw damagedError(store, { table, file: path.slice(table.length + 1), problem: fault });
    return store.locate(path);
  };
  const paths = await Promise.all([...named.values()].filter(keep).map(locate));
  const query = files.render(paths.length === 0 ? 'lake/source_empty' : 'lake/source', {
    typed: stored.map(({ name, type }) => `null::${toDuckdbType(type)} as ${quoteIdent(name)}`).join(', '),
    fields: stored.map(({ name }) => quoteIdent(name)).join(', '),
    files: paths.map(quoteLiteral).join(', '),
  });
  await database.run(files.render('lake/view', { temp: 'temp', name: quoteIdent(view), query }));
}

/** Creates temporary views of the changes of every relation, under the names of the tables. */
export async function createTableViews(reader: LakeReader, isWanted?: (relation: string) => boolean) {
  const relations = await listLakeRelations(reader, isWanted);
  for (const { name } of relations) await createTableView(reader, changesTable(name), changesTable(name));
  return relations;
}

/** Creates the view `lake_runs_changes` of the publishes that readers see. */
export function viewRuns(reader: LakeReader): Promise<void> {
  return createTableView(reader, 'lake_runs_changes', RUNS_TABLE, { fields: RUN_FIELDS });
}

/**
 * What is wrong with a data file; undefined for one that is as the log says.
 * @param isChecked compares the content with its checksum, not only the size
 */
export async function findFault(store: LakeStore, path: string, { size, tags }: AddAction, isChecked: boolean) {
  const file = await store.locate(path).catch(ignoreMissing); // of a bucket, it is copied here
  return file === undefined ? 'is missing' : findFileFault(file, size, isChecked ? tags?.sha256 : undefined);
}

/** The path of a data file within the lake; the log has it as a URI within the table. */
export const dataPath = (table: string, path: string): string => `${table}/${decodePath(path)}`;
