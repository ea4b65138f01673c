import { plural } from '../core/plural.ts';
import type { Database } from '../warehouse/database.ts';
import { firstLine } from '../warehouse/database.ts';
import { quoteLiteral, type SqlFiles } from '../warehouse/sql-files.ts';
import { type AddAction, logFolder } from './delta-log.ts';
import { createLakeReader, dataPath, findFault, type LakeReader } from './reader.ts';
import { expectedRows } from './statements.ts';
import type { LakeStore, StoredFile } from './store.ts';

export interface LakeProblem {
  readonly table: string;
  /** Empty for a problem of the whole table. */
  readonly file: string;
  readonly problem: string;
}

export interface VerifyResult {
  readonly tables: number;
  readonly files: number;
  readonly rows: number;
  readonly bytes: number;
  /** Files that no log names: `tidemark lake vacuum` removes them. */
  readonly unnamed: number;
  /** A publish has stated what the logs have: without that, the end of a log can be gone. */
  readonly isStated: boolean;
  readonly problems: readonly LakeProblem[];
}

/** Compares each log with what publishes state of it, and every file that a log names with its size, its checksum and its number of rows. */
export async function verifyLake(store: LakeStore, database: Database, files: SqlFiles): Promise<VerifyResult> {
  const problems: LakeProblem[] = [];
  const reader = createLakeReader(store, database, files, (table, file, problem) =>
    problems.push({ table, file, problem }),
  );
  const total = { files: 0, rows: 0, bytes: 0, unnamed: 0 };
  const tables = await reader.snapshots();
  for (const [table, { files: named }] of tables) {
    for (const add of named.values()) {
      const problem = await findProblem(reader, table, add);
      if (problem !== undefined) problems.push({ table, file: add.path, problem });
      total.files += 1;
      total.rows += expectedRows(add) ?? 0;
      total.bytes += add.size;
    }
    total.unnamed += (await listUnnamed(reader, table)).length;
  }
  const isStated = (await reader.statements()).stated.size > 0;
  return { tables: tables.size, ...total, isStated, problems };
}

/** The data files of a table that its log does not name, now or as replaced by an engine. */
export async function listUnnamed(reader: LakeReader, table: string): Promise<readonly StoredFile[]> {
  const stored = await reader.store.list(table); // before the log is read: what is committed in between is named
  const { files, removed } = await reader.snapshot(table);
  const named = new Set([...files.keys(), ...removed.keys()].map((path) => dataPath(table, path)));
  return stored.filter(({ path }) => !named.has(path) && !path.startsWith(`${logFolder(table)}/`));
}

async function findProblem(reader: LakeReader, table: string, add: AddAction): Promise<string | undefined> {
  const path = dataPath(table, add.path);
  try {
    const fault = await findFault(reader.store, path, add, true);
    return fault ?? (await compareRows(reader, await reader.store.locate(path), expectedRows(add)));
  } finally {
    await reader.store.release(path);
  }
}

async function compareRows(
  { database, files }: LakeReader,
  file: string,
  expected: number | undefined,
): Promise<string | undefined> {
  if (expected === undefined) return undefined;
  const sql = await files.render('lake/row_counts', { files: quoteLiteral(file) });
  try {
    const [row] = await database.rows(sql);
    const count = Number(row?.rows);
    return count === expected ? undefined : `has ${plural(count, 'row')} instead of ${expected}`;
  } catch (error) {
    return `cannot be read: ${firstLine(error)}`;
  }
}
