import { stat } from 'node:fs/promises';
import { hashFile } from '../core/fs.ts';
import type { Database } from '../warehouse/database.ts';
import { quoteIdent, quoteLiteral, type SqlFiles } from '../warehouse/sql-files.ts';
import { type AddAction, type DeltaField, describePlace, parseFields, type Snapshot } from './delta-log.ts';
import { changesTable, describedRelation, FOLDER_COLUMN, type LakeRelation } from './layout.ts';
import { damagedError, readSnapshot } from './read-log.ts';
import { RUNS } from './relations.ts';
import { findLoss, findLostClaim, readStatements, type Statements } from './statements.ts';
import type { LakeStore } from './store.ts';

/** Reads tables of a lake with DuckDB, by the files that their logs name. */
export interface LakeReader {
  readonly store: LakeStore;
  readonly database: Database;
  readonly files: SqlFiles;
  /** The log of a table, read once, and compared with what publishes state of it. @throws TidemarkError DATA if it has less */
  snapshot(table: string): Promise<Snapshot>;
  /** Every table: the folders of the lake with a log, and those that publishes state, which may be gone. */
  snapshots(): Promise<ReadonlyMap<string, Snapshot>>;
  /** What publishes state of each table. */
  statements(): Promise<Statements>;
  /** Replaces what is known of a table; without a snapshot, its log is read again when it is asked for next. */
  remember(table: string, snapshot?: Snapshot): void;
}

/** What writes to a lake. */
export interface LakeWriter {
  readonly reader: LakeReader;
  readonly nowMs: number;
}

/** Receives what a table lacks. Unless it throws, the rest is read. */
type ReportLoss = (table: string, file: string, problem: string) => void;

/** @param report without it, a table that lacks something is an error */
export function createLakeReader(
  store: LakeStore,
  database: Database,
  files: SqlFiles,
  report: ReportLoss = (table, file, problem) => {
    throw damagedError(store, describePlace(table, file), problem);
  },
): LakeReader {
  const snapshots = new Map<string, Promise<Snapshot>>();
  let known: Promise<Statements> | undefined;
  const statements = () => {
    known ??= readStatements(store);
    return known;
  };
  const read = async (table: string): Promise<Snapshot> => {
    const { stated, claims } = await statements();
    let isDamaged = false;
    const reportDamage = (file: string, problem: string) => {
      isDamaged = true;
      report(table, file, problem);
    };
    const snapshot = await readSnapshot({ store, database, files, table, report: reportDamage });
    const loss =
      findLoss(snapshot, stated.get(table)) ?? (table === changesTable(RUNS) && findLostClaim(snapshot, claims));
    if (loss && !isDamaged) report(table, '', loss);
    return snapshot;
  };
  const snapshot = (table: string): Promise<Snapshot> => {
    const found = snapshots.get(table) ?? read(table);
    snapshots.set(table, found);
    return found;
  };
  return {
    store,
    database,
    files,
    statements,
    snapshot,
    async snapshots() {
      const names = new Set([...(await store.folders()), ...(await statements()).stated.keys()]);
      const found = await Promise.all([...names].sort().map(async (name) => [name, await snapshot(name)] as const));
      return new Map(found.filter(([, { version }]) => version >= 0));
    },
    remember(table, snapshot) {
      if (snapshot) snapshots.set(table, Promise.resolve(snapshot));
      else snapshots.delete(table);
    },
  };
}

/**
 * The relations of a lake, `runs` first: its log is read before those of the others, so that they contain all that it makes visible.
 */
export async function listLakeRelations(
  reader: LakeReader,
  isWanted: (relation: string) => boolean = () => true,
): Promise<readonly LakeRelation[]> {
  const suffix = changesTable('');
  const names = [...(await reader.snapshots()).keys()]
    .filter((name) => name.endsWith(suffix))
    .map((name) => name.slice(0, -suffix.length))
    .filter((name) => name === RUNS || isWanted(name));
  const ordered = [...names.filter((name) => name === RUNS), ...names.filter((name) => name !== RUNS).sort()];
  const relations: LakeRelation[] = [];
  for (const name of ordered) {
    const relation = describedRelation((await reader.snapshot(changesTable(name))).metaData);
    if (relation) relations.push(relation);
  }
  return relations;
}

