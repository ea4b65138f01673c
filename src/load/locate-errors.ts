import { join } from 'node:path';
import { TidemarkError } from '../core/errors.ts';
import { readCsv } from '../landing/csv.ts';
import type { LandingFile } from '../landing/store.ts';
import { firstLine } from '../warehouse/database.ts';
import type { Table } from '../warehouse/tables.ts';
import type { Landed } from './stage.ts';

/** Turns DuckDB's error of many lines into one line, with the place in the landed file if it can be found. */
export async function describeReadError(table: Table, landed: Landed, error: unknown): Promise<TidemarkError> {
  if (error instanceof TidemarkError) return error;
  const cell = INVALID_TIME.exec(firstLine(error))?.[1];
  const place = cell === undefined ? '' : await findLine(landed, (record) => record.includes(cell));
  return new TidemarkError('DATA', `${table.name}: ${formatReadError(error)}${place}`, { cause: error });
}

/** DuckDB's message for a text that is not a timestamp. */
const INVALID_TIME = /timestamp field [^"]*"(.*)"(?:,|$)/u;

function formatReadError(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  const line = /CSV Error on Line: (\d+)/u.exec(message)?.[1];
  if (line === undefined) return firstLine(error).replace(/^\w[\w ]* Error: /u, '');
  const reason = message
    .split('\n')
    .find((text) => /^(Error when|Expected Number|Value with|Invalid unicode|Maximum line)/u.test(text));
  return `line ${line} of the CSV is invalid: ${reason ?? firstLine(error)}`;
}

/** The first line of a CSV whose key is missing or repeated, as `: line 17 of workspaces.csv`; empty if there is none. */
export function findInvalidKey({ key }: Table, landed: Landed): Promise<string> {
  const seen = new Set<string>();
  return findLine(landed, (record, { columns = [], bareNull }) => {
    const values = key.map((name) => record[columns.indexOf(name)] ?? '');
    const isMissing = values[0] === '' || (bareNull === true && values[0] === 'null');
    if (isMissing || seen.has(JSON.stringify(values))) return true;
    seen.add(JSON.stringify(values));
    return false;
  });
}

interface CsvRecord {
  readonly record: readonly string[];
  readonly info: { readonly lines: number };
}

/** Reads the CSV files of a landing row by row, which is slow: only for errors. */
async function findLine(
  { manifest, directory }: Landed,
  matches: (record: readonly string[], file: LandingFile) => boolean,
): Promise<string> {
  for (const file of manifest.files.filter(({ format }) => format === 'csv')) {
    for await (const row of readCsv(join(directory, file.file), { from: 2, info: true })) {
      const { record, info } = row as CsvRecord;
      if (matches(record, file)) return `: line ${info.lines} of ${file.file}`;
    }
  }
  return '';
}
