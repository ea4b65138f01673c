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

const createStart = (): LineCheckpoint => ({ position: 0, bytes: 0, longestLine: 0, hash: createHash('sha256') });
const copyState = (state: LineCheckpoint): LineCheckpoint => ({ ...state, hash: state.hash.copy() });

type WrittenFile = Required<Pick<LandingFile, 'file' | 'bytes' | 'sha256' | 'longestLine'>>;

/** Appends lines to a file that has a `.part` name until it is committed, and is compressed if its name ends in `.gz`. */
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
  #written = createStart();

  /** @param header the beginning of the file, evaluated with its first line */
  constructor(directory: string, file: string, header: () => string = () => '') {
    this.#directory = directory;
    this.#file = file;
    this.#header = header;
  }

  /** Appends one or more whole lines. Concurrent calls never interleave. A line may reach the disk with a later one. */
  async write(lines: string): Promise<void> {
    const text = this.#start() + lines;
    this.#noteLine(Buffer.byteLength(text));
    this.#pending.push(text);
    this.#pendingLength += text.length;
    if (this.#pendingLength >= BLOCK_BYTES) await this.#flush();
  }

  /** Appends all lines of another writer, whose file is not compressed, without lines of others between them, and discards it. */
  async append(other: LineWriter): Promise<void> {
    await other.#flush();
    if (other.#handle) {
      this.#pending.push(this.#start());
      this.#writes = this.#flush().then(() => this.#copy(other));
      await this.#writes;
    }
    await other.discard();
  }

  /** Closes the file and removes it. */
  async discard(): Promise<void> {
    this.#pending = [];
    this.#pendingLength = 0;
    await this.close();
    await rm(join(this.#directory, `${this.#file}.part`), { force: true });
  }

  async checkpoint(): Promise<LineCheckpoint> {
    await this.#settle();
    return copyState(this.#written);
  }

  /** Removes everything written after `to`. @default everything */
  async rollback(to: LineCheckpoint = createStart()): Promise<void> {
    await this.#settle();
    await this.#handle?.truncate(to.position);
    this.#written = copyState(to);
    this.#isStarted = to.bytes > 0;
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
    const text = this.#pending.join('');
    this.#pending = [];
    this.#pendingLength = 0;
    if (text !== '') await this.#writeBlock(Buffer.from(text));
  }

  async #copy(other: LineWriter): Promise<void> {
    const { bytes, longestLine } = other.#written;
    const buffer = Buffer.alloc(Math.min(BLOCK_BYTES, bytes));
    for (let at = 0; at < bytes; ) {
      const { bytesRead = 0 } = (await other.#handle?.read(buffer, 0, buffer.length, at)) ?? {};
      if (bytesRead === 0) throw new Error(`${other.#file} ends at byte ${at} of ${bytes}`);
      await this.#writeBlock(buffer.subarray(0, bytesRead));
      at += bytesRead;
    }
    this.#noteLine(longestLine);
  }

  #noteLine(bytes: number): void {
    if (bytes > this.#written.longestLine) this.#written = { ...this.#written, longestLine: bytes };
  }

  /** The header, once. */
  #start(): string {
    const header = this.#isStarted ? '' : this.#header();
    this.#isStarted = true;
    return header;
  }

  async #writeBlock(block: Buffer): Promise<void> {
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
