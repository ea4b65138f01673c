import { createHash } from 'node:crypto';
import { type FileHandle, open, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { makeFolder, PRIVATE_FILE, writeWhole } from '../core/fs.ts';
import { BLOCK_BYTES, encodeBlock } from '../core/gzip.ts';

/** Appends lines to a file that has a `.part` name until it is committed, and is compressed if its name ends in `.gz`. */
export function createLineWriter(directory: string, file: string) {
  const path = join(directory, file);
  const part = `${path}.part`;
  let handle: FileHandle | undefined;
  /** Ends when all writes so far have ended. */
  let writes: Promise<void> = Promise.resolve();
  let pending = '';
  /** What is written, which the file can be rolled back to: where its next block begins; of its content, the others. */
  let written = { position: 0, bytes: 0, longestLine: 0, hash: createHash('sha256') };
  const copyState = (state: typeof written) => ({ ...state, hash: state.hash.copy() });

  const openPart = async (): Promise<FileHandle> => {
    await makeFolder(directory);
    return open(part, 'w+', PRIVATE_FILE);
  };
  const writePending = async (): Promise<void> => {
    if (pending === '') return;
    const block = Buffer.from(pending);
    pending = '';
    handle ??= await openPart();
    const encoded = await encodeBlock(file, block);
    const { position, bytes, hash } = written;
    await writeWhole(handle, encoded, position);
    written = { ...written, position: position + encoded.length, bytes: bytes + block.length };
    hash.update(block);
  };
  const flush = (): Promise<void> => {
    writes = writes.then(writePending);
    return writes;
  };
  /** Waits for all writes. A failed write has already been reported to its caller. */
  const settle = () => flush().catch(() => undefined);
  const close = async (): Promise<void> => {
    await settle();
    await handle?.close();
    handle = undefined;
  };
  const discard = async (): Promise<void> => {
    pending = '';
    await close();
    await rm(part, { force: true });
  };
  return {
    close,
    discard,
    /** Whether no line has been written, or all of them were removed. */
    isEmpty: () => written.longestLine === 0,
    /** Appends one or more whole lines. Concurrent calls never interleave. A line may reach the disk with a later one. */
    async write(lines: string): Promise<void> {
      written = { ...written, longestLine: Math.max(written.longestLine, Buffer.byteLength(lines)) };
      pending += lines;
      if (pending.length >= BLOCK_BYTES) await flush();
    },
    async checkpoint(): Promise<typeof written> {
      await settle();
      return copyState(written);
    },
    /** Removes everything written after `to`. */
    async rollback(to: typeof written): Promise<void> {
      await settle();
      await handle?.truncate(to.position);
      written = copyState(to);
      writes = Promise.resolve();
    },
    /** Closes the file and gives it its final name. @returns undefined when nothing was written, or all of it was removed */
    async commit() {
      await flush();
      const { bytes, longestLine, hash } = written;
      if (bytes === 0) return void (await discard());
      await handle?.datasync();
      await close();
      await rename(part, path);
      return { file, bytes, sha256: hash.digest('hex'), longestLine };
    },
  };
}
