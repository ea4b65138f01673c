import type { SecretsState } from '../../../src/sandbox/secrets/index.ts';
import type { MeshRoleRecord } from '../../../src/sandbox/secrets/mesh-roles.ts';
import type { Flavor } from '../../../src/sandbox/types.ts';
import { filled, type Tables, time } from './values.ts';

const target = 'vault';

export function secretsTables({ keys, providers, roles }: SecretsState, flavor: Flavor): Tables {
  const live = flavor === 'hashicorp';
  return {
    keys: [...keys].map(([name, key]) => ({
      target,
      name,
      type: key.type,
      deletion_allowed: key.deletionAllowed,
      min_enabled_version: live ? Math.max(1, key.minEnabledVersion) : key.minEnabledVersion,
      latest_version: key.versions.length,
      extra: null,
    })),
    key_versions: [...keys].flatMap(([key_name, key]) =>
      key.versions.map(({ creationTime, publicKey }, index) => ({
        target,
        key_name,
        version: index + 1,
        creation_time: time(creationTime),
        public_key: filled(publicKey),
        extra: null,
      })),
    ),
    kms_providers: [...providers].map(([name, { provider, keyCollection }]) => ({
      target,
      name,
      provider,
      key_collection: keyCollection,
      extra: null,
    })),
    key_distributions: [...providers].flatMap(([provider_name, provider]) =>
      [...provider.keys].map(([key_name, { name, protection, purpose, versions }]) => ({
        target,
        provider_name,
        key_name,
        distributed_name: name,
        protection,
        purpose: [...purpose],
        versions,
        extra: null,
      })),
    ),
    mesh_roles: [...roles].map(([name, role]) => ({
      target,
      name,
      token_type: role.tokenType,
      policy: filled(role.policy),
      lease: live ? String(role.ttlSeconds) : goDuration(role.ttlSeconds),
      ...roleFields(role, live),
    })),
  };
}

function goDuration(seconds: number): string {
  const [h, m, s] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60];
  if (h > 0) return `${h}h${m}m${s}s`;
  return m > 0 ? `${m}m${s}s` : `${s}s`;
}

function roleFields({ ttlSeconds, maxTtlSeconds, local, policies }: MeshRoleRecord, live: boolean) {
  return {
    consul_policies: live && policies.length > 0 ? [...policies].sort() : null,
    consul_roles: null,
    service_identities: null,
    node_identities: null,
    consul_namespace: null,
    partition: null,
    ttl: live ? String(ttlSeconds) : null,
    max_ttl: live ? String(maxTtlSeconds) : null,
    extra: live ? { local } : null,
  };
}
