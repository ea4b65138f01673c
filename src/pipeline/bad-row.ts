import { createReadStream } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'csv-parse';
import type { LandingFile, Manifest } from '../landing/manifest.ts';

interface Counted {
  readonly record: readonly string[];
  readonly info: { readonly lines: number };
}

/**
 * The first line of a landed CSV whose key is missing or stood on an earlier line, such as `line 17 of workspaces.csv`;
 * undefined where no CSV has one. Reads the files row by row: only for one that is refused already.
 */
export async function findBadKeyLine(
  { files }: Manifest,
  directory: string,
  key: readonly string[],
): Promise<string | undefined> {
  const seen = new Set<string>();
  return firstLine(files, directory, (record, { columns = [], bareNull }) => {
    const values = key.map((name) => record[columns.indexOf(name)] ?? '');
    const missing = values[0] === '' || (bareNull === true && values[0] === 'null');
    if (missing || seen.has(JSON.stringify(values))) return true;
    seen.add(JSON.stringify(values));
    return false;
  });
}

/** The first line of a landed CSV with a cell of this text, as `lineOfBadKey` tells it. */
export function findCellLine({ files }: Manifest, directory: string, cell: string): Promise<string | undefined> {
  return firstLine(files, directory, (record) => record.includes(cell));
}

async function firstLine(
  files: readonly LandingFile[],
  directory: string,
  isIt: (record: readonly string[], file: LandingFile) => boolean,
): Promise<string | undefined> {
  for (const file of files.filter(({ format }) => format === 'csv')) {
    const parser = parse({ bom: true, from: 2, info: true, relax_column_count: true });
    for await (const row of createReadStream(join(directory, file.file)).pipe(parser)) {
      const { record, info } = row as Counted;
      if (isIt(record, file)) return `line ${info.lines} of ${file.file}`;
    }
  }
  return undefined;
}
