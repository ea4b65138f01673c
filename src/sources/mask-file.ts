import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { rename } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Redactor } from '../core/redact.ts';
import { watchForSecrets } from '../core/secret-watch.ts';

/**
 * Masks known secrets in a file that was streamed to disk as it came.
 * @returns its new size and digest (hex); undefined when there was none in it.
 */
export async function maskFile(
  path: string,
  redactor: Redactor,
): Promise<{ readonly bytes: number; readonly sha256: string } | undefined> {
  if (!(await holdsSecret(path, redactor))) return undefined;
  const hash = createHash('sha256');
  let bytes = 0;
  const count = async function* (chunks: AsyncIterable<Buffer>) {
    for await (const chunk of chunks) {
      hash.update(chunk);
      bytes += chunk.length;
      yield chunk;
    }
  };
  const masked = `${path}.masked`;
  const pieces = Readable.from(overlapping(path, redactor)).map((text: string) => Buffer.from(text));
  await pipeline(pieces, count, createWriteStream(masked));
  await rename(masked, path);
  return { bytes, sha256: hash.digest('hex') };
}

async function holdsSecret(path: string, redactor: Redactor): Promise<boolean> {
  const watch = watchForSecrets(redactor);
  for await (const chunk of createReadStream(path, { highWaterMark: 1024 * 1024 })) {
    watch.see(chunk as Buffer);
    if (watch.found()) return true;
  }
  return false;
}

/** The file in masked pieces. The end of each is held back as long as it may be the beginning of a secret. */
async function* overlapping(path: string, redactor: Redactor): AsyncGenerator<string> {
  let held = '';
  for await (const chunk of createReadStream(path, { encoding: 'utf8', highWaterMark: 256 * 1024 })) {
    const raw = held + String(chunk);
    const clean = redactor.text(raw);
    const cut = Math.max(0, clean.length - redactor.longest + 1);
    held = clean.slice(cut);
    yield clean.slice(0, cut);
  }
  yield held;
}
