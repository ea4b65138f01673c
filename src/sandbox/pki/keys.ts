import { createECDH, createHash } from 'node:crypto';
import type { Random } from '../prng.ts';
import { bigintBytes, bits, der, integer, NULL, octets, oid, sequence, toPem } from './der.ts';

export type CurveName = 'P-256' | 'P-384' | 'P-521';

interface Curve {
  readonly name: CurveName;
  readonly openssl: string;
  readonly oid: string;
  /** The number of points. */
  readonly order: bigint;
  readonly bytes: number;
}

const CURVES: Readonly<Record<CurveName, Curve>> = {
  'P-256': {
    name: 'P-256',
    openssl: 'prime256v1',
    oid: '1.2.840.10045.3.1.7',
    order: 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n,
    bytes: 32,
  },
  'P-384': {
    name: 'P-384',
    openssl: 'secp384r1',
    oid: '1.3.132.0.34',
    order: 0xffffffffffffffffffffffffffffffffffffffffffffffffc7634d81f4372ddf581a0db248b0a77aecec196accc52973n,
    bytes: 48,
  },
  'P-521': {
    name: 'P-521',
    openssl: 'secp521r1',
    oid: '1.3.132.0.35',
    order:
      0x1fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffa51868783bf2f966b7fcc0148f709a5d03bb5c9b8899c47aebb6fb71e91386409n,
    bytes: 66,
  },
};

const EC_PUBLIC_KEY = '1.2.840.10045.2.1';
const RSA_ENCRYPTION = '1.2.840.113549.1.1.1';
const ECDSA_WITH_SHA256 = sequence(oid('1.2.840.10045.4.3.2'));

/**
 * An elliptic-curve key pair that depends on the generator alone: the same seed gives the same certificates, byte for
 * byte. It protects nothing.
 */
export class EcKey {
  readonly curve: CurveName;
  /** The public point, uncompressed. */
  readonly point: Buffer;
  readonly #curve: Curve;
  readonly #scalar: bigint;

  constructor(random: Random, curve: CurveName = 'P-256') {
    this.curve = curve;
    this.#curve = CURVES[curve];
    this.#scalar = randomScalar(random, this.#curve);
    this.point = multiplyGenerator(this.#scalar, this.#curve);
  }

  /** SubjectPublicKeyInfo. */
  get publicDer(): Buffer {
    return sequence(sequence(oid(EC_PUBLIC_KEY), oid(this.#curve.oid)), bits(this.point));
  }

  /** The form that Consul writes private keys in. */
  get privatePem(): string {
    const { oid: name, bytes } = this.#curve;
    const scalar = octets(bigintBytes(this.#scalar, bytes));
    return toPem('EC PRIVATE KEY', sequence(integer(1n), scalar, der(0xa0, oid(name)), der(0xa1, bits(this.point))));
  }

  get signatureAlgorithm(): Buffer {
    return ECDSA_WITH_SHA256;
  }

  /** ECDSA with SHA-256. The secret number comes from key and message, so that the signature is always the same. */
  sign(message: Uint8Array): Buffer {
    const { order } = this.#curve;
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
  const key = sequence(integer(modulus), integer(65_537n));
  return sequence(sequence(oid(RSA_ENCRYPTION), NULL), bits(key));
}

function randomScalar(random: Random, { order, bytes }: Curve): bigint {
  return (BigInt(`0x${random.hex(bytes * 2)}`) % (order - 1n)) + 1n;
}

function multiplyGenerator(scalar: bigint, { openssl, bytes }: Curve): Buffer {
  const ecdh = createECDH(openssl);
  ecdh.setPrivateKey(bigintBytes(scalar, bytes));
  return ecdh.getPublicKey();
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
