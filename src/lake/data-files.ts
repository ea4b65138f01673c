import { createHash, randomUUID } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { rm, stat } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import type { Database } from '../warehouse/database.ts';
import { quoteIdent, quoteLiteral, type SqlFiles } from '../warehouse/sql-files.ts';
import type { Row, Value } from '../warehouse/values.ts';
import type { AddAction } from './delta-log.ts';
import { changesTable, type LakeRelation, PARTITION, rowFields } from './layout.ts';
import type { LakeStore } from './store.ts';

/** What is needed to write data files. */
export interface FileWriter {
  readonly store: LakeStore;
  readonly database: Database;
  readonly files: SqlFiles;
  readonly publish: number;
  readonly nowMs: number;
}

/**
 * Writes the table `lake_pending` as sorted data files, one for each month. No log names them yet.
 * @returns the actions that add them to the table
 */
export async function writePending(writer: FileWriter, relation: LakeRelation): Promise<readonly AddAction[]> {
  const { database, files } = writer;
  const adds: AddAction[] = [];
  const parts = await database.rows(await files.read('lake/pending_parts'));
  for (const { month } of parts) adds.push(await writeFile(writer, relation, String(month)));
  return adds;
}

async function writeFile(writer: FileWriter, relation: LakeRelation, month: string): Promise<AddAction> {
  const { store, database, files, publish, nowMs } = writer;
  const scratch = await store.scratch();
  try {
    const sql = await files.render('lake/write_file', {
      publish: String(publish),
      part: quoteLiteral(month),
      fields: rowFields(relation).map(quoteIdent).join(', '),
      order: relation.identity.map(quoteIdent).join(', '),
      file: quoteLiteral(scratch),
    });
    await database.run(sql);
    const { records, stats } = await computeStatistics(database, files, relation, scratch);
    const [{ size }, sha256] = [await stat(scratch), await hashFile(scratch)];
    const path = `${PARTITION}=${month}/${randomUUID()}.parquet`;
    await store.putFile(`${changesTable(relation.name)}/${path}`, scratch);
    return {
      path,
      partitionValues: { [PARTITION]: month },
      size,
      modificationTime: nowMs,
      dataChange: true,
      stats: JSON.stringify(stats),
      tags: { sha256, rows: String(records) },
    };
  } finally {
    await rm(scratch, { force: true });
  }
}

export async function hashFile(file: string): Promise<string> {
  const digest = createHash('sha256');
  await pipeline(createReadStream(file), digest);
  return digest.digest('hex');
}

/** Longer texts have no bounds: those of Delta are cut, and a cut upper bound is below the values. */
const MAX_TEXT = 64;
/** Types whose bounds readers use to skip files. */
const BOUNDED = new Set(['VARCHAR', 'BIGINT', 'DATE', 'TIMESTAMP WITH TIME ZONE']);

interface FileStatistics {
  readonly records: number;
  readonly stats: Readonly<Record<string, Value>>;
}

/** Number of rows, and bounds of the time, the publish and what identifies a row. */
async function computeStatistics(
  database: Database,
  files: SqlFiles,
  relation: LakeRelation,
  file: string,
): Promise<FileStatistics> {
  const types = new Map(relation.columns.map(({ field, type }) => [field, type]));
  const keys = relation.identity.filter((field) => BOUNDED.has(types.get(field) ?? 'BIGINT'));
  const fields = ['op', 'as_of', 'publish', ...keys];
  const aggregates = fields.flatMap((field, index) => {
    const name = quoteIdent(field);
    return [
      `min(${name}) as min_${index}`,
      `max(${name}) as max_${index}`,
      `count(*) - count(${name}) as nulls_${index}`,
    ];
  });
  const sql = await files.render('lake/statistics', { aggregates: aggregates.join(', '), file: quoteLiteral(file) });
  const [row = {}] = await database.rows(sql);
  const isTime = (field: string) => field === 'as_of' || types.get(field) === 'TIMESTAMP WITH TIME ZONE';
  const collect = (what: string) => collectBounds(fields, isTime, row, what);
  const stats = {
    numRecords: row.records ?? 0,
    minValues: collect('min'),
    maxValues: collect('max'),
    nullCount: collect('nulls'),
  };
  return { records: Number(row.records), stats };
}

function collectBounds(
  fields: readonly string[],
  isTime: (field: string) => boolean,
  row: Row,
  what: string,
): Readonly<Record<string, Value>> {
  const bounds = fields.map((field, index): [string, Value] => {
    const value = row[`${what}_${index}`] ?? null;
    return [field, isTime(field) && typeof value === 'string' ? cutToMilliseconds(value) : toBound(value)];
  });
  return Object.fromEntries(bounds.filter(([, value]) => value !== null));
}

/** Timestamps as the protocol has them; null for one that has no such form, such as infinity. */
function cutToMilliseconds(time: string): string | null {
  const [, seconds, fraction = ''] = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d+))?Z$/u.exec(time) ?? [];
  return seconds === undefined ? null : `${seconds}.${fraction.padEnd(3, '0').slice(0, 3)}Z`;
}

function toBound(value: Value): Value {
  if (typeof value === 'bigint') return null; // JSON has no integers of this size
  return typeof value === 'string' && value.length > MAX_TEXT ? null : value;
}
