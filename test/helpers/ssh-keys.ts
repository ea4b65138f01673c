import { createHash, generateKeyPairSync, sign } from 'node:crypto';

/** An Ed25519 key as people have them for SSH, which signs as `ssh-keygen -Y sign` does. */
export interface SshKey {
  /** The line of the public key. */
  readonly line: string;
  sign(text: string, options?: { readonly namespace?: string; readonly hash?: string }): string;
}

export function createSshKey(): SshKey {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519');
  const raw = Buffer.from(publicKey.export({ format: 'jwk' }).x as string, 'base64url');
  const blob = wire('ssh-ed25519', raw);
  return {
    line: `ssh-ed25519 ${blob.toString('base64')} a comment`,
    sign: (text, { namespace = 'tidemark-plan', hash = 'sha512' } = {}) => {
      const digest = createHash(hash).update(text).digest();
      const value = sign(null, Buffer.concat([MAGIC, wire(namespace, '', hash, digest)]), privateKey);
      return armor(Buffer.concat([MAGIC, VERSION, wire(blob, namespace, '', hash, wire('ssh-ed25519', value))]));
    },
  };
}

const MAGIC = Buffer.from('SSHSIG');
const VERSION = Buffer.from([0, 0, 0, 1]);

function wire(...strings: readonly (string | Buffer)[]): Buffer {
  const parts = strings.map((text) => {
    const length = Buffer.alloc(4);
    length.writeUInt32BE(Buffer.byteLength(text));
    return Buffer.concat([length, Buffer.from(text)]);
  });
  return Buffer.concat(parts);
}

export function armor(bytes: Buffer): string {
  const lines = bytes.toString('base64').match(/.{1,70}/gu) ?? [];
  return ['-----BEGIN SSH SIGNATURE-----', ...lines, '-----END SSH SIGNATURE-----', ''].join('\n');
}

export function unarmor(text: string): Buffer {
  return Buffer.from(text.replaceAll(/-----[^-]+-----/gu, ''), 'base64');
}
