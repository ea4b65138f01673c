import { randomBytes } from 'node:crypto';
import { mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import pLimit from 'p-limit';
import { makeFolder } from '../../core/fs.ts';

/** Downloads at the same time. */
const CONCURRENCY = 8;
/** What a killed process has left is removed when it is as old as this. */
const LEFTOVER_MS = 24 * 3_600_000;

/** Copies of objects in a folder of this process. Files of a lake that DuckDB reads never change, so that a copy stays valid. */
export class LocalCopies {
  readonly #parent: string;
  readonly #download: (path: string, file: string) => Promise<void>;
  readonly #copies = new Map<string, Promise<string>>();
  readonly #limit = pLimit(CONCURRENCY);
  #folder: Promise<string> | undefined;

  /** @param parent folder of the folders of all processes */
  constructor(parent: string, download: (path: string, file: string) => Promise<void>) {
    this.#parent = parent;
    this.#download = download;
  }

  /** The copy of an object, which is made once. */
  locate(path: string): Promise<string> {
    const copy = this.#copies.get(path) ?? this.#limit(() => this.#copy(path));
    this.#copies.set(path, copy);
    return copy;
  }

  async #copy(path: string): Promise<string> {
    const file = await this.scratch();
    await this.#download(path, file);
    return file;
  }

  /** A path in the folder that nothing has. */
  async scratch(): Promise<string> {
    this.#folder ??= createFolder(this.#parent);
    return join(await this.#folder, `${randomBytes(8).toString('hex')}.parquet`);
  }

  async release(path: string): Promise<void> {
    const copy = this.#copies.get(path);
    this.#copies.delete(path);
    if (copy) await rm(await copy.catch(() => ''), { force: true });
  }

  async close(): Promise<void> {
    await Promise.allSettled(this.#copies.values());
    this.#copies.clear();
    if (this.#folder) await rm(await this.#folder, { recursive: true, force: true });
    this.#folder = undefined;
  }
}

async function createFolder(parent: string): Promise<string> {
  await makeFolder(parent);
  for (const name of await readdir(parent)) {
    const folder = join(parent, name);
    const { mtimeMs } = await stat(folder).catch(() => ({ mtimeMs: Number.POSITIVE_INFINITY }));
    if (Date.now() - mtimeMs > LEFTOVER_MS) await rm(folder, { recursive: true, force: true });
  }
  return mkdtemp(join(parent, 'files-'));
}
