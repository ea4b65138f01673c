import { randomBytes } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { TidemarkError } from '../../core/errors.ts';
import { makeFolder } from '../../core/fs.ts';
import type { ResponseReader } from '../../http/client.ts';
import { readChunks } from '../../http/response-body.ts';
import { createTemporaryFolder } from '../../warehouse/temporary-folder.ts';
import { decodePath } from '../delta-log.ts';
import { type LakeStore, STAGING, type StoredFile } from '../store.ts';
import {
  discard,
  findElement,
  findElements,
  openBucket,
  readAnswer,
  readUpTo,
  type S3Bucket,
  S3Error,
  type S3Options,
  sendToBucket,
} from './client.ts';
import type { S3Request } from './request.ts';

/** A commit has a line for each file that it adds. */
const readCommit = readUpTo(256 * 1024 ** 2);
/** A page of a list: a thousand keys of 1,024 bytes, each written as `%XX`, take 3 MiB. */
const readPage = readAnswer(8 * 1024 ** 2);

/**
 * A lake in a bucket of an object store that speaks S3 and has conditional puts (`If-None-Match: *`). An object is visible when all of
 * it has arrived.
 * @param folder local, for files that DuckDB reads and writes
 */
export function createS3Store({ folder, ...options }: S3Options & { readonly folder: string }): LakeStore {
  const bucket = openBucket(options);
  const { name, address, transport, timeouts } = bucket;
  const toKey = (path: string) => `${address.prefix}${path}`;
  const send = async (method: 'PUT' | 'DELETE', path: string, body?: Pick<S3Request, 'text' | 'file'>) =>
    void (await sendToBucket(bucket, { method, key: toKey(path), ...body }, discard));
  const get = <T>(path: string, read: ResponseReader<T>) =>
    sendToBucket(bucket, { method: 'GET', key: toKey(path) }, read);
  const copies = createLocalCopies(folder, (path, file) =>
    get(path, (response, progress) =>
      pipeline(readChunks(response, { ...progress, maxBytes: timeouts.maxDownloadBytes }), createWriteStream(file)),
    ),
  );
  let isChecked: Promise<void> | undefined;
  return {
    name,
    async createIfAbsent(path, content) {
      isChecked ??= assertConditional(bucket, toKey(`${STAGING}/${randomBytes(8).toString('hex')}`));
      await isChecked;
      return putIfAbsent(bucket, toKey(path), content);
    },
    put: (path, text) => send('PUT', path, { text }),
    async putFile(path, fill) {
      const file = await copies.scratch();
      try {
        const result = await fill(file);
        await send('PUT', path, { file });
        return result;
      } finally {
        await rm(file, { force: true });
      }
    },
    list: (path, after) => listFiles(bucket, path, after),
    folders: () => listFolders(bucket),
    read: (path) => get(path, readCommit),
    remove: (path) => send('DELETE', path),
    locate: copies.locate,
    release: copies.release,
    async close() {
      await copies.close();
      await transport.close();
    },
  };
}

/** @returns whether the object was written; false if it exists @throws TidemarkError UNSAFE if the store refuses the header */
async function putIfAbsent(bucket: S3Bucket, key: string, text: string): Promise<boolean> {
  try {
    await sendToBucket(bucket, { method: 'PUT', key, headers: { 'if-none-match': '*' }, text }, discard);
    return true;
  } catch (error) {
    const status = error instanceof S3Error ? error.status : undefined;
    if (status === 501) throw unconditionalError(bucket, NO_CONDITION);
    if (status === 412) return false;
    throw error;
  }
}

/** Objects that two writers each create at the same time: of these pairs, a store without order misses some. */
const CONTESTED = 8;

/**
 * Some stores ignore the header, and some look for the object first and write it afterwards, so that two writers create it.
 * @throws TidemarkError UNSAFE; S3Error from a store that takes no object at all
 */
async function assertConditional(bucket: S3Bucket, key: string): Promise<void> {
  const contested = Array.from({ length: CONTESTED }, (_, index) => `${key}-${index}`);
  const createTwice = (one: string) => Promise.all([1, 2].map(() => putIfAbsent(bucket, one, '')));
  try {
    await sendToBucket(bucket, { method: 'PUT', key, text: '' }, discard);
    if (await putIfAbsent(bucket, key, '')) throw unconditionalError(bucket, NO_CONDITION);
    // Whatever they answer, they open the connections of the pairs: while one opens, requests do not arrive together.
    const read = () => sendToBucket(bucket, { method: 'GET', key }, discard);
    await Promise.allSettled(contested.flatMap(() => [read(), read()]));
    const pairs = await Promise.all(contested.map(createTwice));
    if (pairs.some((created) => created.every(Boolean))) throw unconditionalError(bucket, NO_ORDER);
  } finally {
    const remove = (probe: string) => sendToBucket(bucket, { method: 'DELETE', key: probe }, discard);
    await Promise.allSettled([key, ...contested].map(remove)); // the first error is the one to show
  }
}

const NO_CONDITION = 'the object store has no conditional puts (If-None-Match: *)';
const NO_ORDER = 'the object store has conditional puts (If-None-Match: *) that several writers pass at the same time';

function unconditionalError({ name }: S3Bucket, what: string): TidemarkError {
  return new TidemarkError('UNSAFE', `${name}: ${what}`, {
    hint: 'use one that has them, such as AWS S3, MinIO or Ceph: without them two writers can overwrite each other',
  });
}

