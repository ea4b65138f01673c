import { createHash } from 'node:crypto';
import type { MeshState } from '../../../sandbox/mesh/index.ts';
import type { Flavor } from '../../../sandbox/types.ts';
import { DAY_MS } from '../../../src/core/clock.ts';
import { digits, type Tables, wholeSeconds } from './values.ts';

const target = 'consul';

/** Certificates and keys are in the state and in no table. */
export function meshTables({ roots, leaves, trustDomain }: MeshState, flavor: Flavor, now: Date): Tables {
  return {
    ca_roots: roots.map((root) => ({
      target,
      root_id: root.id,
      name: root.name,
      active: root.active,
      not_before: wholeSeconds(root.notBefore.getTime()),
      not_after: wholeSeconds(root.notAfter.getTime()),
      serial_number: digits(root.serialNumber),
      signing_key_id: root.signingKeyId,
      private_key_type: root.privateKeyType,
      private_key_bits: root.privateKeyBits,
      trust_domain: flavor === 'hashicorp' ? trustDomain : null,
      external_trust_domain: trustDomain.split('.')[0],
      intermediate_digests:
        root.intermediates?.map((certificate) => createHash('sha256').update(certificate).digest('hex')) ?? null,
      create_index: root.createIndex,
      modify_index: root.modifyIndex,
      extra:
        flavor === 'hashicorp'
          ? { DaysRemaining: Math.floor((root.notAfter.getTime() - now.getTime()) / DAY_MS) }
          : null,
    })),
    leaf_certificates: [...leaves.values()].map((leaf) => ({
      target,
      service: leaf.service,
      service_uri: `spiffe://${trustDomain}/ns/default/dc/dc1/svc/${encodeURIComponent(leaf.service)}`,
      serial_number: leaf.serialNumber,
      valid_after: wholeSeconds(leaf.validAfter.getTime()),
      valid_before: wholeSeconds(leaf.validBefore.getTime()),
      namespace: 'default',
      create_index: leaf.index,
      modify_index: leaf.index,
      extra: null,
    })),
  };
}
