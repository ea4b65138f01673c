import { createHash, getFips } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { AwsV4Signer } from 'aws4fetch';
import type { S3Address } from '../../config/lake.ts';
import type { Environment } from '../../config/references.ts';
import { TidemarkError } from '../../core/errors.ts';
import { HEADER_TEXT, isHeaderText } from '../../core/header-text.ts';
import type { Redactor } from '../../core/redact/redactor.ts';

/** What a request needs besides its object. */
export type S3Access = Readonly<ReturnType<typeof readS3Access>>;

/**
 * Reads the credentials, the region and the endpoint from the variables that the tools of AWS use.
 * @param redactor receives the secrets
 * @throws TidemarkError CONFIG
 */
export function readS3Access(env: Environment, redactor: Redactor) {
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

/** The URL and the headers of a request, with its signature of now. */
export async function signRequest(access: S3Access, address: S3Address, request: S3Request) {
  const { method, key, query = {}, headers = {} } = request;
  const url = objectUrl(access, address, key);
  const parts = Object.entries(query).map((pair) => pair.map(encodeText).join('='));
  url.search = parts.join('&');
  const { accessKeyId, secretAccessKey, sessionToken, region } = access;
  return new AwsV4Signer({
    method,
    url: url.href,
    headers: { ...headers, ...(await describeBody(request)) },
    accessKeyId,
    secretAccessKey,
    ...(sessionToken !== undefined && { sessionToken }),
    service: 's3',
    region,
  }).sign();
}

/** A bucket that keeps each object for a time (Object Lock) takes none without its MD5, which Node does not have in FIPS mode. */
async function describeBody({ method, text = '', file }: S3Request): Promise<Readonly<Record<string, string>>> {
  const sha256 = createHash('sha256');
  const md5 = method === 'PUT' && getFips() === 0 ? createHash('md5') : undefined;
  let bytes = 0;
  const pieces: AsyncIterable<Buffer> | readonly Buffer[] = file ? createReadStream(file) : [Buffer.from(text)];
  for await (const piece of pieces) {
    sha256.update(piece);
    md5?.update(piece);
    bytes += piece.length;
  }
  return {
    'x-amz-content-sha256': sha256.digest('hex'),
    'content-length': String(bytes),
    ...(md5 && { 'content-md5': md5.digest('base64') }),
  };
}
