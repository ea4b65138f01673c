import { createHash } from 'node:crypto';
import { setMaxListeners } from 'node:events';
import { createReadStream, type ReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { AwsV4Signer } from 'aws4fetch';
import { type Dispatcher, request as sendRequest } from 'undici';
import type { S3Address } from '../../config/lake.ts';
import { TidemarkError } from '../../core/errors.ts';
import { hashFile, systemLack } from '../../core/fs.ts';
import { classifyNetworkError, failure, type HttpFailure, type Result } from '../../http/errors.ts';
import { createRequestMetrics } from '../../http/request-metrics.ts';
import { ABORTED, withRetry } from '../../http/retry.ts';
import type { HttpTimeouts } from '../../http/timeouts.ts';
import type { Transport } from '../../http/transport.ts';
import { objectUrl, type S3Access } from './address.ts';
import { findElement } from './xml.ts';

/** The body of a request. A request that is repeated opens it again. */
export interface S3Body {
  readonly bytes: number;
  readonly sha256: string;
  open(): Buffer | ReadStream;
}

/** A local file, read in pieces: once for the signature, and with each request. */
export async function createFileBody(file: string): Promise<S3Body> {
  const { size } = await stat(file);
  return { bytes: size, sha256: await hashFile(file), open: () => createReadStream(file) };
}

export function createTextBody(text: string): S3Body {
  const content = Buffer.from(text);
  const sha256 = createHash('sha256').update(content).digest('hex');
  return { bytes: content.length, sha256, open: () => content };
}

export interface S3Request {
  readonly method: 'GET' | 'PUT' | 'DELETE';
  /** Empty for the bucket. */
  readonly key: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: S3Body;
}

export type S3Response = Pick<Dispatcher.ResponseData, 'statusCode' | 'headers' | 'body'>;

export interface S3ClientOptions {
  /** What messages call the store. */
  readonly name: string;
  readonly address: S3Address;
  readonly access: S3Access;
  readonly transport: Transport;
  readonly timeouts: HttpTimeouts;
  readonly signal: AbortSignal;
}

/** The longest pause that a store may ask for. */
const MAX_WAIT_MS = 120_000;
/** SHA-256 of nothing. */
const EMPTY = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855';

/** Signs requests to a bucket, sends them, and repeats those whose failure may pass. Every request may be sent twice. */
export class S3Client {
  readonly #options: S3ClientOptions;

  constructor(options: S3ClientOptions) {
    this.#options = options;
    // Every request in progress listens to it; Node reports more than ten listeners as a leak.
    setMaxListeners(0, options.signal);
  }

  /**
   * @param read reads the response to its end
   * @throws MissingObjectError for an object that the store does not have; S3Error with one line
   */
  async send<T>(request: S3Request, read: (response: S3Response) => Promise<T>): Promise<T> {
    const { timeouts, signal } = this.#options;
    const result = await withRetry(() => this.#attempt(request, read), {
      policy: 'safe',
      timeouts,
      maxWaitMs: MAX_WAIT_MS,
      metrics: createRequestMetrics(),
      signal,
      onThrottled() {},
      onRetry() {},
    });
    if (result.ok) return result.value;
    throw this.#toError(request, result.problem);
  }

  async #attempt<T>(request: S3Request, read: (response: S3Response) => Promise<T>): Promise<Result<T>> {
    const { timeouts, signal } = this.#options;
    let hasResponse = false;
    try {
      const response = await this.#exchange(request);
      hasResponse = true;
      const { statusCode, headers } = response;
      // No object of a lake and no answer of a store is a page: a proxy asks for something, or another service answers.
      const isPage = String(headers['content-type']).startsWith('text/html');
      if (Math.floor(statusCode / 100) !== 2 || isPage) {
        return failure(classifyRefusal(statusCode, await readBounded(response, MAX_ERROR_BYTES)));
      }
      return { ok: true, value: await read(response) };
    } catch (error) {
      if (signal.aborted) return failure(ABORTED);
      // A local file that cannot be read or written is no fault of the store.
      const isLocal = systemLack(error) !== undefined || (error instanceof Error && 'path' in error);
      if (error instanceof TidemarkError || isLocal) throw error;
      return failure(classifyNetworkError(error, timeouts, hasResponse));
    }
  }

  async #exchange({ method, key, query = {}, headers = {}, body }: S3Request): Promise<S3Response> {
    const { access, address, transport, timeouts, signal } = this.#options;
    const url = objectUrl(access, address, key);
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
    const { accessKeyId, secretAccessKey, sessionToken, region } = access;
    const signed = await new AwsV4Signer({
      method,
      url: url.href,
      headers: { ...headers, 'x-amz-content-sha256': body?.sha256 ?? EMPTY },
      accessKeyId,
      secretAccessKey,
      ...(sessionToken !== undefined && { sessionToken }),
      service: 's3',
      region,
    }).sign();
    return sendRequest(signed.url, {
      method,
      dispatcher: transport.dispatcher,
      headers: { ...Object.fromEntries(signed.headers), 'content-length': String(body?.bytes ?? 0) },
      body: body?.open() ?? null,
      headersTimeout: timeouts.headersMs,
      bodyTimeout: timeouts.idleMs,
      signal,
    });
  }

  #toError({ method, key }: S3Request, problem: HttpFailure): Error {
    const { name, address } = this.#options;
    const path = key.startsWith(address.prefix) ? key.slice(address.prefix.length) : key;
    const what = [problem.status, problem.message].filter((part) => part !== undefined).join(' ');
    const message = `${name}: ${method} ${path === '' ? 'the list of files' : path}: ${what}`;
    if (method === 'GET' && key !== '' && problem.message === MISSING) return new MissingObjectError(message);
    return new S3Error(problem.status, message, problem.hint);
  }
}

