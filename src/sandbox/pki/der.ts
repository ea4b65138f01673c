/** Writes ASN.1 in its distinguished encoding: the part that certificates and keys need. */

export function der(tag: number, ...parts: readonly Uint8Array[]): Buffer {
  const content = Buffer.concat(parts);
  return Buffer.concat([Buffer.from([tag]), lengthBytes(content.length), content]);
}

function lengthBytes(length: number): Buffer {
  if (length < 0x80) return Buffer.from([length]);
  const bytes = bigintBytes(BigInt(length));
  return Buffer.concat([Buffer.from([0x80 + bytes.length]), bytes]);
}

export function sequence(...parts: readonly Uint8Array[]): Buffer {
  return der(0x30, ...parts);
}

export function set(...parts: readonly Uint8Array[]): Buffer {
  return der(0x31, ...parts);
}

export function integer(value: bigint): Buffer {
  const bytes = bigintBytes(value);
  return der(0x02, bytes[0]! >= 0x80 ? Buffer.concat([Buffer.from([0]), bytes]) : bytes);
}

export function octets(content: Uint8Array): Buffer {
  return der(0x04, content);
}

/** A bit string of whole bytes, `unusedBits` of the last one unused. */
export function bits(content: Uint8Array, unusedBits = 0): Buffer {
  return der(0x03, Buffer.from([unusedBits]), content);
}

export function boolean(value: boolean): Buffer {
  return der(0x01, Buffer.from([value ? 0xff : 0]));
}

export function utf8(text: string): Buffer {
  return der(0x0c, Buffer.from(text));
}

export const NULL = der(0x05);

/** `1.2.840.10045.2.1`. */
export function oid(dotted: string): Buffer {
  const [first = 0, second = 0, ...rest] = dotted.split('.').map(Number);
  return der(0x06, Buffer.from([first * 40 + second, ...rest.flatMap(base128)]));
}

function base128(value: number): number[] {
  const digits = [value & 0x7f];
  for (let left = value >>> 7; left > 0; left >>>= 7) digits.unshift((left & 0x7f) | 0x80);
  return digits;
}

/** UTCTime until 2049, GeneralizedTime from 2050 on, as RFC 5280 requires. */
export function time(date: Date): Buffer {
  const text = `${date.toISOString().replaceAll(/[-:T]/g, '').slice(0, 14)}Z`;
  return date.getUTCFullYear() < 2050 ? der(0x17, Buffer.from(text.slice(2))) : der(0x18, Buffer.from(text));
}

/** The bytes of a number that is not negative, the highest first. */
export function bigintBytes(value: bigint, length?: number): Buffer {
  const hex = value.toString(16);
  const padded =
    length === undefined ? hex.padStart(hex.length + (hex.length % 2), '0') : hex.padStart(length * 2, '0');
  return Buffer.from(padded, 'hex');
}

export function toPem(label: string, content: Uint8Array): string {
  const lines =
    Buffer.from(content)
      .toString('base64')
      .match(/.{1,64}/g) ?? [];
  return `-----BEGIN ${label}-----\n${lines.join('\n')}\n-----END ${label}-----\n`;
}