async function listFiles(bucket: S3Bucket, folder: string, after = ''): Promise<readonly StoredFile[]> {
  const { prefix } = bucket.address;
  const start = after !== '' && { 'start-after': `${prefix}${after}` };
  const pages = await listPages(bucket, { prefix: `${prefix}${folder}/`, ...start });
  return pages
    .flatMap(({ objects }) => objects)
    .map(({ path: key, ...file }) => ({ path: key.slice(prefix.length), ...file }))
    .filter(({ path }) => path > after && !path.endsWith('/') && !DOTS.test(path)) // not every store knows `start-after`
    .sort((a, b) => (a.path < b.path ? -1 : 1));
}

/** A key with such a part is another one in a URL: to remove it would remove that. */
const DOTS = /(?:^|\/)\.\.?(?:\/|$)/u;

async function listFolders(bucket: S3Bucket): Promise<readonly string[]> {
  const { prefix } = bucket.address;
  const pages = await listPages(bucket, { prefix, delimiter: '/' });
  const names = pages.flatMap(({ prefixes }) => prefixes).map((folder) => folder.slice(prefix.length, -1));
  return names.filter((name) => name !== '' && !name.startsWith('_'));
}

/** Each has up to a thousand files: no list of a lake is as long. */
const MAX_PAGES = 2_000;

async function listPages(bucket: S3Bucket, query: ListingQuery): Promise<readonly ListingPage[]> {
  const pages: ListingPage[] = [];
  const tokens = new Set<string | undefined>();
  for (let token: string | undefined = ''; token !== undefined; token = pages.at(-1)?.next) {
    const paged = { 'list-type': '2', 'encoding-type': 'url', ...query, ...(token && { 'continuation-token': token }) };
    const page = parseListing(await sendToBucket(bucket, { method: 'GET', key: '', query: paged }, readPage));
    const keys = [...page.objects.map(({ path }) => path), ...page.prefixes];
    const isOther = keys.some((key) => !key.startsWith(query.prefix));
    if (isOther || tokens.has(page.next) || tokens.size === MAX_PAGES) throw incompleteError();
    tokens.add(page.next);
    pages.push(page);
  }
  return pages;
}

type ListingQuery = Readonly<Record<string, string>> & { readonly prefix: string };
type ListingPage = Readonly<ReturnType<typeof parseListing>>;

/**
 * Reads a page of `ListObjectsV2`.
 * @throws TidemarkError DATA for another document, or a page without its end or the place of the next one: files would be missing
 */
export function parseListing(xml: string) {
  const encoding = findElement(xml, 'EncodingType') ?? findElement(xml, 'Encoding-Type'); // the latter is Google's
  const decode = (key: string | undefined): string => {
    const decoded = encoding === 'url' ? key && decodePath(key.replaceAll('+', ' ')) : key;
    if (decoded === undefined) throw incompleteError();
    return decoded;
  };
  const findAll = (name: string): readonly string[] => {
    const found = findElements(xml, name);
    if (found.length !== xml.split(`<${name}`).length - 1) throw incompleteError();
    return found;
  };
  const place = findElement(xml, 'NextContinuationToken') || undefined;
  const isTruncated = (findElement(xml, 'IsTruncated') ?? (place ? 'true' : 'false')) !== 'false';
  const next = isTruncated ? place : undefined;
  const isWhole = xml.includes('<ListBucketResult') && xml.trimEnd().endsWith('</ListBucketResult>');
  if (!isWhole || (isTruncated && !next)) throw incompleteError();
  return {
    /** Their paths are the keys. */
    objects: findAll('Contents').map((content) => ({
      path: decode(findElement(content, 'Key')),
      bytes: Number(findElement(content, 'Size')),
      modifiedMs: Date.parse(findElement(content, 'LastModified') ?? ''),
    })),
    /** What the delimiter has put together. */
    prefixes: findAll('CommonPrefixes').map((content) => decode(findElement(content, 'Prefix'))),
    /** Where the next page begins; undefined for the last one. */
    next,
  };
}

function incompleteError(): TidemarkError {
  return new TidemarkError('DATA', 'the object store does not answer with a complete list of its objects', {
    hint: 'check AWS_ENDPOINT_URL: a proxy or another service may answer there',
  });
}

/** Copies of objects in a folder of this process below `parent`. Files of a lake that DuckDB reads never change, so that a copy stays valid. */
export function createLocalCopies(parent: string, download: (path: string, file: string) => Promise<void>) {
  const copies = new Map<string, Promise<string>>();
  let folder: Promise<string> | undefined;
  /** A path that nothing has. */
  const scratch = async (): Promise<string> => {
    folder ??= makeFolder(parent).then(() => createTemporaryFolder(parent));
    return join(await folder, `${randomBytes(8).toString('hex')}.parquet`);
  };
  return {
    scratch,
    /** The copy of an object, which is made once. */
    locate(path: string): Promise<string> {
      const make = async () => {
        const file = await scratch();
        await download(path, file);
        return file;
      };
      const copy = copies.get(path) ?? make();
      copies.set(path, copy);
      return copy;
    },
    async release(path: string): Promise<void> {
      const copy = copies.get(path);
      copies.delete(path);
      if (copy) await rm(await copy.catch(() => ''), { force: true });
    },
    async close(): Promise<void> {
      await Promise.allSettled(copies.values());
      if (folder) await rm(await folder, { recursive: true, force: true });
    },
  };
}
