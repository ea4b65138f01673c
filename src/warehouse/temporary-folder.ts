import { mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
// biome-ignore lint/style/noRestrictedImports: the name of a folder says whose it is
import { pid, uptime } from 'node:process';
import { HOUR_MS } from '../core/clock.ts';
import { ignoreMissing } from '../core/fs.ts';
import { isAlive } from './lock.ts';

/** Creates a folder for temporary files of this process, which nobody else may read. */
export async function createTemporaryFolder(root: string = tmpdir()): Promise<string> {
  await removeAbandonedFolders(root);
  return mkdtemp(join(root, `tidemark-query-${hostname()}-${pid}-`));
}

const NAME = /^tidemark-query-(.+)-(\d+)-\w+$/u;
/** Whether a process of another host still runs is not known: its folder goes when it is as old as this. */
const FOREIGN_MS = 24 * HOUR_MS;

/** Removes the folders whose process was killed. Folders of other users stay. */
export async function removeAbandonedFolders(root: string = tmpdir()): Promise<void> {
  for (const name of await readdir(root)) {
    const [, host, owner] = NAME.exec(name) ?? [];
    if (host === undefined) continue;
    const folder = join(root, name);
    const entry = await stat(folder).catch(ignoreMissing);
    if (!entry || Date.now() - entry.mtimeMs < abandonedAfterMs(host, Number(owner))) continue;
    await rm(folder, { recursive: true, force: true }).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPERM' && error.code !== 'EACCES') throw error;
    });
  }
}

/** How old a folder is that its process has left. */
function abandonedAfterMs(host: string, owner: number): number {
  if (host !== hostname()) return FOREIGN_MS;
  // In a container, a process that was killed had the number of this one. The clock may have been set since.
  if (owner === pid) return uptime() * 1000 + HOUR_MS;
  return isAlive(owner) ? Number.POSITIVE_INFINITY : Number.NEGATIVE_INFINITY;
}
