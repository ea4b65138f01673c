import type { S3Address } from '../../config/lake.ts';
import { TidemarkError } from '../../core/errors.ts';
import { HEADER_TEXT, isHeaderText } from '../../core/header-text.ts';
import type { Redactor } from '../../core/redact/redactor.ts';

/** What a request needs besides its object. */
export interface S3Access {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken: string | undefined;
  readonly region: string;
  /** Undefined for AWS. */
  readonly endpoint: URL | undefined;
  /** PEM file with the certificates that an endpoint may have. */
  readonly caFile: string | undefined;
}

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Reads the credentials, the region and the endpoint from the variables that the tools of AWS use.
 * @param redactor receives the secrets
 * @throws TidemarkError CONFIG
 */
export function readS3Access(env: Environment, redactor: Redactor): S3Access {
  const sessionToken = env.AWS_SESSION_TOKEN ? requireVariable(env, 'AWS_SESSION_TOKEN') : undefined;
  const secretAccessKey = requireVariable(env, 'AWS_SECRET_ACCESS_KEY');
  for (const secret of [secretAccessKey, sessionToken]) if (secret !== undefined) redactor.add(secret);
  return {
    accessKeyId: requireVariable(env, 'AWS_ACCESS_KEY_ID'),
    secretAccessKey,
    sessionToken,
    region: env.AWS_REGION || env.AWS_DEFAULT_REGION || 'us-east-1',
    endpoint: parseEndpoint(env.AWS_ENDPOINT_URL_S3 || env.AWS_ENDPOINT_URL || undefined),
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

/** The URL of an object, or of the bucket for an empty key. */
export function objectUrl({ region, endpoint }: S3Access, { bucket }: S3Address, key: string): URL {
  const path = key.split('/').map(encodeURIComponent).join('/');
  if (endpoint) return new URL(`${endpoint.pathname.replace(/\/+$/u, '')}/${bucket}/${path}`, endpoint);
  // A certificate of AWS names one label before the region.
  if (bucket.includes('.')) return new URL(`https://s3.${region}.amazonaws.com/${bucket}/${path}`);
  return new URL(`https://${bucket}.s3.${region}.amazonaws.com/${path}`);
}
