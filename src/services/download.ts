import { createHash } from 'node:crypto';
import { type FileHandle, open } from 'node:fs/promises';
import { PRIVATE_FILE } from '../core/fs.ts';
import { BLOCK_BYTES, encodeBlock } from '../core/gzip.ts';
import { maskBlocks, type Redactor } from '../core/redact/redactor.ts';
import { repairBlocks } from '../core/well-formed.ts';
import { extractErrorMessage, looksLikeHtml } from '../http/error-message.ts';
import { AttemptError } from '../http/errors.ts';
import { type BodyLimits, readChunks } from '../http/response-body.ts';

/** What was written: known secrets are masked in it. */
export interface DownloadResult extends Readonly<ReturnType<ContentInspector['result']>> {
  readonly status: number;
  readonly contentType: string;
}

export interface BodyPreview {
  readonly contentType: string;
  readonly firstBytes: string;
}

export interface DownloadContext extends BodyLimits {
  readonly validatePreview: (preview: BodyPreview) => string | undefined;
  readonly redactor: Redactor;
}

const PREVIEW_BYTES = 4096;

/**
 * Streams a body to `file`, which is truncated first, and compressed if its name ends in `.gz`.
 * @throws AttemptError for HTML, for what `validatePreview` rejects, and for a truncated body
 */
export async function downloadToFile(
  response: Response,
  file: string,
  { validatePreview, redactor, ...limits }: DownloadContext,
): Promise<DownloadResult> {
  const { status } = response;
  const contentType = response.headers.get('content-type') ?? '';
  const blocks = toBlocks(readChunks(response, limits));
  const start = await blocks.next();
  const first = start.done ? Buffer.alloc(0) : start.value;
  const firstBytes = first.toString('utf8', 0, PREVIEW_BYTES);
  const rejection = looksLikeHtml(firstBytes)
    ? `got ${extractErrorMessage(firstBytes)} instead of the data`
    : validatePreview({ contentType, firstBytes });
  if (rejection) {
    await blocks.return(undefined);
    throw new AttemptError({ failure: 'malformed', status, message: rejection, retryable: 'few' });
  }
  const inspector = new ContentInspector();
  const handle = await open(file, 'w', PRIVATE_FILE);
  const body = maskBlocks(repairBlocks(prepend(first, blocks), limits.metrics), redactor);
  await writeBlocks(handle, file, body, inspector).finally(() => handle.close());
  return { status, contentType, ...inspector.result() };
}

/** Reads the next block while the previous one is compressed and written. */
async function writeBlocks(handle: FileHandle, file: string, blocks: AsyncIterable<Buffer>, content: ContentInspector) {
  let writing = Promise.resolve();
  for await (const block of blocks) {
    content.push(block);
    await writing;
    // writes the whole block, where `write` may write a part
    writing = encodeBlock(file, block).then((encoded) => handle.appendFile(encoded));
    writing.catch(() => undefined); // reported by the `await` above or below
  }
  await writing;
}

/** Computes what a download reports about its content, block by block. */
class ContentInspector {
  readonly #hash = createHash('sha256');
  #bytes = 0;
  /** The last bytes: a match may span two blocks. */
  #tail: Buffer = Buffer.alloc(0);
  readonly #bareNulls = new Set<string>();
  /** Bytes since the last line break. */
  #lineBytes = 0;
  #longestLine = 0;

  push(block: Buffer): void {
    this.#hash.update(block);
    this.#bytes += block.length;
    this.#measureLines(block);
    const seam = Buffer.concat([this.#tail, block.subarray(0, NULL_BYTES)]);
    for (const part of [block, seam]) {
      for (const spelling of NULLS) {
        if (!this.#bareNulls.has(spelling) && beginsField(part, spelling)) this.#bareNulls.add(spelling);
      }
    }
    this.#tail = Buffer.concat([this.#tail, block.subarray(-NULL_BYTES)]).subarray(-NULL_BYTES);
  }

  #measureLines(block: Buffer): void {
    const end = block.indexOf(LINE_BREAK);
    if (end < 0) this.#lineBytes += block.length;
    this.#longestLine = Math.max(this.#longestLine, this.#lineBytes + Math.max(end, 0), block.length);
    if (end >= 0) this.#lineBytes = block.length - block.lastIndexOf(LINE_BREAK);
  }

  result() {
    return {
      bytes: this.#bytes,
      sha256: this.#hash.digest('hex'),
      /** The spellings of null that a CSV field begins with, which may be how NULL is written: docs/services/platform.md#csv-export. */
      bareNulls: [...this.#bareNulls],
      /** At least the bytes of the longest line: lines within a block are not measured. */
      longestLine: this.#longestLine,
      /** Whether it ends neither with a line nor with a quote: its last value may be cut off. */
      endsWithinValue: !/["\r\n]$/u.test(this.#tail.toString('latin1')),
    };
  }
}

const LINE_BREAK = 10;
const COMMA = 44;
const NULLS = ['null', 'NULL'];
/** A spelling without its last byte, and what is before it. */
const NULL_BYTES = 4;

/** Whether a field begins with a text: after a comma or a line break. To search for the comma as well takes eight times as long. */
function beginsField(bytes: Buffer, text: string): boolean {
  for (let at = bytes.indexOf(text); at >= 0; at = bytes.indexOf(text, at + 1)) {
    if (bytes[at - 1] === COMMA || bytes[at - 1] === LINE_BREAK) return true;
  }
  return false;
}

async function* prepend(first: Buffer, others: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  yield first;
  yield* others;
}

/** Joins chunks, which are as small as the network sends them, into larger blocks. */
async function* toBlocks(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer> {
  let block: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of chunks) {
    block.push(chunk);
    bytes += chunk.length;
    if (bytes < BLOCK_BYTES) continue;
    yield Buffer.concat(block);
    [block, bytes] = [[], 0];
  }
  if (bytes > 0) yield Buffer.concat(block);
}
