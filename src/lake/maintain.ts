import { plural } from '../core/plural.ts';
import { firstLine } from '../warehouse/database.ts';
import { quoteLiteral } from '../warehouse/sql-files.ts';
import { listShardFiles } from './close.ts';
import { type AddAction, logFolder } from './delta-log.ts';
import type { Lake, LakeProblem } from './log.ts';
import { createLakeReader, dataPath, findFault, type LakeReader } from './reader.ts';
import { expectedRows } from './statements.ts';
import { STAGING, type StoredFile } from './store.ts';
import { RUNS_TABLE } from './table.ts';

/** Compares each log with what publishes state of it, and every file that a log names with its size, its checksum and its number of rows. */
export async function verifyLake(lake: Lake) {
  const problems: LakeProblem[] = [];
  const reader = createLakeReader(lake, problems);
  /** `unnamed` are files that no log names: `tidemark lake vacuum` removes them. */
  const total = { files: 0, rows: 0, bytes: 0, unnamed: 0 };
  const tables = await reader.snapshots();
  for (const [table, { files }] of tables) {
    for (const add of files.values()) {
      const problem = await findProblem(reader, dataPath(table, add.path), add);
      if (problem !== undefined) problems.push({ table, file: add.path, problem });
      total.files += 1;
      total.rows += expectedRows(add) ?? 0;
      total.bytes += add.size;
    }
    total.unnamed += (await listUnnamed(reader, table)).length;
  }
  /** A publish has stated what the logs have: without that, the end of a log can be gone. */
  const isStated = (await reader.statements()).size > 0;
  return { tables: tables.size, ...total, isStated, problems };
}

async function findProblem({ store, database, files }: Lake, path: string, add: AddAction) {
  try {
    const fault = await findFault(store, path, add, true);
    const expected = expectedRows(add);
    if (fault !== undefined || expected === undefined) return fault;
    const sql = files.render('lake/row_counts', { files: quoteLiteral(await store.locate(path)) });
    const [row] = await database.rows(sql).catch((error: unknown) => [{ rows: null, problem: firstLine(error) }]);
    if (row?.rows === null) return `cannot be read: ${row.problem}`;
    const count = Number(row?.rows);
    return count === expected ? undefined : `has ${plural(count, 'row')} instead of ${expected}`;
  } finally {
    await store.release(path);
  }
}

/** The data files of a table that its log does not name, now or as replaced by an engine, and that no close of a run would name. */
async function listUnnamed(reader: LakeReader, table: string, shards = () => listShardFiles(reader)) {
  const stored = await reader.store.list(table);
  const { files, removed } = await reader.snapshot(table);
  const named = new Set([...files.keys(), ...removed.keys()].map((path) => dataPath(table, path)));
  const unnamed = stored.filter(({ path }) => !named.has(path) && !path.startsWith(`${logFolder(table)}/`));
  if (table !== RUNS_TABLE || unnamed.length === 0) return unnamed;
  const { due } = await shards();
  return unnamed.filter(({ path }) => !due.has(path));
}

/**
 * Removes files that no log names, what killed publishes have left, and what shards have published for runs that are closed long since.
 * @param olderThanMs younger files may belong to a publish in progress
 * @param isDryRun lists the files and keeps them
 */
export async function vacuumLake(lake: Lake, olderThanMs: number, isDryRun: boolean): Promise<readonly StoredFile[]> {
  const reader = createLakeReader(lake);
  const shards = await listShardFiles(reader);
  const unnamed = [...(await lake.store.list(STAGING)), ...shards.closed];
  for (const table of (await reader.snapshots()).keys())
    for (const file of await listUnnamed(reader, table, async () => shards)) unnamed.push(file);
  const old = unnamed.filter(({ modifiedMs }) => modifiedMs <= lake.nowMs - olderThanMs);
  if (!isDryRun) for (const { path } of old) await lake.store.remove(path);
  return old;
}
