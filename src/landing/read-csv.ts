import { Readable } from 'node:stream';
import { type Options, parse } from 'csv-parse';
import { readContent } from '../core/gzip.ts';

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
