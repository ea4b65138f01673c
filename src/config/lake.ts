/** A bucket of an object store, and what the keys of a lake begin with: `s3://BUCKET/PREFIX`. */
export type S3Address = Readonly<NonNullable<ReturnType<typeof parseS3Address>>>;

const ADDRESS = /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])((?:\/[^/\s\p{Cc}]+)*)\/*$/u;

/** @returns undefined for what is not the address of a bucket. The prefix ends with `/` unless it is empty. */
export function parseS3Address(location: string) {
  const [, bucket, path = ''] = ADDRESS.exec(location) ?? [];
  const isRelative = path.split('/').some((name) => name === '.' || name === '..');
  if (bucket === undefined || isRelative) return undefined;
  return { bucket, prefix: path === '' ? '' : `${path.slice(1)}/` };
}

/** Whether the location of a lake is an address and not a folder. */
export function isLakeAddress(location: string): boolean {
  return /^[a-z][a-z0-9+.-]*:\/\//iu.test(location);
}
