import { TidemarkError } from '../../core/errors.ts';
import { decodePath } from '../delta-log.ts';

/**
 * The few documents of S3 that are read: lists of objects, errors and uploads. Their elements have no attributes that matter, and repeat
 * at one level only, so that cutting the text is enough.
 */

export interface ListedObject {
  readonly key: string;
  readonly bytes: number;
  /** Milliseconds since 1970. */
  readonly modifiedMs: number;
}

/** A page of `ListObjectsV2`. */
export interface ListingPage {
  readonly objects: readonly ListedObject[];
  /** What the delimiter has put together. */
  readonly prefixes: readonly string[];
  /** Where the next page begins; undefined for the last one. */
  readonly next: string | undefined;
}

/** @throws TidemarkError DATA for another document, or a page that does not say where the next one begins: files would be missing */
export function parseListing(xml: string): ListingPage {
  const isEncoded = findElement(xml, 'EncodingType') === 'url';
  const decode = (key = ''): string => {
    const decoded = isEncoded ? decodePath(key.replaceAll('+', ' ')) : key;
    if (decoded === undefined) throw incompleteError();
    return decoded;
  };
  const isTruncated = findElement(xml, 'IsTruncated') === 'true';
  const next = isTruncated ? findElement(xml, 'NextContinuationToken') : undefined;
  if (!xml.includes('<ListBucketResult') || (isTruncated && !next)) throw incompleteError();
  return {
    objects: splitElements(xml, 'Contents').map((content) => ({
      key: decode(findElement(content, 'Key')),
      bytes: Number(findElement(content, 'Size')),
      modifiedMs: Date.parse(findElement(content, 'LastModified') ?? ''),
    })),
    prefixes: splitElements(xml, 'CommonPrefixes').map((content) => decode(findElement(content, 'Prefix'))),
    next,
  };
}

export function incompleteError(): TidemarkError {
  return new TidemarkError('DATA', 'the object store does not answer with a complete list of its objects', {
    hint: 'check AWS_ENDPOINT_URL: a proxy or another service may answer there',
  });
}

/** The text of the first element with this name. */
export function findElement(xml: string, name: string): string | undefined {
  const [content] = splitElements(xml, name);
  return content === undefined ? undefined : unescapeXml(content);
}

function splitElements(xml: string, name: string): readonly string[] {
  return xml
    .split(`<${name}>`)
    .slice(1)
    .map((part) => part.slice(0, part.indexOf(`</${name}>`)));
}

const ENTITIES: Readonly<Record<string, string>> = { lt: '<', gt: '>', amp: '&', quot: '"', apos: "'" };

function unescapeXml(text: string): string {
  return text.replace(/&(?:#x([0-9a-f]{1,6})|#(\d{1,7})|(\w{1,8}));/giu, (whole, hex, decimal, name) => {
    if (name !== undefined) return ENTITIES[name] ?? whole;
    const point = hex === undefined ? Number(decimal) : Number.parseInt(hex, 16);
    return point <= 0x10_ff_ff ? String.fromCodePoint(point) : whole;
  });
}
