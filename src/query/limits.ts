import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
// biome-ignore lint/style/noRestrictedImports: the name of a folder says whose it is
import { pid } from 'node:process';
import { isAlive } from '../warehouse/lock.ts';

/** What one query may use. */
export interface QueryLimits {
  readonly timeoutSeconds: number;
  /** A size as DuckDB reads it, such as `1GB`. */
  readonly memory: string;
  /** Temporary disk space, such as `10GB`. */
  readonly temporary: string;
}

const prefix = () => `tidemark-query-${hostname()}-`;

/** Creates a folder for the temporary files of one query, which nobody else may read. */
export async function createTemporaryFolder(root: string = tmpdir()): Promise<string> {
  return mkdtemp(join(root, `${prefix()}${pid}-`));
}

/** Removes the folders of queries on this host whose process was killed. Folders of other users stay. */
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
