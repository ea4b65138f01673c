import type { MeshState } from '../../../src/sandbox/mesh/index.ts';
import { digits, type Tables, wholeSeconds } from './values.ts';

const target = 'consul';

/** Certificates and keys stand in the state and in no table. */
export function meshTables({ roots, leaves, trustDomain }: MeshState): Tables {
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
      extra: null,
    })),
    leaf_certificates: [...leaves.values()].map((leaf) => ({
      target,
      service: leaf.service,
      service_uri: `spiffe://${trustDomain}/ns/default/dc/dc1/svc/${encodeURIComponent(leaf.service)}`,
      serial_number: leaf.serialNumber,
      valid_after: wholeSeconds(leaf.validAfter.getTime()),
      valid_before: wholeSeconds(leaf.validBefore.getTime()),
      extra: null,
    })),
  };
}
