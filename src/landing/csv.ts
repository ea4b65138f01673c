import { basename, dirname } from 'node:path';
import { Readable } from 'node:stream';
import { type Options, parse } from 'csv-parse';
import { readContent } from '../core/gzip.ts';
import { LineWriter } from './line-writer.ts';
import { formatRow } from './rows.ts';
import type { LandingFile } from './store.ts';

/**
 * Reads a CSV file record by record. The file is closed when the caller stops early: `pipe` alone would leave it open.
 * @param bytes how much of the content to read. @default all
 */
export async function* readCsv(
  path: string,
  options: Options,
  bytes = Number.POSITIVE_INFINITY,
): AsyncGenerator<unknown, void, undefined> {
  const content = Readable.from(take(readContent(path), bytes));
  const parser = parse(options);
  content.on('error', (error) => parser.destroy(error));
  try {
    yield* content.pipe(parser);
  } finally {
    content.destroy();
    parser.destroy();
  }
}

async function* take(chunks: AsyncIterable<Buffer>, bytes: number): AsyncGenerator<Buffer> {
  let left = bytes;
  for await (const chunk of chunks) {
    yield chunk.subarray(0, left);
    left -= chunk.length;
    if (left <= 0) return;
  }
}

/**
 * Rewrites a CSV file without some of its columns, in place.
 * @param columns names of the header, in order
 * @throws the parser's error when the file is not CSV; it is then left as it is
 */
export async function dropColumns(
  path: string,
  columns: readonly string[],
  isDropped: (name: string) => boolean,
): Promise<Partial<LandingFile>> {
  const isKept = columns.map((name) => !isDropped(name));
  const rewritten = new LineWriter(dirname(path), basename(path));
  try {
    // A record with another number of fields is kept: the load rejects it.
    for await (const record of readCsv(path, { bom: true, relax_column_count: true })) {
      const cells = (record as readonly string[]).filter((_, index) => isKept[index] !== false);
      await rewritten.write(formatRow(cells));
    }
    return { ...(await rewritten.commit()), columns: columns.filter((_, index) => isKept[index]) };
  } catch (error) {
    await rewritten.discard();
    throw error;
  }
}
