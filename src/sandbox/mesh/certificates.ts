import { secondTime } from '../forge.ts';
import type { Ask, Reply } from '../types.ts';
import { leafOf } from './leaves.ts';
import { json, type MeshWorld, namespaceOf } from './reply.ts';
import type { Root } from './state.ts';

function rootJson(root: Root, trustDomain: string) {
  return {
    ID: root.id,
    Name: root.name,
    SerialNumber: root.serialNumber,
    SigningKeyID: root.signingKeyId,
    ExternalTrustDomain: trustDomain.split('.')[0],
    NotBefore: secondTime(root.notBefore),
    NotAfter: secondTime(root.notAfter),
    RootCert: root.rootCert,
    IntermediateCerts: root.intermediates,
    Active: root.active,
    PrivateKeyType: root.privateKeyType,
    PrivateKeyBits: root.privateKeyBits,
    CreateIndex: root.createIndex,
    ModifyIndex: root.modifyIndex,
  };
}

export function rootsReply({ state, flavor }: MeshWorld, _ask: Ask): Reply {
  const { roots, trustDomain } = state;
  const index = String(Math.max(...roots.map((root) => root.modifyIndex)));
  return json(
    {
      ActiveRootID: roots.find((root) => root.active)?.id ?? '',
      ...(flavor === 'hashicorp' ? { TrustDomain: trustDomain } : {}),
      Roots: roots.map((root) => rootJson(root, trustDomain)),
    },
    flavor === 'hashicorp'
      ? {
          'x-consul-index': index,
          'x-consul-knownleader': 'true',
          'x-consul-lastcontact': '0',
          'x-cache': 'HIT',
          age: '3',
        }
      : {},
  );
}

/** The service need not exist (mesh rule 3). */
export function leafReply({ seed, state, flavor }: MeshWorld, ask: Ask): Reply {
  const namespace = namespaceOf(ask);
  const leaf = leafOf(seed, state, namespace, ask.params.service!, ask.now);
  const path = `ns/${namespace}/dc/dc1/svc/${encodeURIComponent(leaf.service)}`;
  const certificate = {
    SerialNumber: leaf.serialNumber,
    CertPEM: leaf.certPem,
    PrivateKeyPEM: leaf.privateKeyPem,
    Service: leaf.service,
    ServiceURI: `spiffe://${state.trustDomain}/${path}`,
    ValidAfter: secondTime(leaf.validAfter),
    ValidBefore: secondTime(leaf.validBefore),
    ...(flavor === 'hashicorp' ? {} : { Namespace: namespace }),
    CreateIndex: leaf.index,
    ModifyIndex: leaf.index,
  };
  return json(certificate, flavor === 'hashicorp' ? { 'x-consul-index': String(leaf.index), 'x-cache': 'MISS' } : {});
}
