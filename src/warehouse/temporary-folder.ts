import { rmSync } from 'node:fs';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
// biome-ignore lint/style/noRestrictedImports: the name of a folder says whose it is
import { pid } from 'node:process';
import { type Database, type OpenOptions, openDatabase } from './database.ts';
import { isAlive } from './lock.ts';

const prefix = () => `tidemark-query-${hostname()}-`;

/** Creates a folder for the temporary files of one database, which nobody else may read. */
export async function createTemporaryFolder(root: string = tmpdir()): Promise<string> {
  return mkdtemp(join(root, `${prefix()}${pid}-`));
}

/** Removes the folders on this host whose process was killed. Folders of other users stay. */
export async function removeAbandonedFolders(root: string = tmpdir()): Promise<void> {
  const begin = prefix();
  for (const name of await readdir(root)) {
    const [, owner] = name.startsWith(begin) ? (/^(\d+)-/u.exec(name.slice(begin.length)) ?? []) : [];
    if (owner === undefined || isAlive(Number(owner))) continue;
    await rm(join(root, name), { recursive: true, force: true }).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPERM' && error.code !== 'EACCES') throw error;
    });
  }
}

/**
 * Opens a database that other processes may read at the same time, or one in memory. DuckDB spills to a folder of its own, which
 * `close` removes: in the same folder, two processes would write the same file, and without one, DuckDB uses the current folder.
 */
export async function openWithOwnFolder(
  file: string,
  options: OpenOptions = {},
  root: string = tmpdir(),
): Promise<Database> {
  await removeAbandonedFolders(root);
  const tempDirectory = await createTemporaryFolder(root);
  const remove = () => rmSync(tempDirectory, { recursive: true, force: true });
  try {
    const database = await openDatabase(file, { ...options, tempDirectory });
    const close = () => {
      database.close();
      remove();
    };
    return { ...database, close };
  } catch (error) {
    remove();
    throw error;
  }
}