/** What a store says of an object that does not exist. A status alone is no such word: whatever is in front of the bucket may send it. */
const MISSING = 'NoSuchKey';

/** An object that does not exist, as the file system reports a missing file. */
export class MissingObjectError extends Error {
  readonly code = 'ENOENT';
}

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

const MAX_ERROR_BYTES = 65_536;

/** Reads a body as text. What is beyond the bound fails. */
export async function readBounded({ body }: S3Response, maxBytes: number): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of body as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > maxBytes) throw new TidemarkError('DATA', `the object store sends more than ${maxBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

const MAX_ANSWER_BYTES = 1024 ** 2;

export const readAnswer = (response: S3Response): Promise<string> => readBounded(response, MAX_ANSWER_BYTES);

/** Reads a body to its end, so that its connection serves the next request. */
export async function discard(response: S3Response): Promise<void> {
  await response.body.dump();
}

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
  AuthorizationHeaderMalformed: 'set AWS_REGION to the region of the bucket',
};
const STRANGER = 'check AWS_ENDPOINT_URL and the proxy settings: what answers there is no object store';
const PASSING = new Set(['ConditionalRequestConflict', 'OperationAborted', 'RequestTimeout', 'SlowDown']);

/** The message of a store may repeat what was signed: only its code is shown. */
function classifyRefusal(status: number, text: string): HttpFailure {
  const [code = ''] = /^[A-Za-z0-9.]{1,60}$/u.exec(findElement(text, 'Code') ?? '') ?? [];
  const isPassing = status >= 500 || status === 429 || status === 408 || PASSING.has(code);
  const hint = HINTS[code] ?? (status === 403 ? HINTS.AccessDenied : code === '' ? STRANGER : undefined);
  return {
    failure: isPassing ? 'server' : 'invalid',
    status,
    message: code === '' ? 'without a code of S3' : code,
    ...(hint !== undefined && { hint }),
    retryable: isPassing && status !== 501 ? 'yes' : 'no',
    notProcessed: false,
  };
}
