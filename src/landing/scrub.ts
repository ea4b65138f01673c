import { createHash } from 'node:crypto';
import { createWriteStream, existsSync } from 'node:fs';
import { rename } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import { stringify } from 'csv-stringify/sync';
import { PRIVATE_FILE } from '../core/fs.ts';
import { encodeBlock, readContent } from '../core/gzip.ts';
import { createSecretScanner, createTextMasker, type Redactor } from '../core/redact/redactor.ts';
import { readCsv } from './read-csv.ts';
import type { LandingFile } from './store.ts';

/** Size and digest of a file after its content was replaced. */
type ScrubResult = Required<Pick<LandingFile, 'bytes' | 'sha256'>>;

/**
 * Masks known secrets in a file, in place.
 * @returns undefined when the file contains none; it is then left as it is
 */
export async function maskFile(path: string, redactor: Redactor): Promise<ScrubResult | undefined> {
  return (await containsSecret(path, redactor)) ? replaceContent(path, maskPieces(path, redactor)) : undefined;
}

async function containsSecret(path: string, redactor: Redactor): Promise<boolean> {
  const scanner = createSecretScanner(redactor);
  for await (const chunk of readContent(path)) {
    scanner.push(chunk);
    if (scanner.matched()) return true;
  }
  return false;
}

async function* maskPieces(path: string, redactor: Redactor): AsyncGenerator<string> {
  const masker = createTextMasker(redactor);
  const decoder = new TextDecoder();
  for await (const chunk of readContent(path)) yield masker.push(decoder.decode(chunk, { stream: true }));
  yield masker.push(decoder.decode()) + masker.end();
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
): Promise<ScrubResult & Required<Pick<LandingFile, 'columns'>>> {
  const isKept = columns.map((name) => !isDropped(name));
  const written = await replaceContent(path, selectCells(path, isKept));
  return { ...written, columns: columns.filter((_, index) => isKept[index]) };
}

/** Records that are written at once. */
const BATCH = 1000;

async function* selectCells(path: string, isKept: readonly boolean[]): AsyncGenerator<string> {
  let records: (readonly string[])[] = [];
  // A record with another number of fields is kept: the load rejects it.
  for await (const record of readCsv(path, { bom: true, relax_column_count: true })) {
    records.push((record as readonly string[]).filter((_, index) => isKept[index] !== false));
    if (records.length < BATCH) continue;
    yield stringify(records);
    records = [];
  }
  yield stringify(records);
}

/** Replaces a file when its new content, which is read from it, is complete. */
async function replaceContent(path: string, pieces: AsyncIterable<string>): Promise<ScrubResult> {
  const hash = createHash('sha256');
  let bytes = 0;
  async function* encode(): AsyncGenerator<Buffer> {
    for await (const piece of pieces) {
      const block = Buffer.from(piece);
      hash.update(block);
      bytes += block.length;
      if (block.length > 0) yield await encodeBlock(path, block);
    }
  }
  await pipeline(encode, createWriteStream(`${path}.new`, { mode: PRIVATE_FILE }));
  await rename(`${path}.new`, path);
  return { bytes, sha256: hash.digest('hex') };
}

/** Renames a rejected file, so that a later attempt cannot be mistaken for it. */
export async function keepRejected(path: string, redactor: Redactor): Promise<void> {
  if (!existsSync(path)) return;
  await maskFile(path, redactor);
  await rename(path, `${path.replace(/\.part$/u, '')}.rejected`);
}
