import { randomBytes } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import pLimit from 'p-limit';
import { TidemarkError } from '../../core/errors.ts';
import { makeFolder } from '../../core/fs.ts';
import { type LakeStore, STAGING, type StoredFile } from '../store.ts';
import {
  createFileBody,
  createTextBody,
  discard,
  readBounded,
  type S3Client,
  S3Error,
  type S3Request,
} from './client.ts';
import { incompleteError, type ListingPage, parseListing } from './xml.ts';

/** Of a commit; one has a line for each file that it adds. */
const MAX_TEXT_BYTES = 256 * 1024 ** 2;
/** Of a page of a list. */
const MAX_PAGE_BYTES = 1024 ** 2;

/**
 * A lake in a bucket of an object store that speaks S3 and has conditional puts (`If-None-Match: *`). An object is visible when all of
 * it has arrived.
 * @param folder local folder for files that DuckDB reads and writes
 * @param close closes connections
 */
export function createS3Store(client: S3Client, folder: string, close: () => Promise<void>): LakeStore {
  const { name, address } = client;
  const toKey = (path: string) => `${address.prefix}${path}`;
  const copies = new LocalCopies(folder, (path, file) =>
    client.send({ method: 'GET', key: toKey(path) }, (content) => pipeline(content, createWriteStream(file))),
  );
  let isChecked: Promise<void> | undefined;
  return {
    name,
    async createIfAbsent(path, content) {
      isChecked ??= assertConditional(client, toKey(`${STAGING}/${randomBytes(8).toString('hex')}`));
      await isChecked;
      return putIfAbsent(client, toKey(path), content);
    },
    put: (path, content) => client.send({ method: 'PUT', key: toKey(path), body: createTextBody(content) }, discard),
    putFile: async (path, file) =>
      client.send({ method: 'PUT', key: toKey(path), body: await createFileBody(file) }, discard),
    scratch: () => copies.scratch(),
    list: (path, after) => listFiles(client, path === '' ? '' : `${path}/`, after),
    folders: () => listFolders(client),
    read: (path) => client.send({ method: 'GET', key: toKey(path) }, (content) => readBounded(content, MAX_TEXT_BYTES)),
    remove: (path) => client.send({ method: 'DELETE', key: toKey(path) }, discard),
    locate: (path) => copies.locate(path),
    release: (path) => copies.release(path),
    async close() {
      await copies.close();
      await close();
    },
  };
}

/** @returns whether the object was written; false if it exists */
async function putIfAbsent(client: S3Client, key: string, content: string): Promise<boolean> {
  const body = createTextBody(content);
  const request: S3Request = { method: 'PUT', key, headers: { 'if-none-match': '*' }, body };
  try {
    await client.send(request, discard);
    return true;
  } catch (error) {
    if (error instanceof S3Error && error.status === 412) return false;
    throw error;
  }
}

/** A store without conditional puts would let two writers overwrite each other's commits. @throws TidemarkError UNSAFE */
async function assertConditional(client: S3Client, key: string): Promise<void> {
  try {
    const isWritten = await putIfAbsent(client, key, '').catch(refuseUnknownHeader);
    if (isWritten === undefined || (await putIfAbsent(client, key, ''))) {
      throw new TidemarkError('UNSAFE', `${client.name}: the object store has no conditional puts (If-None-Match: *)`, {
        hint: 'use one that has them, such as AWS S3, MinIO or Ceph: without them two writers can overwrite each other',
      });
    }
  } finally {
    await client.send({ method: 'DELETE', key }, discard).catch(() => undefined); // the first error is the one to show
  }
}

/** Some stores refuse the header instead of ignoring it (501). */
function refuseUnknownHeader(error: unknown): undefined {
  if (error instanceof S3Error && error.status === 501) return undefined;
  throw error;
}

async function* listPages(
  client: S3Client,
  query: Readonly<Record<string, string>>,
): AsyncGenerator<ListingPage, void, undefined> {
  for (let token: string | undefined = ''; token !== undefined; ) {
    const paged = { 'list-type': '2', 'encoding-type': 'url', ...query, ...(token && { 'continuation-token': token }) };
    const text = await client.send({ method: 'GET', key: '', query: paged }, (content) =>
      readBounded(content, MAX_PAGE_BYTES),
    );
    const page = parseListing(text);
    if (page.next === token) throw incompleteError();
    yield page;
    token = page.next;
  }
}

async function listFiles(client: S3Client, path: string, after?: string): Promise<readonly StoredFile[]> {
  const { prefix } = client.address;
  const files: StoredFile[] = [];
  const query = { prefix: `${prefix}${path}`, ...(after !== undefined && { 'start-after': `${prefix}${after}` }) };
  for await (const { objects } of listPages(client, query)) {
    files.push(...objects.map(({ key, ...file }) => ({ path: key.slice(prefix.length), ...file })));
  }
  return files.filter(({ path: file }) => !file.endsWith('/')).sort((a, b) => (a.path < b.path ? -1 : 1));
}

async function listFolders(client: S3Client): Promise<readonly string[]> {
  const { prefix } = client.address;
  const names: string[] = [];
  for await (const { prefixes } of listPages(client, { prefix, delimiter: '/' })) {
    names.push(...prefixes.map((folder) => folder.slice(prefix.length, -1)));
  }
  return names.filter((name) => name !== '' && !name.startsWith('_'));
}

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
    const download = async () => {
      const file = await this.scratch();
      await this.#download(path, file);
      return file;
    };
    const copy = this.#copies.get(path) ?? this.#limit(download);
    this.#copies.set(path, copy);
    return copy;
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
