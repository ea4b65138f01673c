import { createRandom, daysBefore, type Random, scaleCount } from '../random.ts';
import type { EstateName, ServiceOptions } from '../types.ts';
import {
  BACKUP_PROVIDER,
  COMPANY_SECRETS,
  EMPTY_PROVIDER,
  HOSTILE_SECRETS,
  type KeyPlan,
  LIVE_ROLE_PLANS,
  type SecretsEstate,
} from './estates.ts';
import { createKey, type KeyLifecycle, type KmsProviderRecord } from './keys.ts';
import type { MeshCredentials, MeshRoleRecord } from './mesh-roles.ts';

function addPlannedKey(lifecycle: KeyLifecycle, plan: KeyPlan, start: Date): void {
  const key = createKey(plan.type);
  key.deletionAllowed = plan.deletionAllowed ?? false;
  key.minEnabledVersion = plan.minEnabled ?? 0;
  for (let version = plan.versions - 1; version >= 0; version--) {
    lifecycle.addVersion(plan.name, key, daysBefore(start, plan.ageDays + version * 61));
  }
  lifecycle.keys.set(plan.name, key);
  const provider = plan.provider === undefined ? undefined : lifecycle.providers.get(plan.provider);
  if (!provider) return;
  const purpose = plan.type === 'aes256-gcm96' ? ['encrypt', 'decrypt'] : ['sign', 'verify'];
  const protection = provider.provider === 'gcpckms' ? 'software' : 'hsm';
  lifecycle.distribute(plan.name, key, provider, daysBefore(start, plan.ageDays), { purpose, protection });
}

const ESTATES: Readonly<Record<EstateName, SecretsEstate>> = { company: COMPANY_SECRETS, hostile: HOSTILE_SECRETS };

function seedProviders(providers: Map<string, KmsProviderRecord>, estate: SecretsEstate, random: Random): void {
  for (const [name, provider, keyCollection] of estate.providers) {
    const credentials = { client_secret: `planted-kms-credential-${random.hex(16)}` };
    providers.set(name, { provider, keyCollection, credentials, keys: new Map() });
  }
}

/** About ten roles at scale 1, two of them of the management type. */
function seedRoles(roles: Map<string, MeshRoleRecord>, estate: SecretsEstate, random: Random, scale: number): void {
  for (const [name, role] of estate.roles) roles.set(name, { ...role });
  for (let index = 1; roles.size < scaleCount(10, scale); index++) roles.set(...estate.extraRole(index, random));
}

/** About 25 keys, six providers (one empty) and ten roles at scale 1. */
export function seedSecrets(
  { seed, estate: estateName, scale, flavor, start }: ServiceOptions,
  lifecycle: KeyLifecycle,
  roles: Map<string, MeshRoleRecord>,
  access: MeshCredentials,
): void {
  const random = createRandom(`${seed}/secrets/estate`);
  const estate = ESTATES[estateName];
  seedProviders(lifecycle.providers, estate, random);
  access.connection = {
    address: 'mesh.internal:8501',
    scheme: 'https',
    token: `planted-mesh-management-token-${random.hex(16)}`,
    caCert: '',
    clientCert: '',
    clientKey: '',
  };
  seedRoles(roles, estate, random, scale);
  if (flavor === 'hashicorp') for (const [name, role] of LIVE_ROLE_PLANS) roles.set(name, { ...role });
  const special = flavor === 'spec' ? [...estate.keys, ...estate.specKeys] : estate.keys;
  for (const plan of special) addPlannedKey(lifecycle, plan, start);
  const used = [...lifecycle.providers.keys()].filter((name) => name !== BACKUP_PROVIDER && name !== EMPTY_PROVIDER);
  for (let index = 0; index < scaleCount(25, scale) - special.length; index++) {
    addPlannedKey(lifecycle, estate.ordinaryKey(index, random, used), start);
  }
}
