import { createReadStream } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'csv-parse';
import type { LandedFile, Manifest } from '../core/landed.ts';

interface Counted {
  readonly record: readonly string[];
  readonly info: { readonly lines: number };
}

/**
 * The first line of a landed CSV whose key is missing or stood on an earlier line, such as `line 17 of workspaces.csv`;
 * undefined where no CSV has one. Reads the files row by row: only for one that is refused already.
 */
export async function lineOfBadKey(
  { files }: Manifest,
  directory: string,
  key: readonly string[],
): Promise<string | undefined> {
  const seen = new Set<string>();
  for (const file of files.filter(({ format }) => format === 'csv')) {
    const line = await lineIn(join(directory, file.file), file, key, seen);
    if (line !== undefined) return `line ${line} of ${file.file}`;
  }
  return undefined;
}

async function lineIn(
  path: string,
  { columns = [], bareNull }: LandedFile,
  key: readonly string[],
  seen: Set<string>,
): Promise<number | undefined> {
  const places = key.map((name) => columns.indexOf(name));
  const rows = createReadStream(path).pipe(parse({ bom: true, from: 2, info: true, relax_column_count: true }));
  for await (const row of rows) {
    const { record, info } = row as Counted;
    const values = places.map((place) => record[place] ?? '');
    const missing = values[0] === '' || (bareNull === true && values[0] === 'null');
    if (missing || seen.has(JSON.stringify(values))) return info.lines;
    seen.add(JSON.stringify(values));
  }
  return undefined;
}
