import { randomUUID } from 'node:crypto';
import { rm, stat } from 'node:fs/promises';
import { hashFile } from '../core/fs.ts';
import { quoteIdent, quoteLiteral } from '../warehouse/sql-files.ts';
import type { AddAction } from './delta-log.ts';
import type { LakeWriter } from './reader.ts';
import { changesTable, type LakeRelation, PAST_TAG, rowFields } from './table.ts';

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
  { reader: { store, database, files }, nowMs }: LakeWriter,
  relation: LakeRelation,
  { rows, publish, which = 'true', isPast = false }: Rows,
): Promise<readonly AddAction[]> {
  const [found] = await database.rows(files.render('lake/has_rows', { rows, which }));
  if (found?.has_rows !== true) return [];
  const scratch = await store.scratch();
  try {
    const fields = rowFields(relation).map(quoteIdent).join(', ');
    const order = relation.identity.map(quoteIdent).join(', ');
    const file = quoteLiteral(scratch);
    await database.run(files.render('lake/write_file', { rows, publish, which, fields, order, file }));
    const [row] = await database.rows(files.render('lake/statistics', { ...statisticsParts(relation), file }));
    const [{ size }, sha256] = [await stat(scratch), await hashFile(scratch)];
    const path = `${randomUUID()}.parquet`;
    await store.putFile(`${changesTable(relation.name)}/${path}`, scratch);
    const tags = { sha256, rows: String(row?.records), ...(isPast && PAST_TAG) };
    const content = { size, modificationTime: nowMs, dataChange: true, stats: String(row?.stats), tags };
    return [{ path, partitionValues: {}, ...content }];
  } finally {
    await rm(scratch, { force: true });
  }
}

/** Longer texts have no bounds: those of Delta are cut, and a cut upper bound is below the values. */
const MAX_TEXT = 64;
/** How a bound is written, times to the millisecond; null for a value that has no such form. Readers use these types to skip files. */
const BOUNDS: Readonly<Record<string, (value: string) => string>> = {
  VARCHAR: (value) => `if(length(${value}) <= ${MAX_TEXT}, ${value}, null)`,
  BIGINT: (value) => value,
  DATE: (value) => value,
  'TIMESTAMP WITH TIME ZONE': (value) =>
    `if(year(${value}) between 0 and 9999, strftime(${value}, '%Y-%m-%dT%H:%M:%S.%gZ'), null)`,
};

/** The fields of which the log has bounds and the number of nulls: the change, its time and publish, and what identifies a row. */
function statisticsParts({ identity, columns }: LakeRelation) {
  const types = new Map(columns.map(({ field, type }) => [field, type]));
  const bounded = [
    { field: 'op', type: 'VARCHAR' },
    { field: 'as_of', type: 'TIMESTAMP WITH TIME ZONE' },
    { field: 'publish', type: 'BIGINT' },
    ...identity.map((field) => ({ field, type: types.get(field) ?? 'BIGINT' })),
  ].flatMap(({ field, type }) => {
    const toBound = BOUNDS[type];
    return toBound ? [{ name: quoteLiteral(field), column: quoteIdent(field), toBound }] : [];
  });
  return {
    least: bounded.map(({ name, column, toBound }) => `${name}, ${toBound(`min(${column})`)}`).join(', '),
    greatest: bounded.map(({ name, column, toBound }) => `${name}, ${toBound(`max(${column})`)}`).join(', '),
    nulls: bounded.map(({ name, column }) => `${name}, count(*) - count(${column})`).join(', '),
  };
}
