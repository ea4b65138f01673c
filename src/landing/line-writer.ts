import { createHash, type Hash } from 'node:crypto';
import { type FileHandle, open, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { makeFolder, PRIVATE_FILE, writeWhole } from '../core/fs.ts';
import { BLOCK_BYTES, encodeBlock } from '../core/gzip.ts';
import type { LandingFile } from './store.ts';

/** What is written, which a file can be rolled back to. */
export interface LineCheckpoint {
  /** Where the next block begins in the file. */
  readonly position: number;
  /** Of the content, as the others. */
  readonly bytes: number;
  readonly longestLine: number;
  readonly hash: Hash;
}

const copyState = (state: LineCheckpoint): LineCheckpoint => ({ ...state, hash: state.hash.copy() });

type WrittenFile = Required<Pick<LandingFile, 'file' | 'bytes' | 'sha256' | 'longestLine'>>;

/** Appends lines to a file that has a `.part` name until it is committed, and is compressed if its name ends in `.gz`. */
export class LineWriter {
  readonly #directory: string;
  readonly #file: string;
  #handle: FileHandle | undefined;
  /** Ends when all writes so far have ended. */
  #writes: Promise<void> = Promise.resolve();
  #pending = '';
  #written: LineCheckpoint = { position: 0, bytes: 0, longestLine: 0, hash: createHash('sha256') };

  constructor(directory: string, file: string) {
    this.#directory = directory;
    this.#file = file;
  }

  /** Whether no line has been written, or all of them were removed. */
  get isEmpty(): boolean {
    return this.#written.longestLine === 0;
  }

  /** Appends one or more whole lines. Concurrent calls never interleave. A line may reach the disk with a later one. */
  async write(lines: string): Promise<void> {
    const longestLine = Math.max(this.#written.longestLine, Buffer.byteLength(lines));
    this.#written = { ...this.#written, longestLine };
    this.#pending += lines;
    if (this.#pending.length >= BLOCK_BYTES) await this.#flush();
  }

  async discard(): Promise<void> {
    this.#pending = '';
    await this.close();
    await rm(join(this.#directory, `${this.#file}.part`), { force: true });
  }

  async checkpoint(): Promise<LineCheckpoint> {
    await this.#settle();
    return copyState(this.#written);
  }

  /** Removes everything written after `to`. */
  async rollback(to: LineCheckpoint): Promise<void> {
    await this.#settle();
    await this.#handle?.truncate(to.position);
    this.#written = copyState(to);
    this.#writes = Promise.resolve();
  }

  /** Closes the file and gives it its final name. @returns undefined when nothing was written, or all of it was removed */
  async commit(): Promise<WrittenFile | undefined> {
    await this.#flush();
    const { bytes, longestLine, hash } = this.#written;
    if (bytes === 0) {
      await this.discard();
      return undefined;
    }
    await this.#handle?.datasync();
    await this.close();
    await rename(join(this.#directory, `${this.#file}.part`), join(this.#directory, this.#file));
    return { file: this.#file, bytes, sha256: hash.digest('hex'), longestLine };
  }

  async close(): Promise<void> {
    await this.#settle();
    await this.#handle?.close();
    this.#handle = undefined;
  }

  #flush(): Promise<void> {
    this.#writes = this.#writes.then(() => this.#writePending());
    return this.#writes;
  }

  /** Waits for all writes. A failed write has already been reported to its caller. */
  #settle(): Promise<void> {
    return this.#flush().catch(() => undefined);
  }

  async #writePending(): Promise<void> {
    if (this.#pending === '') return;
    const block = Buffer.from(this.#pending);
    this.#pending = '';
    this.#handle ??= await this.#open();
    const encoded = await encodeBlock(this.#file, block);
    const { position, bytes, hash } = this.#written;
    await writeWhole(this.#handle, encoded, position);
    this.#written = { ...this.#written, position: position + encoded.length, bytes: bytes + block.length };
    hash.update(block);
  }

  async #open(): Promise<FileHandle> {
    await makeFolder(this.#directory);
    return open(join(this.#directory, `${this.#file}.part`), 'w+', PRIVATE_FILE);
  }
}
