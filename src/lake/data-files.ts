import { randomUUID } from 'node:crypto';
import { rm, stat } from 'node:fs/promises';
import { hashFile } from '../core/fs.ts';
import { quoteIdent, quoteLiteral } from '../warehouse/sql-files.ts';
import type { AddAction } from './delta-log.ts';
import { changesTable, type LakeRelation, PAST_TAG, rowFields } from './layout.ts';
import type { LakeReader, LakeWriter } from './reader.ts';

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
  { reader, nowMs }: LakeWriter,
  relation: LakeRelation,
  { rows, publish, which = 'true', isPast = false }: Rows,
): Promise<readonly AddAction[]> {
  const { store, database, files } = reader;
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
    const { records, stats } = await computeStatistics(reader, relation, scratch);
    const [{ size }, sha256] = [await stat(scratch), await hashFile(scratch)];
    const path = `${randomUUID()}.parquet`;
    await store.putFile(`${changesTable(relation.name)}/${path}`, scratch);
    const tags = { sha256, rows: String(records), ...(isPast && PAST_TAG) };
    const content = { size, modificationTime: nowMs, dataChange: true, stats, tags };
    return [{ path, partitionValues: {}, ...content }];
  } finally {
    await rm(scratch, { force: true });
  }
}

/** Types of the fields that every table begins with. */
const LEADING_TYPES: Readonly<Record<string, string>> = { op: 'VARCHAR', as_of: 'TIMESTAMP WITH TIME ZONE' };
/** Longer texts have no bounds: those of Delta are cut, and a cut upper bound is below the values. */
const MAX_TEXT = 64;
/** Types whose bounds readers use to skip files. */
const BOUNDED = new Set(['VARCHAR', 'BIGINT', 'DATE', 'TIMESTAMP WITH TIME ZONE']);

/** Number of rows, and as JSON the bounds of the time, the publish and what identifies a row. */
async function computeStatistics(
  { database, files }: LakeReader,
  relation: LakeRelation,
  file: string,
): Promise<{ readonly records: number; readonly stats: string }> {
  const types = new Map(relation.columns.map(({ field, type }) => [field, type]));
  const typeOf = (field: string) => LEADING_TYPES[field] ?? types.get(field) ?? 'BIGINT';
  const fields = ['op', 'as_of', 'publish', ...relation.identity.filter((field) => BOUNDED.has(typeOf(field)))];
  const list = (toValue: (field: string) => string) =>
    fields.map((field) => `${quoteLiteral(field)}, ${toValue(field)}`).join(', ');
  const sql = await files.render('lake/statistics', {
    least: list((field) => toBound(`min(${quoteIdent(field)})`, typeOf(field))),
    greatest: list((field) => toBound(`max(${quoteIdent(field)})`, typeOf(field))),
    nulls: list((field) => `count(*) - count(${quoteIdent(field)})`),
    file: quoteLiteral(file),
  });
  const [row] = await database.rows(sql);
  return { records: Number(row?.records), stats: String(row?.stats) };
}

/** SQL: a bound as the protocol has it, times to the millisecond; null for a value that has no such form. */
function toBound(value: string, type: string): string {
  if (type === 'VARCHAR') return `if(length(${value}) <= ${MAX_TEXT}, ${value}, null)`;
  if (type !== 'TIMESTAMP WITH TIME ZONE') return value;
  return `if(year(${value}) between 0 and 9999, strftime(${value}, '%Y-%m-%dT%H:%M:%S.%gZ'), null)`;
}
