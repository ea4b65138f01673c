import { setMaxListeners } from 'node:events';
import { createReadStream } from 'node:fs';
import pLimit from 'p-limit';
import type { S3Address } from '../../config/lake.ts';
import type { Context, HttpTimeouts } from '../../core/context.ts';
import { TidemarkError } from '../../core/errors.ts';
import { decodeEntities } from '../../core/redact/escapes.ts';
import { classifyAttempt } from '../../http/classify-attempt.ts';
import type { ResponseReader } from '../../http/client.ts';
import { AttemptError, catchAttempt, type HttpFailure } from '../../http/errors.ts';
import { parseRetryAfter } from '../../http/rate-limit-headers.ts';
import { type BodyProgress, createRequestMetrics, type RequestMetrics, readText } from '../../http/response-body.ts';
import { ABORTED, needsFresh, startDeadline, withRetry } from '../../http/retry.ts';
import { createTransport } from '../../http/transport.ts';
import { readS3Access, type S3Request, signRequest } from './request.ts';

/** A bucket, and how requests to it are sent. */
export type S3Bucket = Readonly<ReturnType<typeof openBucket>>;

export interface S3Options extends Pick<Context, 'env' | 'redactor' | 'signal'> {
  readonly address: S3Address;
  readonly timeouts: HttpTimeouts;
}

/** What hints call the settings of a connection. */
const SETTINGS = { url: 'AWS_ENDPOINT_URL', certificates: 'AWS_CA_BUNDLE' };

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
    transport: createTransport({
      caFile: access.caFile,
      caSetting: SETTINGS.certificates,
      concurrency: CONNECTIONS,
      env,
      timeouts,
      redactor,
    }),
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
export async function sendToBucket<T>(bucket: S3Bucket, request: S3Request, read: ResponseReader<T>): Promise<T> {
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
  read: ResponseReader<T>,
  metrics: RequestMetrics,
  isFresh: boolean,
) {
  const { transport, timeouts, signal } = bucket;
  const { method, text } = request;
  const { url, headers } = await signRequest(bucket.access, bucket.address, request);
  headers.set('accept-encoding', 'identity'); // not signed, since proxies change it
  const file = request.file === undefined ? undefined : createReadStream(request.file);
  // A store answers when all of a file is on its disks.
  const headersMs = timeouts.headersMs * (file ? 4 : 1);
  const deadline = startDeadline(signal, timeouts.downloadMs, { ...timeouts, headersMs });
  const body = file && notePieces(file, deadline.sent);
  let response: Response | undefined;
  try {
    response = await transport.fetch(url, { method, headers, body: body ?? text, signal: deadline.signal, isFresh });
    deadline.touch();
    return await readResponse(response, read, { metrics, touch: deadline.touch, signal: deadline.signal });
  } catch (error) {
    if (signal.aborted) throw new AttemptError(ABORTED);
    // a local file that cannot be read or written is no fault of the store
    const problem = deadline.exceeded() ?? classifyAttempt(error, timeouts, response !== undefined, SETTINGS);
    throw new AttemptError({ ...problem, ...(problem.failure === 'too-large' && { status: response?.status }) });
  } finally {
    deadline.dispose();
    file?.destroy(); // a response may come before all of it is sent
  }
}

/** The headers of a response come when all of a file is sent: until then, each piece that is taken shows that the request goes on. */
async function* notePieces(file: AsyncIterable<Buffer>, sent: () => void) {
  for await (const piece of file) {
    sent();
    yield piece;
  }
}

async function readResponse<T>(response: Response, read: ResponseReader<T>, progress: BodyProgress): Promise<T> {
  // No object of a lake and no answer of a store is a page: a proxy asks for something, or another service answers.
  const isPage = response.headers.get('content-type')?.startsWith('text/html') === true;
  if (response.ok && !isPage) return read(response, progress);
  const text = await readShort(response, progress);
  if (response.ok && text === '') return read(new Response(''), progress); // some stores call it HTML
  const refusal = classifyRefusal(response.status, text);
  throw new AttemptError({ ...refusal, retryAfterMs: parseRetryAfter(response.headers, Date.now()) });
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

export function readUpTo(maxBytes: number): ResponseReader<string> {
  return (response, progress) => readText(response, { ...progress, maxBytes });
}

/** What a store says of a request. */
const readShort = readUpTo(65_536);

/** Reads what a store says of a request that it calls done: a gateway may send an error with status 200. */
export function readAnswer(maxBytes: number): ResponseReader<string> {
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
  InvalidTokenId: 'check AWS_SESSION_TOKEN', // as MinIO says it
  RequestTimeTooSkewed: 'set the clock of this machine',
  InvalidObjectState:
    'restore the object from the archive, and leave the lake out of the lifecycle rule that put it there',
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
