import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { type FileHandle, open, rename, rm } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { dirname } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import { constants, createGunzip, gzip } from 'node:zlib';
import { TidemarkError } from '../core/errors.ts';
import { PRIVATE_FILE, syncFolder, writeWhole } from '../core/fs.ts';
import { formatTarHeader, MAX_TAR_NAME_BYTES, parseTarHeader, TAR_BLOCK, type TarHeader } from './tar.ts';

/** Texts of all sources of a target fit in it, so that one read finds them. */
const HEAD_BYTES = 64 * 1024;
const CHUNK_BYTES = 256 * 1024;
const MIN_CHUNK_BYTES = 16 * 1024;
const compress = promisify(gzip);

/** What one thread compresses at a time. */
const PIECE_BYTES = 4 * 1024 * 1024;
/** Pieces that are compressed at once, of the four threads that Node has for it. One is left for the files of other targets. */
const PIECES_AT_ONCE = Math.min(availableParallelism(), 3);

/** What `writeArchive` archives: a text as it is, or a file, which becomes the member NAME.gz. */
export type ArchiveMember = { readonly name: string; readonly text: string } | FileMember;

interface FileMember {
  readonly name: string;
  readonly path: string;
  readonly bytes: number;
}

export interface ArchiveOptions {
  /** The time of all members. */
  readonly modified: Date;
  readonly signal: AbortSignal;
}

/** What the content of a member must be. */
interface ExpectedContent {
  readonly bytes: number;
  readonly sha256: string;
}

/** Whether a tar file can name this file as a compressed member. */
export function isArchivable(name: string): boolean {
  return Buffer.byteLength(`${name}.gz`) <= MAX_TAR_NAME_BYTES;
}

/**
 * Writes a tar file whose files are compressed one by one, so that each can be read without the others. It has its name when it is
 * complete and on disk.
 * @param members texts first
 * @throws the reason of the signal; there is no archive then
 */
export async function writeArchive(
  path: string,
  members: readonly ArchiveMember[],
  options: ArchiveOptions,
): Promise<void> {
  const part = `${path}.part`;
  const handle = await open(part, 'w', PRIVATE_FILE);
  try {
    await writeMembers(handle, members, options).finally(() => handle.close());
    await rename(part, path);
  } catch (error) {
    await rm(part, { force: true }); // on a full disk, it takes the space of everything else
    throw error;
  }
  await syncFolder(dirname(path));
}

async function writeMembers(
  handle: FileHandle,
  members: readonly ArchiveMember[],
  options: ArchiveOptions,
): Promise<void> {
  let end = 0;
  for (const member of members) end = await appendMember(handle, member, { ...options, at: end });
  await writeWhole(handle, Buffer.alloc(2 * TAR_BLOCK), end);
  await handle.sync();
}

/** @returns where the next member begins */
async function appendMember(
  handle: FileHandle,
  member: ArchiveMember,
  { at, modified, signal }: ArchiveOptions & { readonly at: number },
): Promise<number> {
  const start = at + TAR_BLOCK;
  let bytes = 0;
  for await (const chunk of 'text' in member ? [Buffer.from(member.text)] : compressFile(member)) {
    signal.throwIfAborted();
    await writeWhole(handle, chunk, start + bytes);
    bytes += chunk.length;
  }
  const name = 'text' in member ? member.name : `${member.name}.gz`;
  const header = formatTarHeader({ name, bytes, modifiedSeconds: Math.floor(modified.getTime() / 1000) });
  await writeWhole(handle, header, at);
  return nextBlock(start + bytes);
}

/** A gzip file. Its pieces are gzip files as well, one after another (RFC 1952, section 2.2), so that threads compress them at once. */
async function* compressFile({ path, bytes }: FileMember): AsyncGenerator<Buffer> {
  const handle = await open(path, 'r');
  try {
    const pieceBytes = Math.max(1, Math.min(bytes, PIECE_BYTES));
    const ahead: Promise<Piece>[] = [];
    /** They are used again: V8 collects its garbage for every few new ones. */
    const buffers: Buffer[] = [];
    // A file that was emptied meanwhile gets one piece: its checksum is refused, and the other members can be read.
    for (let at = 0; at === 0 || at < bytes; at += pieceBytes) {
      const buffer = buffers.pop() ?? Buffer.allocUnsafe(pieceBytes);
      const { bytesRead } = await handle.read(buffer, 0, pieceBytes, at);
      const piece = compressPiece(buffer, bytesRead);
      piece.catch(() => undefined); // reported when it is its turn
      ahead.push(piece);
      if (ahead.length < PIECES_AT_ONCE) continue;
      const first = await ahead.shift()!;
      buffers.push(first.buffer);
      yield first.compressed;
    }
    for (const piece of ahead) yield (await piece).compressed;
  } finally {
    await handle.close();
  }
}

interface Piece {
  /** What was read. */
  readonly buffer: Buffer;
  readonly compressed: Buffer;
}

async function compressPiece(buffer: Buffer, bytes: number): Promise<Piece> {
  // Most pieces fit into one chunk, which is then the result.
  const chunkSize = Math.max(MIN_CHUNK_BYTES, Math.floor(bytes / 4));
  const compressed = await compress(buffer.subarray(0, bytes), { level: constants.Z_BEST_SPEED, chunkSize });
  return { buffer, compressed };
}

