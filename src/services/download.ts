import { createHash } from 'node:crypto';
import { open } from 'node:fs/promises';
import type { Redactor } from '../core/redact/redactor.ts';
import { createSecretScanner } from '../core/redact/secret-scanner.ts';
import { failure, type Result } from '../http/outcome.ts';
import { type BodyLimits, readChunks } from '../http/response-body.ts';
import { extractErrorMessage, looksLikeHtml } from '../http/words.ts';

export interface DownloadResult {
  readonly status: number;
  /** Size of the file. */
  readonly bytes: number;
  /** Of the file, in hex. */
  readonly sha256: string;
  readonly contentType: string;
  /** Whether `null` begins a field anywhere, in quotes or not: some CSV of the explorer writes NULL so (live-services.md A4). */
  readonly hasBareNull: boolean;
  /** Whether a known secret stands in it, which it was written with. */
  readonly containsSecret: boolean;
}

/** The beginning of a body, before anything is written. */
export interface BodyPreview {
  readonly contentType: string;
  readonly firstBytes: string;
}

const HEAD_BYTES = 4096;
/** Bytes that are hashed, searched and written at once: chunks come as small as the network sends them. */
const BLOCK_BYTES = 1024 * 1024;
const NULL = 'null';
/** A field begins after a comma, or first in a line. */
const BEFORE_NULL: ReadonlySet<number | undefined> = new Set([...',\n'].map((before) => before.charCodeAt(0)));

/** Streams a body into `file`, which is emptied first; a body that is HTML, refused by `refuse`, or cut is a problem. */
export async function downloadToFile(
  response: Response,
  file: string,
  {
    validatePreview,
    redactor,
    ...intake
  }: BodyLimits & { validatePreview: (head: BodyPreview) => string | undefined; redactor: Redactor },
): Promise<Result<DownloadResult>> {
  const contentType = response.headers.get('content-type') ?? '';
  const hash = createHash('sha256');
  const secrets = createSecretScanner(redactor);
  let bytes = 0;
  let tail = Buffer.alloc(0);
  let hasBareNull = false;
  const chunks = readChunks(response, intake);
  const { head, rest } = await readPreview(chunks);
  const refusal = validateStart({ contentType, firstBytes: head.toString('utf8') }, validatePreview);
  if (refusal) {
    await chunks.return(undefined);
    return malformed(response.status, refusal);
  }
  const handle = await open(file, 'w');
  let writing = Promise.resolve();
  try {
    for await (const block of toBlocks(rest)) {
      hash.update(block);
      secrets.push(block);
      bytes += block.length;
      hasBareNull ||=
        containsBareNull(block) || containsBareNull(Buffer.concat([tail, block.subarray(0, NULL.length)]));
      tail = Buffer.concat([tail, block.subarray(-NULL.length)]).subarray(-NULL.length);
      await writing;
      writing = handle.appendFile(block); // all of it: a plain write may take a part
      writing.catch(() => undefined); // told by the await above or below; the next block comes meanwhile
    }
    await writing;
  } finally {
    await handle.close();
  }
  const promised = expectedBytes(response.headers);
  if (promised !== undefined && promised !== bytes) {
    const message = `the answer broke off: ${bytes} of ${promised} bytes`;
    return failure({ failure: 'truncated', status: response.status, message, retryable: 'yes', notProcessed: false });
  }
  const { status } = response;
  const sha256 = hash.digest('hex');
  return { ok: true, value: { status, bytes, sha256, contentType, hasBareNull, containsSecret: secrets.matched() } };
}

function containsBareNull(part: Buffer): boolean {
  for (let at = part.indexOf(NULL, 1); at > 0; at = part.indexOf(NULL, at + 1)) {
    if (BEFORE_NULL.has(part[at - 1])) return true;
  }
  return false;
}

/** Reads until there is enough to judge by, and gives it back as part of the whole. */
async function readPreview(
  chunks: AsyncGenerator<Uint8Array>,
): Promise<{ head: Buffer; rest: AsyncGenerator<Buffer> }> {
  const first: Uint8Array[] = [];
  for (let bytes = 0; bytes < HEAD_BYTES; ) {
    const { value, done } = await chunks.next();
    if (done) break;
    first.push(value);
    bytes += value.length;
  }
  const head = Buffer.concat(first);
  async function* rest(): AsyncGenerator<Buffer> {
    yield head;
    for await (const chunk of chunks) yield Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
  }
  return { head: head.subarray(0, HEAD_BYTES), rest: rest() };
}

/** Larger pieces of the same; what came before a failure comes out before it is thrown, so that the file shows it. */
async function* toBlocks(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let block: Buffer[] = [];
  let bytes = 0;
  let failure: { readonly error: unknown } | undefined;
  try {
    for await (const chunk of chunks) {
      block.push(chunk);
      bytes += chunk.length;
      if (bytes < BLOCK_BYTES) continue;
      yield Buffer.concat(block);
      [block, bytes] = [[], 0];
    }
  } catch (error) {
    failure = { error };
  }
  if (bytes > 0) yield Buffer.concat(block);
  if (failure) throw failure.error;
}

function validateStart(
  head: BodyPreview,
  validatePreview: (head: BodyPreview) => string | undefined,
): string | undefined {
  if (looksLikeHtml(head.firstBytes)) return `got ${extractErrorMessage(head.firstBytes)} in place of the data`;
  return validatePreview(head);
}

function malformed(status: number, message: string): Result<never> {
  return failure({ failure: 'malformed', status, message, retryable: 'few', notProcessed: false });
}

/** Bytes that must come; unknown for a compressed body, whose length counts what is on the wire. */
function expectedBytes(headers: Headers): number | undefined {
  const length = headers.get('content-length');
  return length === null || headers.has('content-encoding') ? undefined : Number(length);
}
