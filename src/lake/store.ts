import { randomBytes } from 'node:crypto';
import type { Dirent } from 'node:fs';
import { link, lstat, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { TidemarkError } from '../core/errors.ts';
import { ignoreMissing, makeFolder, SHARED_FOLDER, syncFolder, syncPath } from '../core/fs.ts';

export interface StoredFile {
  /** Path within the lake, with `/` on every platform. */
  readonly path: string;
  readonly bytes: number;
  /** When it was written, in milliseconds since 1970. */
  readonly modifiedMs: number;
}

/**
 * Where a lake is kept. Paths are relative to the lake. What a method has written is on disk when it returns, and is complete whenever
 * it is visible.
 */
export interface LakeStore {
  /** What messages call the store. */
  readonly name: string;
  /** Writes a file unless it exists. @returns whether it was written */
  createIfAbsent(path: string, content: string): Promise<boolean>;
  /** Writes a file, or replaces it as a whole. */
  put(path: string, content: string): Promise<void>;
  /** The same for a file that `fill` writes at a local path. @returns what `fill` does */
  putFile<T>(path: string, fill: (file: string) => Promise<T>): Promise<T>;
  /**
   * All files below a folder, also in folders within it, in the order of their paths. None if the folder does not exist.
   * @param after only those whose paths are greater
   */
  list(folder: string, after?: string): Promise<readonly StoredFile[]>;
  /** The folders of tables. */
  folders(): Promise<readonly string[]>;
  /** @throws an error with the code ENOENT if the file does not exist */
  read(path: string): Promise<string>;
  remove(path: string): Promise<void>;
  /** A local path of a data file or checkpoint for DuckDB, valid until `release` or `close`. @throws ENOENT, at once or when it is read */
  locate(path: string): Promise<string>;
  /** Ends the need for a local path. */
  release(path: string): Promise<void>;
  close(): Promise<void>;
}

const ATTEMPTS = 3;

/** Creates a file. @returns undefined, or the content that it has already. @throws TidemarkError REFUSED if the store contradicts itself */
export async function createOrRead(store: LakeStore, path: string, content: string): Promise<string | undefined> {
  // A cache in front of the store may know of one of the two later.
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    if (await store.createIfAbsent(path, content)) return undefined;
    const existing = await store.read(path).catch(ignoreMissing);
    if (existing !== undefined) return existing;
  }
  throw contradictionError(store, path);
}

export function contradictionError({ name }: LakeStore, path: string): TidemarkError {
  return new TidemarkError('REFUSED', `${name}/${path}: the store says that it exists, and that it does not`, {
    hint: 'check what is in front of the store, such as a proxy or a cache, and try again',
  });
}

/** Folder of files that are being written: no table has its name. */
export const STAGING = '_staging';

/** A lake in a directory, which may be on a network. Its file system must have hard links, and the lake has no symbolic ones. */
export function createDirectoryStore(root: string): LakeStore {
  const find = async (path: string): Promise<string> => {
    await refuseLinks(root, path);
    return join(root, path);
  };
  /** Has `work` write a file, which is removed unless it is moved. */
  const stage = async <T>(work: (file: string) => Promise<T>): Promise<T> => {
    const folder = join(root, STAGING);
    await makeFolder(folder, SHARED_FOLDER);
    const file = join(folder, randomBytes(8).toString('hex'));
    try {
      return await work(file);
    } finally {
      await rm(file, { force: true });
    }
  };
  /** Gives a file its name with `place`. Its content is on disk before: readers take an empty log file for a commit without data. */
  const move = async <T>(file: string, path: string, place: (file: string, to: string) => Promise<T>): Promise<T> => {
    await syncPath(file);
    const to = await find(path);
    await makeFolder(dirname(to), SHARED_FOLDER);
    const result = await place(file, to);
    await syncFolder(dirname(to));
    return result;
  };
  const putFile: LakeStore['putFile'] = (path, fill) =>
    stage(async (file) => {
      const result = await fill(file);
      await move(file, path, rename);
      return result;
    });
  return {
    name: root,
    locate: find,
    async release() {},
    async close() {},
    createIfAbsent: (path, content) =>
      stage(async (file) => {
        await writeFile(file, content);
        return move(file, path, (from, to) => link(from, to).then(() => true, refuseExisting(root)));
      }),
    put: (path, content) => putFile(path, (file) => writeFile(file, content)),
    putFile,
    list: async (folder, after = '') => listFiles(root, await find(folder), after),
    folders: () => listFolders(root),
    read: async (path) => readFile(await find(path), 'utf8'),
    remove: async (path) => rm(await find(path), { force: true }),
  };
}

const NO_HARD_LINKS = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EXDEV']);

function refuseExisting(root: string): (error: NodeJS.ErrnoException) => false {
  return (error) => {
    if (error.code === 'EEXIST') return false;
    if (!NO_HARD_LINKS.has(error.code ?? '')) throw error;
    throw new TidemarkError('DATA', `${root} is on a file system without hard links`, {
      hint: 'keep the lake on one that has them, such as ext4, XFS or NFS: without them two writers can overwrite each other',
      cause: error,
    });
  };
}

/**
 * What a link leads to is no part of the lake: nothing says whether it is there for other machines, or who else writes it. A pipe would
 * wait for a writer, and a device has no end.
 */
async function refuseLinks(root: string, path: string): Promise<void> {
  const names = path.split('/').filter(Boolean);
  for (let length = 1; length <= names.length; length++) {
    const part = join(root, ...names.slice(0, length));
    const entry = await lstat(part).catch(ignoreMissing);
    if (entry && !entry.isFile() && !entry.isDirectory()) throw linkError(part, entry);
  }
}

function linkError(path: string, entry: Pick<Dirent, 'isSymbolicLink'>): TidemarkError {
  const what = entry.isSymbolicLink() ? 'a link' : 'a pipe or a device';
  return new TidemarkError('DATA', `${path} is ${what}, and a lake has none`, {
    hint: 'put the folder or file itself in its place, from a copy of the lake if there is no other',
  });
}

async function listFolders(root: string): Promise<readonly string[]> {
  const entries = await readEntries(root);
  return entries.filter((entry) => entry.isDirectory() && !entry.name.startsWith('_')).map(({ name }) => name);
}

async function readEntries(folder: string, recursive = false): Promise<readonly Dirent[]> {
  const entries = (await readdir(folder, { recursive, withFileTypes: true }).catch(ignoreMissing)) ?? [];
  const link = entries.find((entry) => entry.isSymbolicLink());
  if (link) throw linkError(join(link.parentPath, link.name), link);
  return entries;
}

async function listFiles(root: string, folder: string, after: string): Promise<readonly StoredFile[]> {
  const paths = (await readEntries(folder, true))
    .filter((entry) => entry.isFile())
    .map((entry) => relative(root, join(entry.parentPath, entry.name)).replaceAll('\\', '/'))
    .filter((path) => path > after)
    .sort();
  const found = paths.map(async (path) => {
    const file = await stat(join(root, path)).catch(ignoreMissing); // it may be gone since it was listed
    return file ? [{ path, bytes: file.size, modifiedMs: file.mtimeMs }] : [];
  });
  return (await Promise.all(found)).flat();
}
