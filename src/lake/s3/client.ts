import { setMaxListeners } from 'node:events';
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { AwsV4Signer } from 'aws4fetch';
import pLimit from 'p-limit';
import type { S3Address } from '../../config/lake.ts';
import type { Environment } from '../../config/references.ts';
import type { Context, HttpTimeouts } from '../../core/context.ts';
import { TidemarkError } from '../../core/errors.ts';
import { hashFile } from '../../core/fs.ts';
import { HEADER_TEXT, isHeaderText } from '../../core/header-text.ts';
import { decodeEntities } from '../../core/redact/escapes.ts';
import type { Redactor } from '../../core/redact/redactor.ts';
import { sha256 } from '../../core/sha256.ts';
import { classifyAttempt } from '../../http/classify-attempt.ts';
import { AttemptError, catchAttempt, type HttpFailure } from '../../http/errors.ts';
import { parseRetryAfter } from '../../http/rate-limit-headers.ts';
import { type BodyProgress, createRequestMetrics, type RequestMetrics, readText } from '../../http/response-body.ts';
import { ABORTED, Deadline, needsFresh, withRetry } from '../../http/retry.ts';
import { createTransport } from '../../http/transport.ts';

/** What a request needs besides its object. */
type S3Access = Readonly<ReturnType<typeof readS3Access>>;

/**
 * Reads the credentials, the region and the endpoint from the variables that the tools of AWS use.
 * @param redactor receives the secrets
 * @throws TidemarkError CONFIG
 */
function readS3Access(env: Environment, redactor: Redactor) {
  const sessionToken = env.AWS_SESSION_TOKEN ? requireVariable(env, 'AWS_SESSION_TOKEN') : undefined;
  const secretAccessKey = requireVariable(env, 'AWS_SECRET_ACCESS_KEY');
  for (const secret of [secretAccessKey, sessionToken]) if (secret !== undefined) redactor.add(secret);
  return {
    accessKeyId: requireVariable(env, 'AWS_ACCESS_KEY_ID'),
    secretAccessKey,
    sessionToken,
    region: env.AWS_REGION || env.AWS_DEFAULT_REGION || 'us-east-1',
    /** Undefined for AWS. */
    endpoint: parseEndpoint(env.AWS_ENDPOINT_URL_S3 || env.AWS_ENDPOINT_URL || undefined),
    /** PEM file with the certificates that an endpoint may have. */
    caFile: env.AWS_CA_BUNDLE || undefined,
  };
}

function requireVariable(env: Environment, name: string): string {
  const value = env[name];
  if (value && isHeaderText(value)) return value;
  if (value) throw new TidemarkError('CONFIG', `${name} must be ${HEADER_TEXT}`);
  throw new TidemarkError('CONFIG', `${name} is not set, and the lake is in a bucket`, {
    hint: 'export AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_REGION, or set them in .env beside the configuration',
  });
}

/** The value may have a password, so that no message shows it. */
function parseEndpoint(value: string | undefined): URL | undefined {
  if (value === undefined) return undefined;
  const url = URL.canParse(value) ? new URL(value) : undefined;
  const isPlain = url && url.username === '' && url.password === '' && url.search === '' && url.hash === '';
  if (isPlain && /^https?:$/u.test(url.protocol)) return url;
  throw new TidemarkError('CONFIG', 'AWS_ENDPOINT_URL is not the URL of an object store', {
    hint: 'give one such as https://minio.example:9000, without user and query',
  });
}

/**
 * As the signature has it (RFC 3986): some stores compare that with what is sent, and not with what it means. `encodeURIComponent` leaves
 * five more characters as they are.
 */
