import { createHash, createPublicKey, verify } from 'node:crypto';

/** Ed25519 keys as a line of `~/.ssh/id_ed25519.pub`, and the signatures of `ssh-keygen -Y sign` (PROTOCOL.sshsig of OpenSSH). */

const KEY_TYPE = 'ssh-ed25519';
const KEY_BYTES = 32;
const SIGNATURE_BYTES = 64;
const MAGIC = Buffer.from('SSHSIG');
const VERSION = 1;
const HASHES = ['sha256', 'sha512'];
const ARMOR = /^\s*-----BEGIN SSH SIGNATURE-----\s+([A-Za-z0-9+/=\s]+?)\s*-----END SSH SIGNATURE-----\s*$/u;

/** The 32 bytes of the key in a line `ssh-ed25519 AAAA… comment`; undefined for anything else. */
export function parseSshKey(line: string): Buffer | undefined {
  const [type, text = ''] = line.trim().split(/\s+/u);
  return type === KEY_TYPE ? parseKeyBlob(Buffer.from(text, 'base64')) : undefined;
}

function parseKeyBlob(blob: Buffer): Buffer | undefined {
  const [type, key, ...more] = readStrings(blob) ?? [];
  const isKey = type?.toString() === KEY_TYPE && key?.length === KEY_BYTES && more.length === 0;
  return isKey ? key : undefined;
}

interface SignedText {
  readonly text: string;
  /** Keeps a signature for one purpose from being taken for another. */
  readonly namespace: string;
  /** In armor, as `ssh-keygen -Y sign` writes it. */
  readonly signature: string;
  /** The line of the public key that must have signed. */
  readonly key: string;
}

/** Why a signature does not show that the key signed the text; undefined where it does. */
export function explainSignature({ text, namespace, signature, key }: SignedText): string | undefined {
  const parts = parseSignature(signature);
  const expected = parseSshKey(key);
  if (!parts || !expected) return 'it is not an Ed25519 signature of `ssh-keygen -Y sign`';
  if (parts.namespace !== namespace) return `it is of namespace ${parts.namespace}, not ${namespace}`;
  if (!parts.key.equals(expected)) return 'another key made it';
  const digest = createHash(parts.hash).update(text).digest();
  const signed = Buffer.concat([MAGIC, ...[namespace, '', parts.hash, digest].map(toWire)]);
  const x = expected.toString('base64url');
  const publicKey = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' });
  return verify(null, signed, publicKey, parts.value) ? undefined : 'it is of another text';
}

function parseSignature(armored: string) {
  const blob = Buffer.from(ARMOR.exec(armored)?.[1] ?? '', 'base64');
  const start = MAGIC.length + 4;
  if (blob.length < start || !blob.subarray(0, MAGIC.length).equals(MAGIC)) return undefined;
  if (blob.readUInt32BE(MAGIC.length) !== VERSION) return undefined;
  const [keyBlob, namespace, reserved, hash, inner, ...more] = readStrings(blob.subarray(start)) ?? [];
  const key = keyBlob && parseKeyBlob(keyBlob);
  const [type, value] = (inner && readStrings(inner)) ?? [];
  if (!key || !namespace || !hash || !value || reserved?.length !== 0 || more.length > 0) return undefined;
  const isKnown = type?.toString() === KEY_TYPE && value.length === SIGNATURE_BYTES && HASHES.includes(hash.toString());
  return isKnown ? { key, namespace: namespace.toString(), hash: hash.toString(), value } : undefined;
}

/** The strings of SSH's wire format, each after its length; undefined where the bytes are not just those. */
function readStrings(bytes: Buffer): readonly Buffer[] | undefined {
  const strings: Buffer[] = [];
  for (let at = 0; at < bytes.length; ) {
    const end = at + 4 <= bytes.length ? at + 4 + bytes.readUInt32BE(at) : Number.POSITIVE_INFINITY;
    if (end > bytes.length) return undefined;
    strings.push(bytes.subarray(at + 4, end));
    at = end;
  }
  return strings;
}

function toWire(value: string | Buffer): Buffer {
  const bytes = Buffer.from(value);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(bytes.length);
  return Buffer.concat([length, bytes]);
}
