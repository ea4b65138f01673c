import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { rename } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { parse } from 'csv-parse';
import { stringify } from 'csv-stringify';
import { PRIVATE_FILE } from '../core/fs.ts';
import type { Redactor } from '../core/redact/redactor.ts';
import { createSecretScanner, createTextMasker } from '../core/redact/streams.ts';
import type { LandingFile } from './manifest.ts';

/** Size and digest of a file after its content was replaced. */
type ScrubResult = Required<Pick<LandingFile, 'bytes' | 'sha256'>>;

/**
 * Masks known secrets in a file, in place.
 * @returns undefined when the file contains none; it is then left as it is
 */
export async function maskFile(path: string, redactor: Redactor): Promise<ScrubResult | undefined> {
  if (!(await containsSecret(path, redactor))) return undefined;
  const content = createContentDigest();
  const pieces = Readable.from(maskPieces(path, redactor)).map((text: string) => Buffer.from(text));
  await pipeline(pieces, content.observe, createWriteStream(`${path}.masked`, { mode: PRIVATE_FILE }));
  await rename(`${path}.masked`, path);
  return content.result();
}

async function containsSecret(path: string, redactor: Redactor): Promise<boolean> {
  const scanner = createSecretScanner(redactor);
  for await (const chunk of createReadStream(path, { highWaterMark: 1024 * 1024 })) {
    scanner.push(chunk as Buffer);
    if (scanner.matched()) return true;
  }
  return false;
}

/** The masked content in pieces. */
async function* maskPieces(path: string, redactor: Redactor): AsyncGenerator<string> {
  const masker = createTextMasker(redactor);
  for await (const chunk of createReadStream(path, { encoding: 'utf8', highWaterMark: 256 * 1024 })) {
    yield masker.push(String(chunk));
  }
  yield masker.end();
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
): Promise<ScrubResult & { readonly columns: readonly string[] }> {
  const content = createContentDigest();
  await pipeline(
    createReadStream(path),
    parse({ bom: true, relax_column_count: true }), // a record with another number of fields is kept: the load rejects it
    async function* (records: AsyncIterable<readonly string[]>) {
      for await (const record of records) yield record.filter((_, index) => !isDropped(columns[index] ?? ''));
    },
    stringify(),
    content.observe,
    createWriteStream(`${path}.part`, { mode: PRIVATE_FILE }),
  );
  await rename(`${path}.part`, path);
  return { ...content.result(), columns: columns.filter((name) => !isDropped(name)) };
}

function createContentDigest() {
  const hash = createHash('sha256');
  let bytes = 0;
  return {
    async *observe(chunks: AsyncIterable<Buffer>) {
      for await (const chunk of chunks) {
        hash.update(chunk);
        bytes += chunk.length;
        yield chunk;
      }
    },
    result: (): ScrubResult => ({ bytes, sha256: hash.digest('hex') }),
  };
}
