import { createHash, X509Certificate } from 'node:crypto';
import type { MeshContext } from '../../../sandbox/mesh/context.ts';
import type { Flavor } from '../../../sandbox/types.ts';
import { DAY_MS } from '../../../src/core/clock.ts';
import { digits, type Tables, wholeSeconds } from './values.ts';

const target = 'consul';

/** Certificates and keys are in the state and in no table. */
export function meshTables({ roots, leaves, trustDomain }: MeshContext, flavor: Flavor, now: Date): Tables {
  return {
    ca_roots: roots.map((root) => ({
      target,
      root_id: root.ID,
      name: root.Name,
      active: root.Active,
      not_before: wholeSeconds(Date.parse(root.NotBefore)),
      not_after: wholeSeconds(Date.parse(root.NotAfter)),
      serial_number: digits(root.SerialNumber),
      signing_key_id: root.SigningKeyID,
      private_key_type: root.PrivateKeyType,
      private_key_bits: root.PrivateKeyBits,
      trust_domain: flavor === 'hashicorp' ? trustDomain : null,
      external_trust_domain: trustDomain.split('.')[0],
      intermediate_digests:
        root.IntermediateCerts?.map((certificate) => createHash('sha256').update(certificate).digest('hex')) ?? null,
      create_index: root.CreateIndex,
      modify_index: root.ModifyIndex,
      extra:
        flavor === 'hashicorp'
          ? { DaysRemaining: Math.floor((Date.parse(root.NotAfter) - now.getTime()) / DAY_MS) }
          : null,
    })),
    authority_certificates: listAuthorities(roots),
    leaf_certificates: [...leaves.values()].map((leaf) => ({
      target,
      service: leaf.Service,
      service_uri: `spiffe://${trustDomain}/ns/default/dc/dc1/svc/${encodeURIComponent(leaf.Service)}`,
      serial_number: leaf.SerialNumber,
      valid_after: wholeSeconds(Date.parse(leaf.ValidAfter)),
      valid_before: wholeSeconds(Date.parse(leaf.ValidBefore)),
      namespace: 'default',
      create_index: leaf.CreateIndex,
      modify_index: leaf.ModifyIndex,
      ...leafFacts(leaf.CertPEM, roots),
      extra: null,
    })),
  };
}

/** Two roots may name one certificate: it counts for the first. */
function listAuthorities(roots: MeshContext['roots']) {
  const byId = [...roots].sort((a, b) => (a.ID < b.ID ? -1 : 1));
  const all = byId.flatMap((root) => {
    const keyId = root.SigningKeyID.replaceAll(':', '');
    return [
      { ...describe(root.RootCert), kind: 'root', root_id: root.ID, key_id: keyId, signer_key_id: keyId },
      ...(root.IntermediateCerts ?? []).map((pem) => {
        const facts = describe(pem);
        return {
          ...facts,
          kind: 'intermediate',
          root_id: root.ID,
          key_id: keyOf(pem),
          signer_key_id: signerOf(pem, roots),
        };
      }),
    ];
  });
  return all.filter((one, index) => all.findIndex(({ fingerprint }) => fingerprint === one.fingerprint) === index);
}

/** A root signs its intermediates, and the key of the root that replaces it. */
function signerOf(pem: string, roots: MeshContext['roots']): string {
  const certificate = new X509Certificate(pem);
  const signer = roots.find(({ RootCert }) => certificate.verify(new X509Certificate(RootCert).publicKey));
  return signer!.SigningKeyID.replaceAll(':', '');
}

/** What OpenSSL, through Node, says of a certificate of the sandbox, which has keys and signatures of one kind. */
function describe(pem: string) {
  const certificate = new X509Certificate(pem);
  return {
    target,
    fingerprint: createHash('sha256').update(certificate.raw).digest('hex'),
    subject: certificate.subject ?? '',
    issuer: certificate.issuer,
    serial: certificate.serialNumber.toLowerCase(),
    not_before: wholeSeconds(Date.parse(certificate.validFrom)),
    not_after: wholeSeconds(Date.parse(certificate.validTo)),
    key_type: 'ec',
    key_bits: 256,
    signature_algorithm: 'ecdsa-with-SHA256',
    names: certificate.subjectAltName,
    extra: null,
  };
}

/** Consul names a key by the SHA-256 of its point, which ends the public key. */
function keyOf(pem: string): string {
  const key = new X509Certificate(pem).publicKey.export({ type: 'spki', format: 'der' });
  return createHash('sha256').update(key.subarray(-65)).digest('hex');
}

function leafFacts(pem: string, roots: MeshContext['roots']) {
  const { fingerprint, subject, issuer, key_type, key_bits, signature_algorithm, names } = describe(pem);
  const leaf = new X509Certificate(pem);
  const signers = roots.flatMap((root) => [root.RootCert, ...(root.IntermediateCerts ?? [])]);
  const signer = signers.find((text) => leaf.verify(new X509Certificate(text).publicKey))!;
  return {
    fingerprint,
    subject: subject === '' ? null : subject,
    issuer,
    key_type,
    key_bits,
    signature_algorithm,
    signer_key_id: keyOf(signer),
    names,
  };
}
