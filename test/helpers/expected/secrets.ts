import type { MeshRoleRecord, SecretsContext } from '../../../sandbox/secrets/context.ts';
import type { Flavor } from '../../../sandbox/types.ts';
import { filled, type Tables, time } from './values.ts';

const target = 'vault';

export function secretsTables({ keys, providers, roles }: SecretsContext, flavor: Flavor): Tables {
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
        purpose: [...purpose].sort(),
        versions,
        extra: null,
      })),
    ),
    mesh_roles: [...roles].map(([name, role]) => ({
      target,
      mount: live ? 'consul' : 'mesh',
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

function roleFields(role: MeshRoleRecord, live: boolean) {
  const { ttlSeconds, maxTtlSeconds, local, policies, lists, namespace, partition } = role;
  const names = (list: readonly string[] | undefined) => (list ? [...list] : null);
  return {
    consul_policies: live && policies.length > 0 ? [...policies].sort() : null,
    consul_roles: names(lists.consul_roles),
    service_identities: names(lists.service_identities),
    node_identities: names(lists.node_identities),
    consul_namespace: filled(namespace),
    partition: filled(partition),
    ttl: live ? String(ttlSeconds) : null,
    max_ttl: live ? String(maxTtlSeconds) : null,
    extra: live ? { local } : null,
  };
}
