import { daysBefore, sized } from '../forge.ts';
import { createRandom, type Random } from '../prng.ts';
import type { SecretsOptions } from './index.ts';
import { addVersion, createKey, distribute } from './life.ts';
import { inventRoles } from './roles-estate.ts';
import { KEY_TYPES, type KeyType, type Provider, type SecretsWorld } from './state.ts';

interface KeyPlan {
  readonly name: string;
  readonly type: KeyType;
  /** Age of the newest version on night 0. */
  readonly ageDays: number;
  readonly versions: number;
  readonly minEnabled?: number;
  readonly deletionAllowed?: boolean;
  readonly provider?: string;
}

export const BACKUP_PROVIDER = 'backup-kms';
const EMPTY_PROVIDER = 'lab-empty';

/** The keys that the rules speak of: overdue from the start or within the nights, too many versions, retired, held or not. */
const PLANS: readonly KeyPlan[] = [
  { name: 'payments-signing', type: 'rsa-4096', ageDays: 203.4, versions: 7, provider: 'azure-eu' },
  { name: 'ledger-archive', type: 'aes256-gcm96', ageDays: 131.2, versions: 2, provider: 'aws-frankfurt' },
  { name: 'checkout-tls', type: 'ecdsa-p256', ageDays: 86.6, versions: 5, provider: 'gcp-prod' },
  {
    name: 'audit-log-seal',
    type: 'aes256-gcm96',
    ageDays: 83.3,
    versions: 3,
    minEnabled: 1,
    provider: BACKUP_PROVIDER,
  },
  { name: 'retired-2023-export', type: 'rsa-2048', ageDays: 612.5, versions: 1, deletionAllowed: true },
  {
    name: 'retired-2024-batch',
    type: 'rsa-3072',
    ageDays: 301.1,
    versions: 4,
    deletionAllowed: true,
    provider: 'azure-eu',
  },
  { name: 'tenant-db-wrap', type: 'aes256-gcm96', ageDays: 12.7, versions: 9, minEnabled: 8, provider: 'aws-virginia' },
  { name: 'clé-de-paiement', type: 'ecdsa-p384', ageDays: 40.5, versions: 4, provider: 'gcp-prod' },
  { name: '署名鍵-東京 🔑', type: 'ecdsa-p521', ageDays: 95.9, versions: 1, provider: 'azure-eu' },
  { name: `"gold", O'Brien & <b>co<b>`, type: 'rsa-2048', ageDays: 22.2, versions: 2 },
  { name: `=cmd|' calc'!A0`, type: 'rsa-2048', ageDays: 7.8, versions: 5, minEnabled: 1 },
];

/** A slash in a name, which Vault's paths cannot carry but the document does not forbid: a client must escape it. */
const DOCUMENTS_PLAN: KeyPlan = {
  name: 'batch/2019 100%',
  type: 'rsa-2048',
  ageDays: 33.3,
  versions: 1,
  provider: 'azure-eu',
};

const TEAMS = ['billing', 'catalog', 'identity', 'fraud', 'shipping', 'search', 'mobile', 'warehouse', 'media', 'risk'];
const USES = ['db-wrap', 'token-signing', 'webhook-hmac', 'backup-seal', 'artifact-signing', 'session'];

function ordinaryPlan(index: number, random: Random, providers: readonly string[]): KeyPlan {
  const round = Math.floor(index / (TEAMS.length * USES.length));
  const name = `${TEAMS[index % TEAMS.length]}-${USES[Math.floor(index / TEAMS.length + index) % USES.length]}`;
  const plan = {
    name: round === 0 ? name : `${name}-${round + 1}`,
    type: random.pick(KEY_TYPES),
    ageDays: random.int(20, 780) / 10,
    versions: random.int(1, 3),
  };
  return random.chance(0.6) ? { ...plan, provider: random.pick(providers) } : plan;
}

function inventProviders(random: Random): Map<string, Provider> {
  const provider = (kind: string, keyCollection: string): Provider => ({
    provider: kind,
    keyCollection,
    credentials: { client_secret: `planted-kms-credential-${random.hex(16)}` },
    keys: new Map(),
  });
  const gcp = 'projects/tide-prod/locations/europe-west3/keyRings/main';
  return new Map([
    ['azure-eu', provider('azurekeyvault', 'kv-tide-eu')],
    ['aws-frankfurt', provider('awskms', 'eu-central-1')],
    ['aws-virginia', provider('awskms', 'us-east-1')],
    ['gcp-prod', provider('gcpckms', gcp)],
    [BACKUP_PROVIDER, provider('azurekeyvault', 'kv-tide-backup')],
    [EMPTY_PROVIDER, provider('awskms', 'eu-north-1')],
  ]);
}

function addPlanned(world: SecretsWorld, plan: KeyPlan, start: Date): void {
  const key = createKey(plan.type);
  key.deletionAllowed = plan.deletionAllowed ?? false;
  key.minEnabledVersion = plan.minEnabled ?? 0;
  for (let version = plan.versions - 1; version >= 0; version--) {
    addVersion(world, plan.name, key, daysBefore(start, plan.ageDays + version * 61));
  }
  world.state.keys.set(plan.name, key);
  const provider = plan.provider === undefined ? undefined : world.state.providers.get(plan.provider);
  if (!provider) return;
  const purpose = plan.type === 'aes256-gcm96' ? ['encrypt', 'decrypt'] : ['sign', 'verify'];
  const protection = provider.provider === 'gcpckms' ? 'software' : 'hsm';
  distribute(world, plan.name, key, provider, daysBefore(start, plan.ageDays), { purpose, protection });
}

/** About 25 keys, six providers (one empty) and ten roles at scale 1. */
export function inventSecrets({ seed, scale, flavor, start }: SecretsOptions): SecretsWorld {
  const random = createRandom(`${seed}/secrets/estate`);
  const providers = inventProviders(random);
  const access = {
    address: 'mesh.internal:8501',
    scheme: 'https',
    token: `planted-mesh-management-token-${random.hex(16)}`,
    caCert: '',
    clientCert: '',
    clientKey: '',
  };
  const roles = inventRoles(random, scale);
  const world: SecretsWorld = { seed, flavor, state: { keys: new Map(), providers, roles, access, generated: [] } };
  const special = flavor === 'documents' ? [...PLANS, DOCUMENTS_PLAN] : PLANS;
  for (const plan of special) addPlanned(world, plan, start);
  const filled = [...providers.keys()].filter((name) => name !== BACKUP_PROVIDER && name !== EMPTY_PROVIDER);
  for (let index = 0; index < sized(25, scale) - special.length; index++) {
    addPlanned(world, ordinaryPlan(index, random, filled), start);
  }
  return world;
}
