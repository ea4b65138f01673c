import { randomUUID } from 'node:crypto';
import { stat } from 'node:fs/promises';
import { hashFile } from '../core/fs.ts';
import { quoteLiteral } from '../warehouse/sql-files.ts';
import type { Action, AddAction, MetaData, Snapshot } from './delta-log.ts';
import { ConflictError } from './log.ts';
import { createTableView, type LakeReader, viewRuns } from './reader.ts';
import {
  changesTable,
  isPast,
  type LakeRelation,
  PAST_TAG,
  parseRelation,
  relationParts,
  replacesRows,
  withoutFolders,
} from './table.ts';

/**
 * Writes rows as a sorted data file. No log names it yet.
 * @param rows the table that has them
 * @param publish SQL: the publish of a row
 * @param isPast whether it is those that later rows have replaced, or the others. @default all
 * @returns the action that adds it to the table; none without rows
 */
export async function writeRows(
  { store, database, files, nowMs }: LakeReader,
  relation: LakeRelation,
  rows: string,
  publish: string,
  isPast?: boolean,
): Promise<readonly AddAction[]> {
  const which = isPast === undefined ? 'true' : `lake_is_past = ${isPast}`;
  const [found] = await database.rows(files.render('lake/has_rows', { rows, which }));
  if (found?.has_rows !== true) return [];
  const path = `${randomUUID()}.parquet`;
  return store.putFile(`${changesTable(relation.name)}/${path}`, async (local) => {
    const file = quoteLiteral(local);
    const parts = { ...relationParts(relation), rows, publish, which, file };
    await database.run(files.render('lake/write_file', parts));
    const [row] = await database.rows(files.render('lake/statistics', { file }));
    const [{ size }, sha256] = [await stat(local), await hashFile(local)];
    const tags = { sha256, ...(isPast && PAST_TAG) };
    const content = { size, modificationTime: nowMs, dataChange: true, stats: String(row?.stats), tags };
    return [{ path, partitionValues: {}, ...content }];
  });
}

/**
 * A publish adds a file for each table, and a reader opens all of them. So files that are small are put together, in a commit that changes
 * no data, and what later rows have replaced is kept apart: a publish reads the rest only.
 */

/** More files than these, of each kind, are put together. */
const MAX_FILES = 4;
/** A larger file stays as it is. */
const MAX_BYTES = 32 * 1024 ** 2;
/** A file is written again when those that are smaller have a fourth of its size together: each row is written a few times in all. */
const MAX_RATIO = 4;

/** Puts the small files of every table together. Does nothing where another process does it at the same time. */
export async function compactLake(reader: LakeReader): Promise<void> {
  for (const [table, snapshot] of await reader.snapshots()) {
    if (hasFolders(snapshot)) continue;
    const files = [...snapshot.files.values()];
    const chosen = [files.filter((add) => !isPast(add)), files.filter(isPast)].flatMap(chooseFiles);
    if (chosen.length === 0) continue;
    await rewrite(reader, table, chosen).catch((error: unknown) => {
      if (!(error instanceof ConflictError)) throw error;
    });
  }
}

const hasFolders = ({ metaData }: Snapshot): boolean => metaData?.partitionColumns.length !== 0;

/** The files of a group to put together: the smallest ones, up to one that is much larger than they are. */
export function chooseFiles(files: readonly AddAction[]): readonly AddAction[] {
  const small = files.filter(({ size }) => size < MAX_BYTES).sort((a, b) => a.size - b.size);
  if (small.length <= MAX_FILES) return [];
  const chosen: AddAction[] = [];
  let sum = 0;
  for (const add of small) {
    if (chosen.length > 1 && add.size > MAX_RATIO * sum) break;
    chosen.push(add);
    sum += add.size;
  }
  return chosen;
}

/** Writes a table of an earlier version without its folders for months. @throws ConflictError if another process has committed to it */
export async function migrateTable(reader: LakeReader, table: string): Promise<void> {
  const snapshot = await reader.snapshot(table);
  const { metaData, files } = snapshot;
  if (metaData && hasFolders(snapshot)) await rewrite(reader, table, [...files.values()], withoutFolders(metaData));
}

/** Does nothing with a table of another program. @param metaData the new description of the table, if it gets one */
async function rewrite(reader: LakeReader, table: string, files: readonly AddAction[], metaData?: MetaData) {
  const { database, nowMs } = reader;
  const relation = parseRelation(table, (await reader.snapshot(table)).metaData);
  if (!relation) return;
  await viewRuns(reader);
  const chosen = new Set(files);
  await createTableView(reader, 'lake_changes', table, { keep: (add) => chosen.has(add) });
  const parts = { ...relationParts(relation), replaces: String(replacesRows(relation)) };
  await database.run(reader.files.render('lake/compacted', parts));
  const recent = await writeRows(reader, relation, 'lake_compacted', 'publish', false);
  const past = await writeRows(reader, relation, 'lake_compacted', 'publish', true);
  const actions: readonly Action[] = [
    { commitInfo: { timestamp: nowMs, operation: 'OPTIMIZE', operationParameters: {}, isBlindAppend: false } },
    ...(metaData ? [{ metaData }] : []),
    ...files.map(({ path }) => ({ remove: { path, deletionTimestamp: nowMs, dataChange: false } })),
    ...[...recent, ...past].map((add) => ({ add: { ...add, dataChange: false } })),
  ];
  await reader.commit(table, actions);
}
