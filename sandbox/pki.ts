import { createECDH, createHash, createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto';
import { createMemo, type Random } from './random.ts';

interface CertificateOptions {
  readonly serialNumber: bigint;
  /** The common name; Consul's leaves have none. */
  readonly subject: string;
  /** The SPIFFE ID, in ASCII. */
  readonly uri: string;
  readonly notBefore: Date;
  readonly notAfter: Date;
  readonly key: EcKey;
  readonly issuer: { readonly name: string; readonly key: EcKey };
  readonly isCa: boolean;
}

const certificates = createMemo<string>();

/** An X.509 certificate in the form of Consul's: version 3, key usage, identifiers, and the SPIFFE ID as alternative name. */
export function createCertificate(options: CertificateOptions): string {
  // A number may be beyond 2^53, and a key is known by its point.
  const text = JSON.stringify(options, (_name, value) => (typeof value === 'bigint' ? `${value}` : value));
  return certificates(text, () => signCertificate(options));
}

function signCertificate(options: CertificateOptions): string {
  const { serialNumber, subject, notBefore, notAfter, key, issuer } = options;
  const content = sequence(
    der(0xa0, integer(2n)),
    integer(serialNumber),
    ECDSA_WITH_SHA256,
    commonName(issuer.name),
    sequence(time(notBefore), time(notAfter)),
    commonName(subject),
    key.publicDer,
    der(0xa3, sequence(...listExtensions(options))),
  );
  const signature = bits(issuer.key.sign(content));
  return toPem('CERTIFICATE', sequence(content, ECDSA_WITH_SHA256, signature));
}

/** `SubjectKeyIdentifier` of a key: what Consul calls `SigningKeyID`, without the colons. */
export function keyIdentifier({ point }: EcKey): Buffer {
  return createHash('sha256').update(point).digest();
}

function commonName(name: string): Buffer {
  return name === '' ? sequence() : sequence(der(0x31, sequence(oid('2.5.4.3'), der(0x0c, Buffer.from(name)))));
}

/** Key usage: digital signature, key encipherment, data encipherment and key agreement; of a CA: signing. */
const LEAF_USAGE = bits(Buffer.from([0xb8]), 3);
const CA_USAGE = bits(Buffer.from([0x86]), 1);
const SERVER_AND_CLIENT = sequence(oid('1.3.6.1.5.5.7.3.2'), oid('1.3.6.1.5.5.7.3.1'));

function listExtensions({ uri, key, issuer, isCa }: CertificateOptions): Buffer[] {
  const constraints = isCa ? sequence(TRUE) : sequence();
  const alternative = sequence(der(0x86, Buffer.from(uri)));
  return [
    extension('2.5.29.15', isCa ? CA_USAGE : LEAF_USAGE, true),
    ...(isCa ? [] : [extension('2.5.29.37', SERVER_AND_CLIENT)]),
    extension('2.5.29.19', constraints, true),
    extension('2.5.29.14', octets(keyIdentifier(key))),
    extension('2.5.29.35', sequence(der(0x80, keyIdentifier(issuer.key)))),
    extension('2.5.29.17', alternative, !isCa),
  ];
}

function extension(id: string, value: Buffer, isCritical = false): Buffer {
  return sequence(oid(id), ...(isCritical ? [TRUE] : []), octets(value));
}

export type CurveName = keyof typeof ORDERS;

/** The number of points of each curve. */
const ORDERS = {
  'P-256': 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n,
  'P-384': 0xffffffffffffffffffffffffffffffffffffffffffffffffc7634d81f4372ddf581a0db248b0a77aecec196accc52973n,
  'P-521':
    0x1fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffa51868783bf2f966b7fcc0148f709a5d03bb5c9b8899c47aebb6fb71e91386409n,
};

const OPENSSL_NAMES = { 'P-256': 'prime256v1', 'P-384': 'secp384r1', 'P-521': 'secp521r1' };

const TRUE = der(0x01, Buffer.from([0xff]));
const ECDSA_WITH_SHA256 = sequence(oid('1.2.840.10045.4.3.2'));

/**
 * An elliptic-curve key pair that depends on the generator alone: the same seed gives the same certificates, byte for
 * byte. It protects nothing.
 */
export class EcKey {
  /** The public point, uncompressed. */
  readonly point: Buffer;
  readonly #curve: CurveName;
  readonly #scalar: bigint;

  constructor(random: Random, curve: CurveName = 'P-256') {
    this.#curve = curve;
    this.#scalar = (BigInt(`0x${random.hex(scalarBytes(curve) * 2)}`) % (ORDERS[curve] - 1n)) + 1n;
    this.point = multiplyGenerator(this.#scalar, curve);
  }

  /** SubjectPublicKeyInfo. */
  get publicDer(): Buffer {
    return createPublicKey(this.#key()).export({ type: 'spki', format: 'der' });
  }

  /** The form that Consul writes private keys in. */
  get privatePem(): string {
    return String(this.#key().export({ type: 'sec1', format: 'pem' }));
  }

  #key(): KeyObject {
    const bytes = scalarBytes(this.#curve);
    const d = bigintBytes(this.#scalar, bytes).toString('base64url');
    const x = this.point.toString('base64url', 1, bytes + 1);
    const y = this.point.toString('base64url', bytes + 1);
    return createPrivateKey({ format: 'jwk', key: { kty: 'EC', crv: this.#curve, d, x, y } });
  }

  /** ECDSA with SHA-256. The secret number comes from key and message, so that the signature is always the same. */
  sign(message: Uint8Array): Buffer {
    const order = ORDERS[this.#curve];
    const digest = BigInt(`0x${createHash('sha256').update(message).digest('hex')}`);
    const nonce = createHash('sha512').update(bigintBytes(this.#scalar)).update(message).digest('hex');
    const secret = (BigInt(`0x${nonce}`) % (order - 1n)) + 1n;
    const r = pointX(multiplyGenerator(secret, this.#curve)) % order;
    const s = (inverse(secret, order) * (digest + r * this.#scalar)) % order;
    return sequence(integer(r), integer(s));
  }
}

/** The public key of an RSA pair that nobody has: its modulus is a random odd number. */
export function createRsaPublicDer(random: Random, modulusBits: number): Buffer {
  const modulus = BigInt(`0x${random.hex(modulusBits / 4)}`) | (1n << BigInt(modulusBits - 1)) | 1n;
  const key = { kty: 'RSA', n: bigintBytes(modulus).toString('base64url'), e: 'AQAB' };
  return createPublicKey({ format: 'jwk', key }).export({ type: 'spki', format: 'der' });
}

function scalarBytes(curve: CurveName): number {
  return bigintBytes(ORDERS[curve]).length;
}

/** The largest curve takes milliseconds for one. */
const points = createMemo<Buffer>();

function multiplyGenerator(scalar: bigint, curve: CurveName): Buffer {
  return points(`${curve} ${scalar.toString(16)}`, () => {
    const ecdh = createECDH(OPENSSL_NAMES[curve]);
    ecdh.setPrivateKey(bigintBytes(scalar, scalarBytes(curve)));
    return ecdh.getPublicKey();
  });
}

function pointX(point: Buffer): bigint {
  return BigInt(`0x${point.subarray(1, (point.length + 1) / 2).toString('hex')}`);
}

/** By the extended Euclidean algorithm. */
function inverse(value: bigint, modulus: bigint): bigint {
  let [a, b] = [value % modulus, modulus];
  let [x, y] = [1n, 0n];
  while (b !== 0n) {
    const quotient = a / b;
    [a, b] = [b, a - quotient * b];
    [x, y] = [y, x - quotient * y];
  }
  return ((x % modulus) + modulus) % modulus;
}

/** Writes ASN.1 in its distinguished encoding: the part that certificates and keys need. */

function der(tag: number, ...parts: readonly Uint8Array[]): Buffer {
  const content = Buffer.concat(parts);
  const length = bigintBytes(BigInt(content.length));
  const head = content.length < 0x80 ? [tag] : [tag, 0x80 + length.length];
  return Buffer.concat([Buffer.from(head), length, content]);
}

function sequence(...parts: readonly Uint8Array[]): Buffer {
  return der(0x30, ...parts);
}

function integer(value: bigint): Buffer {
  const bytes = bigintBytes(value);
  return der(0x02, bytes[0]! >= 0x80 ? Buffer.concat([Buffer.from([0]), bytes]) : bytes);
}

function octets(content: Uint8Array): Buffer {
  return der(0x04, content);
}

/** A bit string of whole bytes, `unusedBits` of the last one unused. */
function bits(content: Uint8Array, unusedBits = 0): Buffer {
  return der(0x03, Buffer.from([unusedBits]), content);
}

/** `1.2.840.10045.2.1`. */
function oid(dotted: string): Buffer {
  const [first = 0, second = 0, ...rest] = dotted.split('.').map(Number);
  return der(0x06, Buffer.from([first * 40 + second, ...rest.flatMap(base128)]));
}

function base128(value: number): number[] {
  const digits = [value & 0x7f];
  for (let left = value >>> 7; left > 0; left >>>= 7) digits.unshift((left & 0x7f) | 0x80);
  return digits;
}

/** UTCTime until 2049, GeneralizedTime from 2050 on, as RFC 5280 requires. */
function time(date: Date): Buffer {
  const text = `${date.toISOString().replaceAll(/[-:T]/g, '').slice(0, 14)}Z`;
  return date.getUTCFullYear() < 2050 ? der(0x17, Buffer.from(text.slice(2))) : der(0x18, Buffer.from(text));
}

/** The bytes of a number that is not negative, the highest first. */
function bigintBytes(value: bigint, length = 0): Buffer {
  const hex = value.toString(16);
  return Buffer.from(hex.padStart(Math.max(length * 2, hex.length + (hex.length % 2)), '0'), 'hex');
}

export function toPem(label: string, content: Uint8Array): string {
  const lines = Buffer.from(content)
    .toString('base64')
    .replaceAll(/.{64}(?=.)/g, '$&\n');
  return `-----BEGIN ${label}-----\n${lines}\n-----END ${label}-----\n`;
}
