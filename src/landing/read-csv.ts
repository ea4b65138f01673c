import { createReadStream } from 'node:fs';
import { type Options, parse } from 'csv-parse';

/**
 * Reads a CSV file record by record. The file is closed when the caller stops early: `pipe` alone would leave it open.
 * @param bytes how much of the file to read. @default all
 */
export async function* readCsv(
  path: string,
  options: Options,
  bytes?: number,
): AsyncGenerator<unknown, void, undefined> {
  const file = createReadStream(path, bytes === undefined ? {} : { end: bytes - 1 });
  const parser = parse(options);
  file.on('error', (error) => parser.destroy(error));
  try {
    yield* file.pipe(parser);
  } finally {
    file.destroy();
    parser.destroy();
  }
}
