import { createReadStream } from 'node:fs';
import { promisify } from 'node:util';
import { constants, createGunzip, gzip } from 'node:zlib';

const compress = promisify(gzip);
/** Bytes that are compressed at once: a smaller block costs more calls, and compresses less. */
export const BLOCK_BYTES = 1024 * 1024;
const MIN_CHUNK_BYTES = 16 * 1024;

/** Whether a file has compressed content; one that is being written has `.part` after its name. */
export function isCompressed(file: string): boolean {
  return /\.gz(?:\.part)?$/u.test(file);
}

/** A block of a file as it is stored. Each is a gzip file, and so are several of them one after another (RFC 1952, section 2.2). */
export async function encodeBlock(file: string, block: Buffer): Promise<Buffer> {
  if (!isCompressed(file)) return block;
  const chunkSize = Math.max(MIN_CHUNK_BYTES, block.length >> 1); // each chunk of the result is a call of this thread
  return compress(block, { level: constants.Z_BEST_SPEED, chunkSize }); // other levels take more time than they save space
}

/** What is there of a file that was cut off is its content. */
const UNZIP = { chunkSize: 256 * 1024, finishFlush: constants.Z_SYNC_FLUSH };

/**
 * The content of a file.
 * @param bytes how much of it, since a few bytes can become gigabytes. @default all
 * @throws the error of the file system; a `Z_…` error for what is no gzip file
 */
export async function* readContent(path: string, bytes = Number.POSITIVE_INFINITY): AsyncGenerator<Buffer> {
  const file = createReadStream(path, { highWaterMark: 256 * 1024 });
  const content = isCompressed(path) ? file.pipe(createGunzip(UNZIP)) : file;
  file.on('error', (error) => content.destroy(error));
  try {
    let left = bytes;
    for await (const chunk of content as AsyncIterable<Buffer>) {
      yield chunk.subarray(0, left);
      left -= chunk.length;
      if (left <= 0) return;
    }
  } finally {
    file.destroy();
    content.destroy();
  }
}
