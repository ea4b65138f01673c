import { X509Certificate } from 'node:crypto';
import { sha256 } from '../../../core/sha256.ts';

/** What a certificate says of itself, without its text (RFC 5280). A certificate that cannot be read has a fingerprint alone. */
export interface CertificateFacts {
  readonly [name: string]: string | number | null;
  /** SHA-256 of the certificate, or of the text that cannot be read. */
  readonly fingerprint: string;
}

const PEM = /-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/gu;

/** The certificates of a PEM text, in its order. A text without one counts as one that cannot be read. */
export function describeCertificates(pem: string): readonly CertificateFacts[] {
  return (pem.match(PEM) ?? [pem]).map(describeCertificate);
}

function describeCertificate(pem: string): CertificateFacts {
  try {
    const certificate = new X509Certificate(pem);
    return {
      fingerprint: certificate.fingerprint256.replaceAll(':', '').toLowerCase(),
      subject: toOneLine(certificate.subject),
      issuer: toOneLine(certificate.issuer),
      serial: certificate.serialNumber.toLowerCase(),
      not_before: new Date(certificate.validFrom).toISOString(),
      not_after: new Date(certificate.validTo).toISOString(),
      names: certificate.subjectAltName ?? null,
      ...describeKey(certificate),
      ...readDer(certificate.raw),
    };
  } catch {
    return { fingerprint: sha256(pem) };
  }
}

/** Node has one attribute of a name on a line; a certificate without a name has none. */
const toOneLine = (name: string | undefined) => (name ?? '').replaceAll('\n', ', ');

/** Null where OpenSSL does not know the kind of the key. */
function describeKey(certificate: X509Certificate) {
  try {
    const { asymmetricKeyType: type, asymmetricKeyDetails: details } = certificate.publicKey;
    return { key_type: type ?? null, key_bits: details?.modulusLength ?? certificate.toLegacyObject().bits ?? null };
  } catch {
    return { key_type: null, key_bits: null };
  }
}

/** Names of signature algorithms (RFC 3279, 4055, 5758 and 8410). Others keep their number. */
const ALGORITHMS: Readonly<Record<string, string>> = {
  '1.2.840.113549.1.1.4': 'md5WithRSAEncryption',
  '1.2.840.113549.1.1.5': 'sha1WithRSAEncryption',
  '1.2.840.113549.1.1.10': 'rsassaPss',
  '1.2.840.113549.1.1.11': 'sha256WithRSAEncryption',
  '1.2.840.113549.1.1.12': 'sha384WithRSAEncryption',
  '1.2.840.113549.1.1.13': 'sha512WithRSAEncryption',
  '1.2.840.10045.4.1': 'ecdsa-with-SHA1',
  '1.2.840.10045.4.3.2': 'ecdsa-with-SHA256',
  '1.2.840.10045.4.3.3': 'ecdsa-with-SHA384',
  '1.2.840.10045.4.3.4': 'ecdsa-with-SHA512',
  '1.3.101.112': 'Ed25519',
  '1.3.101.113': 'Ed448',
};

/** The hash of RSASSA-PSS is one of its parameters (RFC 4055, section 3.1), and SHA-1 where there is none. */
const HASHES: Readonly<Record<string, string>> = {
  '1.2.840.113549.2.5': 'MD5',
  '1.3.14.3.2.26': 'SHA1',
  '2.16.840.1.101.3.4.2.1': 'SHA256',
  '2.16.840.1.101.3.4.2.2': 'SHA384',
  '2.16.840.1.101.3.4.2.3': 'SHA512',
};

function nameAlgorithm([id, parameters]: readonly Element[]): string {
  const number = readOid(id?.value);
  const name = ALGORITHMS[number] ?? number;
  if (name !== 'rsassaPss') return name;
  const hash = readElements(parameters?.value).find(({ tag }) => tag === 0xa0);
  if (!hash) return `${name}-with-SHA1`;
  const hashNumber = readOid(readElements(readElements(hash.value)[0]?.value)[0]?.value);
  return HASHES[hashNumber] ? `${name}-with-${HASHES[hashNumber]}` : name;
}

const SUBJECT_KEY = '2.5.29.14';
const AUTHORITY_KEY = '2.5.29.35';

/** What Node does not tell: RFC 5280, sections 4.1 (structure), 4.2.1.1 and 4.2.1.2 (key identifiers). */
function readDer(raw: Uint8Array) {
  const [certificate] = readElements(raw);
  const [content, algorithm] = readElements(certificate?.value);
  const extensions = readElements(readElements(content?.value).find(({ tag }) => tag === 0xa3)?.value)[0];
  const values = new Map(
    readElements(extensions?.value).map(({ value }) => {
      const parts = readElements(value);
      return [readOid(parts[0]?.value), parts.at(-1)?.value];
    }),
  );
  const signer = readElements(readElements(values.get(AUTHORITY_KEY))[0]?.value).find(({ tag }) => tag === 0x80);
  return {
    signature_algorithm: nameAlgorithm(readElements(algorithm?.value)),
    key_id: toHex(readElements(values.get(SUBJECT_KEY))[0]?.value),
    signer_key_id: toHex(signer?.value),
  };
}

interface Element {
  readonly tag: number;
  readonly value: Uint8Array;
}

/** The elements of DER (X.690, section 8.1), as far as they are whole. */
function readElements(bytes: Uint8Array = new Uint8Array()): readonly Element[] {
  const elements: Element[] = [];
  for (let at = 0; at + 2 <= bytes.length; ) {
    const first = bytes[at + 1] ?? 0;
    const sizeBytes = first < 0x80 ? 0 : first & 0x7f;
    const size =
      sizeBytes === 0 ? first : bytes.subarray(at + 2, at + 2 + sizeBytes).reduce((sum, byte) => sum * 256 + byte, 0);
    const start = at + 2 + sizeBytes;
    if (start + size > bytes.length) break;
    elements.push({ tag: bytes[at] ?? 0, value: bytes.subarray(start, start + size) });
    at = start + size;
  }
  return elements;
}

/** An object identifier in digits (X.690, section 8.19). */
function readOid(bytes: Uint8Array = new Uint8Array()): string {
  const numbers: number[] = [];
  let number = 0;
  for (const byte of bytes) {
    number = number * 128 + (byte & 0x7f);
    if (byte >= 0x80) continue;
    numbers.push(number);
    number = 0;
  }
  const [first = 0, ...others] = numbers;
  const root = Math.min(2, Math.floor(first / 40));
  return [root, first - root * 40, ...others].join('.');
}

const toHex = (bytes: Uint8Array | undefined) => (bytes ? Buffer.from(bytes).toString('hex') : null);
