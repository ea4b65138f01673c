import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { rename } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import { parse } from 'csv-parse';
import { stringify } from 'csv-stringify';
import type { LandingFile } from '../landing/manifest.ts';

/** What is told of a file that is written anew. */
export type Rewritten = Required<Pick<LandingFile, 'bytes' | 'sha256' | 'columns'>>;

/**
 * Writes a CSV anew without some of its columns, record by record.
 * @param columns names of its header, in order
 * @throws the parser's error when the file is no CSV; it is then left as it was
 */
export async function dropColumns(
  path: string,
  columns: readonly string[],
  dropped: (name: string) => boolean,
): Promise<Rewritten> {
  const hash = createHash('sha256');
  let bytes = 0;
  await pipeline(
    createReadStream(path),
    parse({ bom: true, relax_column_count: true }), // a line of another form stays one, for the load to refuse
    async function* (records: AsyncIterable<readonly string[]>) {
      for await (const record of records) yield record.filter((_, index) => !dropped(columns[index] ?? ''));
    },
    stringify(),
    async function* (chunks: AsyncIterable<Buffer>) {
      for await (const chunk of chunks) {
        hash.update(chunk);
        bytes += chunk.length;
        yield chunk;
      }
    },
    createWriteStream(`${path}.part`),
  );
  await rename(`${path}.part`, path);
  return { bytes, sha256: hash.digest('hex'), columns: columns.filter((name) => !dropped(name)) };
}