const nextBlock = (position: number): number => Math.ceil(position / TAR_BLOCK) * TAR_BLOCK;

/** The texts of an archive by name; undefined if it does not exist. @throws TidemarkError DATA if it is damaged */
export async function readTexts(path: string): Promise<ReadonlyMap<string, string> | undefined> {
  return withArchive(path, async (archive) => {
    const texts = new Map<string, string>();
    for await (const { name, start, bytes } of archive.members()) {
      if (name.endsWith('.gz')) break;
      texts.set(name, (await archive.read(start, bytes)).toString('utf8'));
    }
    return texts;
  });
}

/** The names of the files that an archive has, as they were before; undefined if it does not exist. @throws TidemarkError DATA */
export async function listArchive(path: string): Promise<ReadonlySet<string> | undefined> {
  return withArchive(path, async (archive) => {
    const names = new Set<string>();
    for await (const { name } of archive.members()) names.add(name.replace(/\.gz$/u, ''));
    return names;
  });
}

/**
 * Writes a file of an archive to `to`, and checks its content.
 * @returns false if there is no such archive, or no such file in it
 * @throws TidemarkError DATA if the archive is damaged, or the file is not as expected
 */
export async function unpackFile(path: string, name: string, to: string, expected: ExpectedContent): Promise<boolean> {
  const member = await withArchive(path, async (archive) => {
    for await (const found of archive.members()) if (found.name === `${name}.gz`) return found;
    return undefined;
  });
  if (!member) return false;
  try {
    await pipeline(
      createReadStream(path, { start: member.start, end: member.start + member.bytes - 1, highWaterMark: CHUNK_BYTES }),
      createGunzip({ chunkSize: CHUNK_BYTES }),
      (chunks: AsyncIterable<Buffer>) => checkContent(chunks, name, expected),
      createWriteStream(`${to}.part`, { mode: PRIVATE_FILE }),
    );
    await rename(`${to}.part`, to);
  } catch (error) {
    await rm(`${to}.part`, { force: true });
    throw (error as NodeJS.ErrnoException).code?.startsWith('Z_') ? damaged(path, `${name}.gz`, error) : error;
  }
  return true;
}

async function* checkContent(
  chunks: AsyncIterable<Buffer>,
  name: string,
  expected: ExpectedContent,
): AsyncGenerator<Buffer> {
  const hash = createHash('sha256');
  let bytes = 0;
  for await (const chunk of chunks) {
    bytes += chunk.length;
    if (bytes > expected.bytes) break; // a few bytes can become gigabytes
    hash.update(chunk);
    yield chunk;
  }
  if (bytes !== expected.bytes || hash.digest('hex') !== expected.sha256) throw changedFile(name);
}

/** The error for a file that is not as its manifest says. */
export function changedFile(name: string): TidemarkError {
  return new TidemarkError('DATA', `the landing file ${name} was changed after the extraction`);
}

function damaged(path: string, what: string, cause?: unknown): TidemarkError {
  return new TidemarkError('DATA', `the archive ${path} is damaged at ${what}`, {
    hint: 'restore it from a backup, or load another run',
    ...(cause !== undefined && { cause }),
  });
}

/** A member with the position of its content. */
interface StoredMember extends TarHeader {
  readonly start: number;
}

class Archive {
  readonly #path: string;
  readonly #handle: FileHandle;
  readonly #size: number;
  readonly #head: Buffer;

  constructor(path: string, handle: FileHandle, size: number, head: Buffer) {
    this.#path = path;
    this.#handle = handle;
    this.#size = size;
    this.#head = head;
  }

  /** @throws TidemarkError DATA if a header is invalid, or the end is missing */
  async *members(): AsyncGenerator<StoredMember> {
    for (let at = 0; ; ) {
      const header = parseTarHeader(await this.read(at, TAR_BLOCK));
      const start = at + TAR_BLOCK;
      if (header === 'end') return;
      // A member of no bytes is none: each has a manifest or the header of gzip.
      if (header === 'invalid' || header.bytes === 0 || start + header.bytes > this.#size)
        throw damaged(this.#path, `byte ${at}`);
      yield { ...header, start };
      at = nextBlock(start + header.bytes);
    }
  }

  async read(start: number, bytes: number): Promise<Buffer> {
    if (start + bytes > this.#size) throw damaged(this.#path, `byte ${start}`);
    if (start + bytes <= this.#head.length) return this.#head.subarray(start, start + bytes);
    const { buffer } = await this.#handle.read(Buffer.alloc(bytes), 0, bytes, start);
    return buffer;
  }
}

/** @returns undefined if the archive does not exist */
async function withArchive<T>(path: string, work: (archive: Archive) => Promise<T>): Promise<T | undefined> {
  const handle = await openExisting(path);
  if (!handle) return undefined;
  try {
    const { size } = await handle.stat();
    const length = Math.min(size, HEAD_BYTES);
    const { buffer } = await handle.read(Buffer.alloc(length), 0, length, 0);
    return await work(new Archive(path, handle, size, buffer));
  } finally {
    await handle.close();
  }
}

async function openExisting(path: string): Promise<FileHandle | undefined> {
  try {
    return await open(path, 'r');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}
