import { readEstate } from '../estate.ts';
import { createRandom, daysBefore, type Random, scaleCount } from '../random.ts';
import type { KmsProviderRecord, MeshRoleRecord, SecretsContext } from './context.ts';
import {
  BACKUP_PROVIDER,
  createRole,
  EMPTY_PROVIDER,
  type KeyPlan,
  LIVE_ROLE_PLANS,
  planExtraRole,
  planOrdinaryKey,
  type SecretsEstate,
} from './estate.ts';
import { addVersion, createKey, distribute } from './keys.ts';

function addPlannedKey(context: SecretsContext, plan: KeyPlan): void {
  const { start } = context;
  const key = createKey(plan.type);
  key.deletionAllowed = plan.deletionAllowed ?? false;
  key.minEnabledVersion = plan.minEnabled ?? 0;
  for (let version = plan.versions - 1; version >= 0; version--) {
    addVersion(context, plan.name, key, daysBefore(start, plan.ageDays + version * 61));
  }
  context.keys.set(plan.name, key);
  const provider = plan.provider === undefined ? undefined : context.providers.get(plan.provider);
  if (!provider) return;
  const purpose = plan.type === 'aes256-gcm96' ? ['encrypt', 'decrypt'] : ['sign', 'verify'];
  const protection = provider.provider === 'gcpckms' ? 'software' : 'hsm';
  distribute(context, plan.name, key, provider, daysBefore(start, plan.ageDays), { purpose, protection });
}

function seedProviders(providers: Map<string, KmsProviderRecord>, estate: SecretsEstate, random: Random): void {
  for (const [name, provider, keyCollection] of estate.providers) {
    const credentials = { client_secret: `planted-kms-credential-${random.hex(16)}` };
    providers.set(name, { provider, keyCollection, credentials, keys: new Map() });
  }
}

/** About ten roles at scale 1, two of them of the management type. */
function seedRoles(roles: Map<string, MeshRoleRecord>, estate: SecretsEstate, random: Random, scale: number): void {
  for (const [name, ...plan] of estate.roles) roles.set(name, createRole(...plan));
  for (let index = 1; roles.size < scaleCount(10, scale); index++) roles.set(...planExtraRole(estate, index, random));
}

/** About 25 keys, six providers (one empty) and ten roles at scale 1. */
export function seedSecrets(context: SecretsContext): void {
  const { seed, estate: estateName, scale, flavor, roles, providers } = context;
  const random = createRandom(`${seed}/secrets/estate`);
  const estate = readEstate(estateName).secrets;
  seedProviders(providers, estate, random);
  context.access = {
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
  for (const plan of special) addPlannedKey(context, plan);
  const used = [...providers.keys()].filter((name) => name !== BACKUP_PROVIDER && name !== EMPTY_PROVIDER);
  for (let index = 0; index < scaleCount(25, scale) - special.length; index++) {
    addPlannedKey(context, planOrdinaryKey(estate, index, random, used));
  }
}
