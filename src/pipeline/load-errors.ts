import { join } from 'node:path';
import { TidemarkError } from '../core/errors.ts';
import { readCsv } from '../landing/read-csv.ts';
import type { LandingFile, Manifest } from '../landing/store.ts';
import { firstLine } from '../warehouse/database.ts';
import { isOutOfMemory } from '../warehouse/integrity.ts';
import type { Table } from '../warehouse/tables.ts';

/** A landing and the directory with its files. */
interface LandedFiles {
  readonly manifest: Manifest;
  readonly directory: string;
}

/** Turns DuckDB's errors of many lines into one line, with the place in the landed file if it can be found. */
export async function withLoadErrors<T>(table: Table, landed: LandedFiles, load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch (error) {
    if (error instanceof TidemarkError || isOutOfMemory(error)) throw error;
    const cell = INVALID_TIME.exec(firstLine(error))?.[1];
    const line = cell === undefined ? undefined : await findCellLine(landed, cell);
    const message = `${table.name}: ${formatLoadError(error)}${line === undefined ? '' : `: ${line}`}`;
    throw new TidemarkError('DATA', message, { cause: error });
  }
}

/** DuckDB's message for a text that is not a timestamp. */
const INVALID_TIME = /timestamp field [^"]*"(.*)"(?:,|$)/u;

function formatLoadError(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  const line = /CSV Error on Line: (\d+)/u.exec(message)?.[1];
  if (line === undefined) return firstLine(error).replace(/^\w[\w ]* Error: /u, '');
  const reason = message
    .split('\n')
    .find((text) => /^(Error when|Expected Number|Value with|Invalid unicode|Maximum line)/u.test(text));
  return `line ${line} of the CSV is invalid: ${reason ?? firstLine(error)}`;
}

/** Adds the line of a missing or repeated key, if the landed file is a CSV. */
export async function withKeyLocation<T>(table: Table, landed: LandedFiles, check: () => Promise<T>): Promise<T> {
  try {
    return await check();
  } catch (error) {
    if (!(error instanceof TidemarkError)) throw error;
    const line = await findBadKeyLine(landed, table.key);
    throw line === undefined ? error : new TidemarkError('DATA', `${error.message}: ${line}`, { cause: error });
  }
}

/** The first line whose key is missing or repeated, as `line 17 of workspaces.csv`. */
async function findBadKeyLine(landed: LandedFiles, key: readonly string[]): Promise<string | undefined> {
  const seen = new Set<string>();
  return findLine(landed, (record, { columns = [], bareNull }) => {
    const values = key.map((name) => record[columns.indexOf(name)] ?? '');
    const isMissing = values[0] === '' || (bareNull === true && values[0] === 'null');
    if (isMissing || seen.has(JSON.stringify(values))) return true;
    seen.add(JSON.stringify(values));
    return false;
  });
}

function findCellLine(landed: LandedFiles, cell: string): Promise<string | undefined> {
  return findLine(landed, (record) => record.includes(cell));
}

interface CsvRecord {
  readonly record: readonly string[];
  readonly info: { readonly lines: number };
}

/** Reads the CSV files of a landing row by row, which is slow: only for errors. */
async function findLine(
  { manifest, directory }: LandedFiles,
  matches: (record: readonly string[], file: LandingFile) => boolean,
): Promise<string | undefined> {
  for (const file of manifest.files.filter(({ format }) => format === 'csv')) {
    const options = { bom: true, from: 2, info: true, relax_column_count: true };
    for await (const row of readCsv(join(directory, file.file), options)) {
      const { record, info } = row as CsvRecord;
      if (matches(record, file)) return `line ${info.lines} of ${file.file}`;
    }
  }
  return undefined;
}