const encodeText = (text: string): string =>
  encodeURIComponent(text).replace(/[!'()*]/gu, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`);

/** The URL of an object, or of the bucket for an empty key. */
function objectUrl({ region, endpoint }: S3Access, { bucket }: S3Address, key: string): URL {
  const path = key.split('/').map(encodeText).join('/');
  if (endpoint) return new URL(`${endpoint.pathname.replace(/\/+$/u, '')}/${bucket}/${path}`, endpoint);
  // A certificate of AWS names one label before the region.
  if (bucket.includes('.')) return new URL(`https://s3.${region}.amazonaws.com/${bucket}/${path}`);
  return new URL(`https://${bucket}.s3.${region}.amazonaws.com/${path}`);
}

export interface S3Request {
  readonly method: 'GET' | 'PUT' | 'DELETE';
  /** Empty for the bucket. */
  readonly key: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly text?: string;
  /** A local file, sent instead of `text`: it is read in pieces, once for the signature and once for the request. */
  readonly file?: string;
}

/** Reads the body of a response to its end, so that its connection serves the next request. */
export type ReadBody<T> = (response: Response, progress: BodyProgress) => Promise<T>;

/** A bucket, and how requests to it are sent. */
export type S3Bucket = Readonly<ReturnType<typeof openBucket>>;

export interface S3Options extends Pick<Context, 'env' | 'redactor' | 'signal'> {
  readonly address: S3Address;
  readonly timeouts: HttpTimeouts;
}

/** Requests at the same time: those of one command. */
const CONNECTIONS = 16;

/** @throws TidemarkError CONFIG */
export function openBucket({ address, env, redactor, signal, timeouts }: S3Options) {
  const access = readS3Access(env, redactor);
  // Every request in progress listens to it; Node reports more than ten listeners as a leak.
  setMaxListeners(0, signal);
  return {
    /** What messages call the store. */
    name: `s3://${address.bucket}/${address.prefix}`.replace(/\/$/u, ''),
    address,
    access,
    transport: createTransport({ caFile: access.caFile, concurrency: CONNECTIONS, env, timeouts, redactor }),
    /** Of the connections: the times of a request begin when it has one. */
    slots: pLimit(CONNECTIONS),
    timeouts,
    signal,
  };
}

/** The longest pause that a store may ask for. */
const MAX_WAIT_MS = 120_000;

/**
 * Signs a request, sends it, and repeats it after a failure that may pass: every request may be sent twice.
 * @throws an error with the code ENOENT for an object that the store does not have; S3Error with one line
 */
export async function sendToBucket<T>(bucket: S3Bucket, request: S3Request, read: ReadBody<T>): Promise<T> {
  const { slots, timeouts, signal } = bucket;
  const metrics = createRequestMetrics();
  const sent = withRetry((before) => slots(() => attempt(bucket, request, read, metrics, needsFresh(before))), {
    policy: 'safe',
    timeouts,
    maxWaitMs: MAX_WAIT_MS,
    signal,
    metrics,
    onThrottled() {},
    onRetry() {},
  });
  return sent.catch((error: unknown) => {
    throw toError(bucket, request, catchAttempt(error).problem);
  });
}

async function attempt<T>(
  bucket: S3Bucket,
  request: S3Request,
  read: ReadBody<T>,
  metrics: RequestMetrics,
  isFresh: boolean,
) {
  const { transport, timeouts, signal } = bucket;
  const { method, text } = request;
  const { url, headers } = await sign(bucket, request);
  headers.set('accept-encoding', 'identity'); // not signed, since proxies change it
  const file = request.file === undefined ? undefined : createReadStream(request.file);
  // The headers of a response come when all of a file is sent.
  const headersMs = file ? timeouts.downloadMs : timeouts.headersMs;
  const deadline = new Deadline(signal, timeouts.downloadMs, { ...timeouts, headersMs });
  let response: Response | undefined;
  try {
    response = await transport.fetch(url, { method, headers, body: file ?? text, signal: deadline.signal, isFresh });
    deadline.touch();
    const touch = (bytes: number) => deadline.touch(bytes);
    return await readResponse(response, read, { metrics, touch, signal: deadline.signal });
  } catch (error) {
    if (signal.aborted) throw new AttemptError(ABORTED);
    // a local file that cannot be read or written is no fault of the store
    const problem = deadline.exceeded ?? classifyAttempt(error, timeouts, response !== undefined);
    throw new AttemptError({ ...problem, ...(problem.failure === 'too-large' && { status: response?.status }) });
  } finally {
    deadline.dispose();
    file?.destroy(); // a response may come before all of it is sent
  }
}

async function readResponse<T>(response: Response, read: ReadBody<T>, progress: BodyProgress): Promise<T> {
  // No object of a lake and no answer of a store is a page: a proxy asks for something, or another service answers.
  const isPage = response.headers.get('content-type')?.startsWith('text/html') === true;
  if (response.ok && !isPage) return read(response, progress);
  const text = await readShort(response, progress);
  if (response.ok && text === '') return read(new Response(''), progress); // some stores call it HTML
  const refusal = classifyRefusal(response.status, text);
  throw new AttemptError({ ...refusal, retryAfterMs: parseRetryAfter(response.headers, Date.now()) });
}

async function sign(
  { access, address }: S3Bucket,
  { method, key, query = {}, headers = {}, text = '', file }: S3Request,
): Promise<{ readonly url: URL; readonly headers: Headers }> {
  const url = objectUrl(access, address, key);
  const parts = Object.entries(query).map((pair) => pair.map(encodeText).join('='));
  url.search = parts.join('&');
  const { accessKeyId, secretAccessKey, sessionToken, region } = access;
  const hash = file === undefined ? sha256(text) : await hashFile(file);
  const bytes = file === undefined ? Buffer.byteLength(text) : (await stat(file)).size;
  return new AwsV4Signer({
    method,
    url: url.href,
    headers: { ...headers, 'x-amz-content-sha256': hash, 'content-length': String(bytes) },
    accessKeyId,
    secretAccessKey,
    ...(sessionToken !== undefined && { sessionToken }),
    service: 's3',
    region,
  }).sign();
}

function toError({ name, address }: S3Bucket, { method, key }: S3Request, problem: HttpFailure): Error {
  const path = key.startsWith(address.prefix) ? key.slice(address.prefix.length) : key;
  const what = [problem.status, problem.message].filter((part) => part !== undefined).join(' ');
  const message = `${name}: ${method} ${path === '' ? 'the list of files' : path}: ${what}`;
  const isMissing = method === 'GET' && key !== '' && problem.message === MISSING;
  if (isMissing) return Object.assign(new Error(message), { code: 'ENOENT' }); // as the file system reports a missing file
  return new S3Error(problem.status, message, problem.hint);
}

/** What a store says of an object that does not exist. A status alone is no such word: whatever is in front of the bucket may send it. */
const MISSING = 'NoSuchKey';

/** The store refuses a request, or cannot be reached. */
export class S3Error extends TidemarkError {
  constructor(
    /** Undefined without an answer. */
    readonly status: number | undefined,
    message: string,
    hint = 'check AWS_ENDPOINT_URL, AWS_REGION, the network and the proxy settings, and try again',
  ) {
    super(status === undefined ? 'UNREACHABLE' : 'REFUSED', message, { hint });
  }
}

export function readUpTo(maxBytes: number): ReadBody<string> {
  return (response, progress) => readText(response, { ...progress, maxBytes });
}

/** What a store says of a request. */
const readShort = readUpTo(65_536);

/** Reads what a store says of a request that it calls done: a gateway may send an error with status 200. */
export function readAnswer(maxBytes: number): ReadBody<string> {
  return async (response, progress) => {
    const text = await readUpTo(maxBytes)(response, progress);
    if (!/^(?:<\?xml[^>]*>)?\s*<Error[\s>]/u.test(text.trimStart())) return text;
    throw new AttemptError(classifyRefusal(response.status, text));
  };
}

/** Reads what says nothing. */
export const discard = readAnswer(65_536);

const FULL = 'make space in the store, or raise the quota of the bucket';
const HINTS: Readonly<Record<string, string>> = {
  AccessDenied: 'check that the policy of the key permits to list, read, write and delete in the bucket',
  InvalidAccessKeyId: 'check AWS_ACCESS_KEY_ID',
  XAdminUserNotFound: 'check AWS_ACCESS_KEY_ID', // as versitygw says it
  SignatureDoesNotMatch: 'check AWS_SECRET_ACCESS_KEY and AWS_REGION',
  ExpiredToken: 'get new credentials: AWS_SESSION_TOKEN has expired',
  InvalidToken: 'check AWS_SESSION_TOKEN',
  RequestTimeTooSkewed: 'set the clock of this machine',
  EntityTooLarge: 'publish to a folder, and copy that to the bucket: the store takes no file of this size at once',
  NoSuchBucket: 'create the bucket first',
  PermanentRedirect: 'set AWS_REGION to the region of the bucket',
  TemporaryRedirect: 'set AWS_REGION to the region of the bucket',
  AuthorizationHeaderMalformed: 'set AWS_REGION to the region of the bucket',
  QuotaExceeded: FULL, // of Ceph
  XMinioAdminBucketQuotaExceeded: FULL,
  XMinioStorageFull: FULL,
};
const STRANGER = 'check AWS_ENDPOINT_URL and the proxy settings: what answers there is no object store';
const PASSING = new Set([
  'ConditionalRequestConflict',
  'InternalError',
  'OperationAborted',
  'RequestTimeout',
  'SlowDown',
]);

/** The message of a store may repeat what was signed: only its code is shown. */
function classifyRefusal(status: number, text: string): HttpFailure {
  const [code = ''] = /^[A-Z][A-Za-z0-9.]{0,59}$/u.exec(findElement(text, 'Code') ?? '') ?? [];
  const isPassing = status >= 500 || status === 429 || status === 408 || PASSING.has(code);
  const hint = HINTS[code] ?? (status === 403 ? HINTS.AccessDenied : code === '' ? STRANGER : undefined);
  return {
    failure: isPassing ? 'server' : 'invalid',
    status,
    message: code === '' ? 'without a code of S3' : code,
    ...(hint !== undefined && { hint }),
    retryable: isPassing && status !== 501 ? 'yes' : 'no',
  };
}

/** The text of the first element with this name. */
export function findElement(xml: string, name: string): string | undefined {
  const [content] = findElements(xml, name);
  return content === undefined ? undefined : decodeEntities(content);
}

/** The elements of the few documents of S3 that are read have no attributes that matter, and repeat at one level only. */
export function findElements(xml: string, name: string): readonly string[] {
  const [, ...begun] = xml.split(`<${name}>`);
  return begun.flatMap((text) => text.split(`</${name}>`, 2).slice(0, -1));
}
