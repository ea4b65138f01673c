import { createHash, randomUUID } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { rm, stat } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import type { Database } from '../warehouse/database.ts';
import { quoteIdent, quoteLiteral, type SqlFiles } from '../warehouse/sql-files.ts';
import type { Row, Value } from '../warehouse/values.ts';
import type { AddAction } from './delta-log.ts';
import { changesTable, type LakeRelation, PAST_TAG, rowFields } from './layout.ts';
import type { LakeStore } from './store.ts';

/** What is needed to write data files. */
export interface FileWriter {
  readonly store: LakeStore;
  readonly database: Database;
  readonly files: SqlFiles;
  readonly nowMs: number;
}

interface Rows {
  /** The table that has them. */
  readonly rows: string;
  /** SQL: the publish of a row. */
  readonly publish: string;
  /** SQL: which rows. @default all */
  readonly which?: string;
  /** Later rows have replaced these. @default false */
  readonly isPast?: boolean;
}

/**
 * Writes rows as a sorted data file. No log names it yet.
 * @returns the action that adds it to the table; none without rows
 */
export async function writeRows(
  { store, database, files, nowMs }: FileWriter,
  relation: LakeRelation,
  { rows, publish, which = 'true', isPast = false }: Rows,
): Promise<readonly AddAction[]> {
  const [found] = await database.rows(await files.render('lake/has_rows', { rows, which }));
  if (found?.has_rows !== true) return [];
  const scratch = await store.scratch();
  try {
    const sql = await files.render('lake/write_file', {
      rows,
      publish,
      which,
      fields: rowFields(relation).map(quoteIdent).join(', '),
      order: relation.identity.map(quoteIdent).join(', '),
      file: quoteLiteral(scratch),
    });
    await database.run(sql);
    const { records, stats } = await computeStatistics(database, files, relation, scratch);
    const [{ size }, sha256] = [await stat(scratch), await hashFile(scratch)];
    const path = `${randomUUID()}.parquet`;
    await store.putFile(`${changesTable(relation.name)}/${path}`, scratch);
    const tags = { sha256, rows: String(records), ...(isPast && PAST_TAG) };
    const content = { size, modificationTime: nowMs, dataChange: true, stats: JSON.stringify(stats), tags };
    return [{ path, partitionValues: {}, ...content }];
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
