import { createHash, type Hash } from 'node:crypto';
import { type FileHandle, open, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { makeFolder, PRIVATE_FILE } from '../core/fs.ts';
import type { LandingFile } from './manifest.ts';

/** Characters collected before a write: one write costs as much as a few hundred lines. */
const BLOCK_LENGTH = 256 * 1024;

/** A position that a file can be rolled back to. */
export interface LineCheckpoint {
  readonly bytes: number;
  readonly longestLine: number;
  readonly hash: Hash;
}

type WrittenFile = Required<Pick<LandingFile, 'file' | 'bytes' | 'sha256' | 'longestLine'>>;

/** Appends lines to a file that has a `.part` name until it is committed. */
export class LineWriter {
  readonly #directory: string;
  readonly #file: string;
  readonly #header: () => string;
  #handle: FileHandle | undefined;
  /** Ends when all writes so far have ended. */
  #writes: Promise<void> = Promise.resolve();
  #pending: string[] = [];
  #pendingLength = 0;
  #isStarted = false;
  #longestLine = 0;
  #hash = createHash('sha256');
  #bytes = 0;

  /** @param header the beginning of the file, evaluated with its first line */
  constructor(directory: string, file: string, header: () => string = () => '') {
    this.#directory = directory;
    this.#file = file;
    this.#header = header;
  }

  /** Appends one or more whole lines. Concurrent calls never interleave. A line may reach the disk with a later one. */
  async write(lines: string): Promise<void> {
    const text = this.#isStarted ? lines : this.#header() + lines;
    this.#isStarted = true;
    this.#longestLine = Math.max(this.#longestLine, Buffer.byteLength(text));
    this.#pending.push(text);
    this.#pendingLength += text.length;
    if (this.#pendingLength >= BLOCK_LENGTH) await this.#flush();
  }

  async checkpoint(): Promise<LineCheckpoint> {
    await this.#settle();
    return { bytes: this.#bytes, longestLine: this.#longestLine, hash: this.#hash.copy() };
  }

  /** Removes everything written after `to`. */
  async rollback(to: LineCheckpoint): Promise<void> {
    await this.#settle();
    await this.#handle?.truncate(to.bytes);
    this.#bytes = to.bytes;
    this.#longestLine = to.longestLine;
    this.#hash = to.hash.copy();
    this.#isStarted = to.bytes > 0;
    this.#writes = Promise.resolve();
  }

  /** Closes the file and gives it its final name. @returns undefined when nothing was written */
  async commit(): Promise<WrittenFile | undefined> {
    await this.#flush();
    if (!this.#handle || this.#bytes === 0) return undefined;
    await this.#handle.datasync();
    await this.close();
    await rename(join(this.#directory, `${this.#file}.part`), join(this.#directory, this.#file));
    return {
      file: this.#file,
      bytes: this.#bytes,
      sha256: this.#hash.digest('hex'),
      longestLine: this.#longestLine,
    };
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
    const text = this.#pending.join('');
    this.#pending = [];
    this.#pendingLength = 0;
    if (text === '') return;
    this.#handle ??= await this.#open();
    const block = Buffer.from(text);
    await this.#handle.write(block, 0, block.length, this.#bytes);
    this.#hash.update(block);
    this.#bytes += block.length;
  }

  async #open(): Promise<FileHandle> {
    await makeFolder(this.#directory);
    return open(join(this.#directory, `${this.#file}.part`), 'w', PRIVATE_FILE);
  }
}
