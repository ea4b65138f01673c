import { createHash } from 'node:crypto';
import { bits, boolean, der, integer, octets, oid, sequence, set, time, toPem, utf8 } from './der.ts';
import type { EcKey } from './keys.ts';

export interface CertificateOptions {
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

/** An X.509 certificate in the form of Consul's: version 3, key usage, identifiers, and the SPIFFE ID as alternative name. */
export function createCertificate(options: CertificateOptions): string {
  const { serialNumber, subject, notBefore, notAfter, key, issuer } = options;
  const content = sequence(
    der(0xa0, integer(2n)),
    integer(serialNumber),
    issuer.key.signatureAlgorithm,
    commonName(issuer.name),
    sequence(time(notBefore), time(notAfter)),
    commonName(subject),
    key.publicDer,
    der(0xa3, sequence(...listExtensions(options))),
  );
  const signature = bits(issuer.key.sign(content));
  return toPem('CERTIFICATE', sequence(content, issuer.key.signatureAlgorithm, signature));
}

/** `SubjectKeyIdentifier` of a key: what Consul calls `SigningKeyID`, without the colons. */
export function keyIdentifier({ point }: EcKey): Buffer {
  return createHash('sha256').update(point).digest();
}

function commonName(name: string): Buffer {
  return name === '' ? sequence() : sequence(set(sequence(oid('2.5.4.3'), utf8(name))));
}

/** Key usage: digital signature, key encipherment, data encipherment and key agreement; of a CA: signing. */
const LEAF_USAGE = bits(Buffer.from([0xb8]), 3);
const CA_USAGE = bits(Buffer.from([0x86]), 1);
const SERVER_AND_CLIENT = sequence(oid('1.3.6.1.5.5.7.3.2'), oid('1.3.6.1.5.5.7.3.1'));

function listExtensions({ uri, key, issuer, isCa }: CertificateOptions): Buffer[] {
  const constraints = isCa ? sequence(boolean(true)) : sequence();
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
  return sequence(oid(id), ...(isCritical ? [boolean(true)] : []), octets(value));
}
