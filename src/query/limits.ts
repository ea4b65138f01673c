import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
// biome-ignore lint/style/noRestrictedImports: only the system knows whether the process of a folder is alive
import { kill, pid } from 'node:process';

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
    if (owner === undefined || isRunning(Number(owner))) continue;
    await rm(join(root, name), { recursive: true, force: true }).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPERM' && error.code !== 'EACCES') throw error;
    });
  }
}

function isRunning(owner: number): boolean {
  try {
    kill(owner, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
