import { createHash } from 'node:crypto';
import { open } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { writeWhole } from '../../core/fs.ts';

/** The body of a request. A request that is repeated opens it again. */
export interface S3Body {
  readonly bytes: number;
  readonly sha256: string;
  open(): Buffer | Readable;
}

/** A local file cannot be read or written: no fault of the store, so that a request is not repeated. */
export class LocalFileError extends Error {}

/** Memory of a transfer. */
const CHUNK_BYTES = 1024 * 1024;

/** A part of a local file, read in pieces. */
export async function createFileBody(file: string, start: number, end: number): Promise<S3Body> {
  const digest = createHash('sha256');
  try {
    for await (const chunk of readRange(file, start, end)) digest.update(chunk);
  } catch (error) {
    throw error instanceof LocalFileError ? error.cause : error;
  }
  return {
    bytes: end - start,
    sha256: digest.digest('hex'),
    open: () => Readable.from(readRange(file, start, end), { objectMode: false }),
  };
}

export function createTextBody(text: string): S3Body {
  const content = Buffer.from(text);
  return {
    bytes: content.length,
    sha256: createHash('sha256').update(content).digest('hex'),
    open: () => content,
  };
}

async function* readRange(file: string, start: number, end: number): AsyncGenerator<Buffer, void, undefined> {
  const handle = await asLocal(open(file, 'r'));
  try {
    for (let position = start; position < end; ) {
      const wanted = Math.min(CHUNK_BYTES, end - position);
      const { bytesRead, buffer } = await asLocal(handle.read(Buffer.allocUnsafe(wanted), 0, wanted, position));
      if (bytesRead === 0) throw new LocalFileError('cut', { cause: new Error(`${file} was cut while it was read`) });
      position += bytesRead;
      yield buffer.subarray(0, bytesRead);
    }
  } finally {
    await handle.close();
  }
}

/** Writes what arrives to a new file, in pieces. */
export async function writeChunks(file: string, chunks: AsyncIterable<Buffer>): Promise<void> {
  const handle = await asLocal(open(file, 'w'));
  try {
    let bytes = 0;
    for await (const chunk of chunks) {
      await asLocal(writeWhole(handle, chunk, bytes));
      bytes += chunk.length;
    }
  } finally {
    await handle.close();
  }
}

async function asLocal<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (cause) {
    throw new LocalFileError('a local file cannot be read or written', { cause });
  }
}
