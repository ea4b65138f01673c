import { createHash, type Hash } from 'node:crypto';
import { type FileHandle, mkdir, open, rename } from 'node:fs/promises';
import { join } from 'node:path';
import type { LandingFile } from '../landing/manifest.ts';

/** Lines are written together once they are so many characters: a write costs as much as a few hundred lines. */
const BLOCK_LENGTH = 256 * 1024;

/** A place in a file of lines that can be gone back to. */
export interface LinesMark {
  readonly bytes: number;
  readonly longest: number;
  readonly hash: Hash;
}

/** What `finish` tells of the file. */
export type LinesLanded = Required<Pick<LandingFile, 'file' | 'bytes' | 'sha256' | 'longestLine'>>;

/** A file of lines that grows under a `.part` name. */
export interface LinesFile {
  /** Appends a line, whole, however many are writing at once; a line may reach the disk with a later one, or at the end. */
  write(text: string): Promise<void>;
  mark(): Promise<LinesMark>;
  /** Cuts off everything after the mark. */
  rewind(to: LinesMark): Promise<void>;
  /** Closes it and gives it its name; undefined when no line came. */
  finish(): Promise<LinesLanded | undefined>;
  close(): Promise<void>;
}

/** @param head what the file begins with, asked for when its first line comes */
export function createLinesFile(directory: string, file: string, head: () => string = () => ''): LinesFile {
  let handle: FileHandle | undefined;
  let tail: Promise<void> = Promise.resolve();
  let waiting: string[] = [];
  let waitingLength = 0;
  let begun = false;
  let longest = 0;
  let hash = createHash('sha256');
  let bytes = 0;

  const writeWaiting = async () => {
    const text = waiting.join('');
    [waiting, waitingLength] = [[], 0];
    if (text === '') return;
    handle ??= await openPart(directory, file);
    const block = Buffer.from(text);
    await handle.write(block, 0, block.length, bytes);
    hash.update(block);
    bytes += block.length;
  };
  const flush = () => {
    tail = tail.then(writeWaiting);
    return tail;
  };
  const settled = () => flush().catch(() => undefined); // whoever wrote has been told
  const close = async () => {
    await settled();
    await handle?.close();
    handle = undefined;
  };

  return {
    close,
    async write(line) {
      const text = begun ? line : head() + line;
      begun = true;
      longest = Math.max(longest, Buffer.byteLength(text));
      waiting.push(text);
      waitingLength += text.length;
      if (waitingLength >= BLOCK_LENGTH) await flush();
    },
    async mark() {
      await settled();
      return { bytes, longest, hash: hash.copy() };
    },
    async rewind(to) {
      await settled();
      await handle?.truncate(to.bytes);
      [bytes, longest, hash] = [to.bytes, to.longest, to.hash.copy()];
      begun = bytes > 0;
      tail = Promise.resolve();
    },
    async finish() {
      await flush();
      if (!handle || bytes === 0) return undefined;
      await handle.datasync();
      await close();
      await rename(join(directory, `${file}.part`), join(directory, file));
      return { file, bytes, sha256: hash.digest('hex'), longestLine: longest };
    },
  };
}

async function openPart(directory: string, name: string): Promise<FileHandle> {
  await mkdir(directory, { recursive: true });
  return open(join(directory, `${name}.part`), 'w');
}
