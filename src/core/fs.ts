import { isUtf8 } from 'node:buffer';
import { createHash, randomBytes } from 'node:crypto';
import { closeSync, constants, createReadStream, existsSync, fstatSync, openSync, readSync } from 'node:fs';
import { type FileHandle, lstat, mkdir, open, readdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { constants as system } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { getSystemErrorName } from 'node:util';
import { DAY_MS } from './clock.ts';
import { type ErrorCode, errorMessage, TidemarkError } from './errors.ts';

/** Permissions of files that their owner alone may read. A umask can only remove some. */
export const PRIVATE_FILE = 0o600;
export const PRIVATE_FOLDER = 0o700;
/** For what others read as well. */
export const SHARED_FOLDER = 0o777;

/**
 * Creates a folder, with those above it. One that exists keeps its permissions. Node's own recursion does not end below a folder such as
 * /proc, in which nothing can be made.
 * @param mode by default, the owner alone may read it
 */
export async function makeFolder(path: string, mode = PRIVATE_FOLDER): Promise<void> {
  const above = dirname(path);
  if (above !== path && !existsSync(above)) await makeFolder(above, mode);
  await mkdir(path, { mode }).catch(async (error: unknown) => {
    if (!(await stat(path).catch(() => undefined))?.isDirectory()) throw error;
  });
}

/** Replaces the content of a file atomically, as `replaceFile` does. Its owner alone may read it. */
export async function writeFileAtomic(file: string, content: string | Buffer): Promise<void> {
  await makeFolder(dirname(file));
  await replaceFile(file, PRIVATE_FILE, (temporary) => writeFile(temporary, content, { flush: true }));
}

/**
 * Runs `work` on a new file beside `file`, which then replaces it: a reader sees the old content or all of the new one, and an error
 * leaves the old file as it was. On return, the name is on disk. New files that killed processes have left go as well.
 */
export async function replaceFile<T>(file: string, mode: number, work: (temporary: string) => Promise<T>): Promise<T> {
  const temporary = `${file}.${randomBytes(6).toString('hex')}.part`;
  // Created here, so that a link of the same name is never followed.
  await (await open(temporary, 'wx', mode)).close();
  try {
    await removeAbandoned(file).catch((error: NodeJS.ErrnoException) => {
      if (!MAY_STAY.has(error.code)) throw error;
    });
    const result = await work(temporary);
    await rename(temporary, file);
    await syncFolder(dirname(file));
    return result;
  } finally {
    await rm(temporary, { force: true });
  }
}

/** Refusals to list or to remove: that abandoned files stay harms nothing. */
const MAY_STAY = new Set<string | undefined>(['EACCES', 'EPERM', 'EBUSY']);

/** Removes what replaced nothing for a day: no process writes for so long. */
async function removeAbandoned(file: string): Promise<void> {
  const own = `${basename(file)}.`;
  const isPart = (name: string) => name.startsWith(own) && /^[\da-f]{12}\.part$/u.test(name.slice(own.length));
  for (const name of (await readdir(dirname(file))).filter(isPart)) {
    const path = join(dirname(file), name);
    const entry = await lstat(path).catch(ignoreMissing);
    if (entry?.isFile() && entry.mtimeMs < Date.now() - DAY_MS) await rm(path, { force: true });
  }
}

/** Errors of platforms that cannot sync folders, such as Windows. */
const NO_FOLDER_SYNC = new Set(['EISDIR', 'EPERM', 'EACCES', 'EINVAL']);

/** Writes all of a buffer at a position: a disk that is almost full takes a part, and fails only at the next write. */
export async function writeWhole(handle: FileHandle, buffer: Buffer, position: number): Promise<void> {
  for (let done = 0; done < buffer.length; ) {
    done += (await handle.write(buffer, done, buffer.length - done, position + done)).bytesWritten;
  }
}

/** Syncs the entries of a folder, such as a new file, to disk. */
export async function syncFolder(path: string): Promise<void> {
  await syncPath(path).catch((error: NodeJS.ErrnoException) => {
    if (!NO_FOLDER_SYNC.has(error.code ?? '')) throw error;
  });
}

export async function syncPath(path: string): Promise<void> {
  const handle = await open(path, 'r');
  await handle.sync().finally(() => handle.close());
}

/** SHA-256 of a file, as hexadecimal digits. */
export async function hashFile(file: string): Promise<string> {
  const digest = createHash('sha256');
  await pipeline(createReadStream(file), digest);
  return digest.digest('hex');
}

/** What is wrong with a file, as the end of a sentence; undefined where it is as expected. */
export async function findFileFault(file: string, bytes: number, sha256?: string): Promise<string | undefined> {
  const entry = await lstat(file).catch(ignoreMissing);
  if (!entry) return 'is missing';
  if (!entry.isFile()) return 'is not a file';
  if (entry.size !== bytes) return `has ${entry.size} bytes instead of ${bytes}`;
  if (sha256 === undefined) return undefined;
  const actual = await hashFile(file).catch(ignoreMissing);
  if (actual === undefined) return 'is missing';
  return actual === sha256 ? undefined : 'has another checksum';
}

/** For `catch`: what does not exist is undefined. @throws every other error */
export function ignoreMissing(error: unknown): undefined {
  if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
}

const PATH_ERROR =
  /^(?:ENOENT|ENOTDIR|EISDIR|EEXIST|EACCES|EPERM|EROFS|ENAMETOOLONG|ELOOP|EBUSY|ENOTEMPTY|EXDEV|ENXIO|ENODEV|EINVAL)$/u;

/** The code that Node gives such an error. It has no name for some, and says `Unknown system error -122`; Windows does not have all. */
function findErrorCode(name: 'EDQUOT' | 'ESTALE' | 'ENOLCK'): string {
  const number: number | undefined = system.errno[name];
  return number === undefined ? name : getSystemErrorName(-number);
}

export const EDQUOT = findErrorCode('EDQUOT');
const ESTALE = findErrorCode('ESTALE');
const ENOLCK = findErrorCode('ENOLCK');

/** What the system lacks, by error code. */
const LACKS: Readonly<Record<string, string>> = {
  ENOSPC: 'the disk is full',
  [EDQUOT]: 'the disk quota is used up',
  EFBIG: 'a file would be larger than the limit of files (`ulimit -f`)',
  EMFILE: 'too many files are open: raise the limit of open files (`ulimit -n`)',
  ENFILE: 'too many files are open on this machine',
  EIO: 'the disk cannot be read or written',
  EROFS: 'the file system is read-only',
  [ESTALE]: 'a network file system has lost the file',
  [ENOLCK]: 'another program has locked a file, or its file system has no locks',
  ENOMEM: 'the system gives no more memory: raise the limit of the address space (`ulimit -v`), or of the container',
  // Node searches for a package by opening files, and takes one that it cannot open for missing.
  ERR_MODULE_NOT_FOUND:
    'a module cannot be read: raise the limit of open files (`ulimit -n`), or install Tidemark again',
};

/** How DuckDB says the same: its errors have no codes. */
const SAID: Readonly<Record<string, string>> = {
  'too many open files': 'EMFILE',
  'no space left': 'ENOSPC',
  'disk quota': EDQUOT,
  'file too large': 'EFBIG',
  'input/output error': 'EIO',
  'fsync failed': 'EIO',
  'read-only file system': 'EROFS',
  'stale file handle': ESTALE,
  'could not set lock': ENOLCK,
};
const DUCKDB = new RegExp(`(?:IO|FATAL|INTERNAL|TransactionContext) Error: .*(${Object.keys(SAID).join('|')})`, 'iu');
/** Node loads WebAssembly to read HTTP, for which V8 reserves 10 GiB of address space. */
const WEB_ASSEMBLY = /^WebAssembly\.\w+\(\): Out of memory/u;

/** What the system lacks for an operation, if that is why it failed. */
export function systemLack(error: unknown): string | undefined {
  for (let inner = error; inner instanceof Error; inner = inner.cause) {
    const { code, message } = inner as NodeJS.ErrnoException;
    const said = WEB_ASSEMBLY.test(message) ? 'ENOMEM' : SAID[DUCKDB.exec(message)?.[1]?.toLowerCase() ?? ''];
    const lack = LACKS[code ?? ''] ?? LACKS[said ?? ''];
    if (lack !== undefined) return lack;
  }
  return undefined;
}

/** The path and reason of an error of the file system that the user can correct, such as the file of `-o`; otherwise undefined. */
export function fileSystemError(error: unknown): { readonly path: string; readonly reason: string } | undefined {
  if (!(error instanceof Error)) return undefined;
  const { code, syscall, path: from, dest } = error as NodeJS.ErrnoException & { readonly dest?: string };
  const path = syscall === 'uv_cwd' ? 'the working folder' : (dest ?? from);
  if (code === undefined || path === undefined || !PATH_ERROR.test(code)) return undefined;
  return { path, reason: describeFileError(error.message) };
}

/** Why a file cannot be used, or what the system lacks; undefined for every other error. */
export function explainSystemError(error: unknown): string | undefined {
  const unusable = fileSystemError(error);
  return unusable ? `${unusable.path} cannot be used: ${unusable.reason}` : systemLack(error);
}

/** The message of Node without its code, and without the call and the path at its end. */
function describeFileError(message: string): string {
  if (message.startsWith('EISDIR')) return 'it is a folder';
  return message.replace(/^E[A-Z]+: |, \w+(?: '.*)?$/gu, '');
}

interface NamedFile {
  /** @default USAGE */
  readonly code?: ErrorCode;
  /** What the message begins with. @default the path */
  readonly name?: string;
  readonly hint?: string | undefined;
  /** Refuses a larger file, and every one that is not regular: a pipe would wait for a writer. @default 64 MiB of any file */
  readonly maxKibibytes?: number;
  /** Takes each byte for a character: of a file whose comments may have any encoding. */
  readonly isLatin1?: boolean;
}

/** The text of a file that a person names or writes. @throws TidemarkError why it cannot be read, unless the system lacks something */
export function readNamedFile(
  file: string,
  { code = 'USAGE', name = file, hint, maxKibibytes, isLatin1 = false }: NamedFile = {},
): string {
  try {
    const bytes = readBounded(file, maxKibibytes);
    return isLatin1 ? bytes.toString('latin1') : decodeUtf8(bytes);
  } catch (cause) {
    if (systemLack(cause) !== undefined) throw cause;
    const { code: errno } = cause as NodeJS.ErrnoException;
    const isMissing = errno === 'ENOENT';
    const problem = isMissing ? 'does not exist' : `cannot be read: ${describeFileError(errorMessage(cause))}`;
    const advice = errno === 'EACCES' ? 'run as its owner, or let this account read it' : hint;
    throw new TidemarkError(code, `${name} ${problem}`, { cause, hint: advice });
  }
}

/**
 * A mark at the beginning, as editors on Windows write it, is no part of the text. Of another encoding, such as what `>` of PowerShell writes, every
 * name would be another one. @throws Error
 */
export function decodeUtf8(bytes: Buffer): string {
  if (!isUtf8(bytes)) throw new Error('it is not UTF-8; save it with this encoding');
  return new TextDecoder().decode(bytes);
}

/** More than any text that a person names; a device such as /dev/zero has no end. */
export const MAX_TEXT_KIBIBYTES = 64 * 1024;

/** Windows has no such flag, and no pipes in folders. */
const WITHOUT_WAITING = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0);

/** A file is read at once, so that one is enough: a command reads hundreds of small ones. */
const CHUNK = Buffer.allocUnsafe(64 * 1024);

/** Options for a file that a folder of ours has: each command reads all of them. */
export const REGULAR_FILE = { maxKibibytes: MAX_TEXT_KIBIBYTES } as const;

/** The size that the system reports does not bound what can be read: a file may grow, and one of `/proc` has size 0. */
function readBounded(file: string, maxKibibytes?: number): Buffer {
  const handle = openSync(file, maxKibibytes === undefined ? constants.O_RDONLY : WITHOUT_WAITING);
  try {
    if (maxKibibytes !== undefined && !fstatSync(handle).isFile()) throw new Error('it is not a regular file');
    const max = maxKibibytes ?? MAX_TEXT_KIBIBYTES;
    const chunks: Buffer[] = [];
    for (let [bytes, length] = [-1, 0]; bytes !== 0; length += bytes) {
      if (length > max * 1024) throw new Error(`it is larger than ${max} KiB`);
      bytes = readSync(handle, CHUNK);
      chunks.push(Buffer.from(CHUNK.subarray(0, bytes)));
    }
    return Buffer.concat(chunks);
  } finally {
    closeSync(handle);
  }
}

export async function removePaths(paths: readonly string[]): Promise<void> {
  for (const path of paths) await rm(path, { recursive: true, force: true });
}
