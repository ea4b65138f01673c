import { booleanAt, numberAt } from '../../../core/json-path.ts';
import type { ReadResult } from '../../define.ts';
import { known, listSecretNames, read, responseBody } from './reads.ts';

/** Keys, KMS providers and mesh roles of the secrets service. */

export const readKey = read(
  'secrets.keys.read',
  { name: 'key_name' },
  { ...listSecretNames('secrets.keys.list'), ...known('key_name', 'keys.name') },
);

export const readProvider = read(
  'secrets.kms.read',
  { name: 'provider_name' },
  { ...listSecretNames('secrets.kms.list'), ...known('provider_name', 'kms_providers.name') },
);

export const readDistribution = read(
  'secrets.kms-keys.read',
  { name: 'provider_name', key_name: 'key_name' },
  {
    ...listSecretNames('secrets.kms-keys.list', { name: 'provider_name' }),
    ...known('key_name', 'key_distributions.key_name', 'provider_name'),
  },
);

export const readRole = read(
  'secrets.mesh-roles.read',
  { name: 'role_name', mount: 'mount' },
  {
    ...listSecretNames('secrets.mesh-roles.list', { mount: 'mount' }),
    ...known('role_name', 'mesh_roles.name', 'mount'),
  },
);

/** What playbooks look at of a key; each is null where it is not reported. */
export function parseKey(key: ReadResult) {
  const body = responseBody(key);
  return {
    latest_version: numberAt(body, 'data', 'latest_version'),
    min_enabled_version: numberAt(body, 'data', 'min_enabled_version'),
    deletion_allowed: booleanAt(body, 'data', 'deletion_allowed'),
  };
}