interface TableViewOptions {
  /** @default those of the table */
  readonly fields?: readonly DeltaField[];
  /** @default every file */
  readonly keep?: (file: AddAction) => boolean;
  /** Compares the files with their checksums: DuckDB notices some changes only, and names neither the lake nor what to do. @default false */
  readonly isChecked?: boolean;
}

/** Creates a temporary view of a table of the lake. */
export async function createTableView(
  reader: LakeReader,
  view: string,
  table: string,
  { fields, keep = () => true, isChecked = false }: TableViewOptions = {},
): Promise<void> {
  const { metaData, files } = await reader.snapshot(table);
  const stored = (fields ?? (metaData ? parseFields(metaData) : [])).filter(({ name }) => name !== FOLDER_COLUMN);
  const kept = [...files.values()].filter(keep);
  const paths = await Promise.all(kept.map((add) => locateFile(reader.store, table, add)));
  if (isChecked) for (const add of kept) await assertSound(reader.store, table, add, true);
  const query = await renderSource(reader.files, stored, paths);
  await reader.database.run(await reader.files.render('lake/view', { temp: 'temp', name: quoteIdent(view), query }));
}

async function locateFile(store: LakeStore, table: string, add: AddAction): Promise<string> {
  await assertSound(store, table, add, false);
  return store.locate(dataPath(table, add.path));
}

/** DuckDB's own errors name neither the lake nor what to do. @throws TidemarkError DATA if a data file is not what was written */
async function assertSound(store: LakeStore, table: string, add: AddAction, isChecked: boolean): Promise<void> {
  const path = dataPath(table, add.path);
  const fault = await findFault(store, path, add, isChecked);
  if (fault !== undefined) throw damagedError(store, path, fault);
}

/**
 * What is wrong with a data file; undefined for one that is as the log says.
 * @param isChecked compares the content with its checksum, not only the size
 */
export async function findFault(
  store: LakeStore,
  path: string,
  { size, tags }: AddAction,
  isChecked: boolean,
): Promise<string | undefined> {
  try {
    const file = await store.locate(path);
    const { size: bytes } = await stat(file);
    if (bytes !== size) return `has ${bytes} bytes instead of ${size}`;
    const isSame = !isChecked || tags?.sha256 === undefined || (await hashFile(file)) === tags.sha256;
    return isSame ? undefined : 'has another checksum';
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return 'is missing';
    throw error;
  }
}

async function renderSource(files: SqlFiles, fields: readonly DeltaField[], paths: readonly string[]): Promise<string> {
  const typed = renderTyped(fields);
  if (paths.length === 0) return files.render('lake/source_empty', { typed });
  return files.render('lake/source', {
    typed,
    fields: fields.map(({ name }) => quoteIdent(name)).join(', '),
    files: paths.map(quoteLiteral).join(', '),
  });
}

/** The fields as columns without values. */
function renderTyped(fields: readonly DeltaField[]): string {
  return fields.map(({ name, type }) => `null::${toDuckdbType(type)} as ${quoteIdent(name)}`).join(', ');
}

/** The path of a data file within the lake; the log has it as a URI within the table. */
export function dataPath(table: string, path: string): string {
  return `${table}/${decodeURIComponent(path)}`;
}

const DUCKDB_TYPES: Readonly<Record<string, string>> = {
  string: 'varchar',
  byte: 'tinyint',
  short: 'smallint',
  long: 'bigint',
  binary: 'blob',
  timestamp: 'timestamptz',
};

function toDuckdbType(type: DeltaField['type']): string {
  if (typeof type === 'string') return DUCKDB_TYPES[type] ?? type;
  return `${toDuckdbType(type.elementType)}[]`;
}

/** Creates temporary views of the changes of every relation, under the names of the tables. */
export async function createTableViews(
  reader: LakeReader,
  isWanted?: (relation: string) => boolean,
  options: Pick<TableViewOptions, 'isChecked'> = {},
): Promise<readonly LakeRelation[]> {
  const relations = await listLakeRelations(reader, isWanted);
  for (const { name } of relations) await createTableView(reader, changesTable(name), changesTable(name), options);
  return relations;
}
