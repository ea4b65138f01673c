import { basename, dirname } from 'node:path';
import { Readable } from 'node:stream';
import { CsvError, type Options, parse } from 'csv-parse';
import { TidemarkError } from '../core/errors.ts';
import { readContent } from '../core/gzip.ts';
import { createLineWriter } from './line-writer.ts';

/** A quote that is never closed makes one record of all that follows. */
const MAX_RECORD_BYTES = 256 * 1024 * 1024;

/** As DuckDB reads it: a quote within a cell is text. A record with another number of fields is for the load to refuse. */
const DIALECT: Options = {
  bom: true,
  relax_quotes: true,
  relax_column_count: true,
  max_record_size: MAX_RECORD_BYTES,
};

/**
 * Reads a CSV file record by record. The file is closed when the caller stops early: `pipe` alone would leave it open.
 * @param bytes how much of the content to read. @default all
 * @throws TidemarkError DATA for what is not CSV, without the parser's message, which quotes cells
 */
export async function* readCsv(path: string, options: Options = {}, bytes?: number): AsyncGenerator<unknown> {
  const content = Readable.from(readContent(path, bytes));
  const parser = parse({ ...DIALECT, ...options });
  content.on('error', (error) => parser.destroy(error));
  try {
    yield* content.pipe(parser);
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    throw new TidemarkError('DATA', `line ${error.lines} of ${basename(path)} is not CSV: ${error.code}`);
  } finally {
    content.destroy();
    parser.destroy();
  }
}

/**
 * Rewrites a CSV file without some of its columns, in place.
 * @param columns names of the header, in order
 * @throws as `readCsv`; the file is then left as it is
 */
export async function dropColumns(path: string, columns: readonly string[], isDropped: (name: string) => boolean) {
  const isKept = columns.map((name) => !isDropped(name));
  const rewritten = createLineWriter(dirname(path), basename(path));
  try {
    for await (const record of readCsv(path)) {
      const cells = (record as readonly string[]).filter((_, index) => isKept[index] !== false);
      await rewritten.write(formatRow(cells));
    }
    return { ...(await rewritten.commit()), columns: columns.filter((_, index) => isKept[index]) };
  } catch (error) {
    await rewritten.discard();
    throw error;
  }
}

/** A cell of CSV; an empty text is null. */
export function quoteCell(text: string): string {
  // A fifth of the time of `replaceAll` where there are many quotes, as in JSON.
  return text.includes('"') ? `"${text.split('"').join('""')}"` : `"${text}"`;
}

export function formatRow(cells: readonly string[]): string {
  return `${cells.map(quoteCell).join(',')}\n`;
}
