import { randomBytes } from 'node:crypto';
import { stat } from 'node:fs/promises';
import type { S3Address } from '../../config/lake.ts';
import { TidemarkError } from '../../core/errors.ts';
import { type LakeStore, STAGING, type StoredFile } from '../store.ts';
import { createFileBody, createTextBody, type S3Body, writeChunks } from './body.ts';
import { readBounded, type S3Client, S3Error, type S3Request } from './client.ts';
import { LocalCopies } from './local-copies.ts';
import { DEFAULT_PARTS, discard, type PartSizes, readAnswer, uploadFile } from './upload.ts';
import { type ListingPage, parseListing } from './xml.ts';

export interface S3StoreOptions {
  /** `s3://BUCKET/PREFIX`. */
  readonly name: string;
  readonly address: S3Address;
  readonly client: S3Client;
  /** Local folder for files that DuckDB reads and writes. */
  readonly folder: string;
  readonly parts?: PartSizes;
  /** Closes connections. */
  readonly close: () => Promise<void>;
}

/** Of a commit; one has a line for each file that it adds. */
const MAX_TEXT_BYTES = 256 * 1024 ** 2;

/**
 * A lake in a bucket of an object store that speaks S3 and has conditional puts (`If-None-Match: *`). An object is visible when all of
 * it has arrived.
 */
export function createS3Store({ name, address, client, folder, parts, close }: S3StoreOptions): LakeStore {
  const toKey = (path: string) => `${address.prefix}${path}`;
  const copies = new LocalCopies(folder, (path, file) =>
    client.send({ method: 'GET', key: toKey(path) }, ({ body }) => writeChunks(file, body as AsyncIterable<Buffer>)),
  );
  let isChecked: Promise<void> | undefined;
  const create = async (path: string, body: S3Body): Promise<boolean> => {
    isChecked ??= assertConditional(name, client, toKey(`${STAGING}/${randomBytes(8).toString('hex')}`));
    await isChecked;
    return putIfAbsent(client, toKey(path), body);
  };
  return {
    name,
    createIfAbsent: (path, content) => create(path, createTextBody(content)),
    createFileIfAbsent: async (path, file) => create(path, await createFileBody(file, 0, (await stat(file)).size)),
    put: async (path, content) => {
      await client.send({ method: 'PUT', key: toKey(path), body: createTextBody(content) }, discard);
    },
    putFile: (path, file) => uploadFile(client, toKey(path), file, parts ?? DEFAULT_PARTS),
    scratch: () => copies.scratch(),
    list: (path, after) => listFiles(client, address, path === '' ? '' : `${path}/`, after),
    folders: () => listFolders(client, address),
    read: (path) =>
      client.send({ method: 'GET', key: toKey(path) }, (response) => readBounded(response, MAX_TEXT_BYTES)),
    remove: async (path) => {
      await client.send({ method: 'DELETE', key: toKey(path) }, discard);
    },
    locate: (path) => copies.locate(path),
    release: (path) => copies.release(path),
    async close() {
      await copies.close();
      await close();
    },
  };
}

/** @returns whether the object was written; false if it exists */
async function putIfAbsent(client: S3Client, key: string, body: S3Body): Promise<boolean> {
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
async function assertConditional(name: string, client: S3Client, key: string): Promise<void> {
  const body = createTextBody('');
  try {
    const isWritten = await putIfAbsent(client, key, body).catch(refuseUnknownHeader);
    if (isWritten === undefined || (await putIfAbsent(client, key, body))) {
      throw new TidemarkError('UNSAFE', `${name}: the object store has no conditional puts (If-None-Match: *)`, {
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
    const page: ListingPage = parseListing(
      await client.send({ method: 'GET', key: '', query: paged }, (response) => readAnswer(response)),
    );
    yield page;
    token = page.next;
  }
}

async function listFiles(
  client: S3Client,
  { prefix }: S3Address,
  path: string,
  after?: string,
): Promise<readonly StoredFile[]> {
  const files: StoredFile[] = [];
  const query = { prefix: `${prefix}${path}`, ...(after !== undefined && { 'start-after': `${prefix}${after}` }) };
  for await (const { objects } of listPages(client, query)) {
    for (const { key, bytes, modifiedMs } of objects) {
      files.push({ path: key.slice(prefix.length), bytes, modifiedMs });
    }
  }
  return files.filter(({ path: file }) => !file.endsWith('/')).sort((a, b) => (a.path < b.path ? -1 : 1));
}

async function listFolders(client: S3Client, { prefix }: S3Address): Promise<readonly string[]> {
  const names: string[] = [];
  for await (const { prefixes } of listPages(client, { prefix, delimiter: '/' })) {
    names.push(...prefixes.map((folder) => folder.slice(prefix.length, -1)));
  }
  return names.filter((name) => name !== '' && !name.startsWith('_'));
}
