import { createRandom, daysBefore, type Random, scaleCount } from '../random.ts';
import type { ServiceOptions } from '../types.ts';
import { createKey, KEY_TYPES, type KeyLifecycle, type KeyType, type KmsProviderRecord } from './keys.ts';
import type { MeshCredentials, MeshRoleRecord } from './mesh-roles.ts';

interface KeyPlan {
  readonly name: string;
  readonly type: KeyType;
  /** Age of the newest version on day 0. */
  readonly ageDays: number;
  readonly versions: number;
  readonly minEnabled?: number;
  readonly deletionAllowed?: boolean;
  readonly provider?: string;
}

export const BACKUP_PROVIDER = 'backup-kms';
const EMPTY_PROVIDER = 'lab-empty';

/** The keys that the rules are about: overdue at once or within days, with too many versions, retired, distributed or not. */
const KEY_PLANS: readonly KeyPlan[] = [
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

/** A slash in a name, which Vault's paths cannot carry but the specification allows: a client must escape it. */
const SPEC_PLAN: KeyPlan = {
  name: 'batch/2019 100%',
  type: 'rsa-2048',
  ageDays: 33.3,
  versions: 1,
  provider: 'azure-eu',
};

const TEAMS = ['billing', 'catalog', 'identity', 'fraud', 'shipping', 'search', 'mobile', 'warehouse', 'media', 'risk'];
const USES = ['db-wrap', 'token-signing', 'webhook-hmac', 'backup-seal', 'artifact-signing', 'session'];

function ordinaryKeyPlan(index: number, random: Random, providers: readonly string[]): KeyPlan {
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

function seedProviders(providers: Map<string, KmsProviderRecord>, random: Random): void {
  const add = (name: string, provider: string, keyCollection: string): void => {
    const credentials = { client_secret: `planted-kms-credential-${random.hex(16)}` };
    providers.set(name, { provider, keyCollection, credentials, keys: new Map() });
  };
  add('azure-eu', 'azurekeyvault', 'kv-tide-eu');
  add('aws-frankfurt', 'awskms', 'eu-central-1');
  add('aws-virginia', 'awskms', 'us-east-1');
  add('gcp-prod', 'gcpckms', 'projects/tide-prod/locations/europe-west3/keyRings/main');
  add(BACKUP_PROVIDER, 'azurekeyvault', 'kv-tide-backup');
  add(EMPTY_PROVIDER, 'awskms', 'eu-north-1');
}

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

/** A generated role; `policy` in plain text is stored as Base64. */
export function createRole(
  tokenType: string,
  policy: string | undefined,
  ttlSeconds: number,
  policies: readonly string[] = [],
): MeshRoleRecord {
  return {
    tokenType,
    ...(policy === undefined ? {} : { policy: Buffer.from(policy).toString('base64') }),
    policies,
    lists: {},
    partition: '',
    namespace: '',
    local: false,
    ttlSeconds,
    maxTtlSeconds: ttlSeconds * 4,
  };
}

function readPolicy(prefix: string): string {
  return `key_prefix "${prefix}" {\n  policy = "read"\n}\n`;
}

const ROLE_PLANS: readonly (readonly [name: string, role: MeshRoleRecord])[] = [
  ['web-read', createRole('client', readPolicy('web/'), 3600)],
  ['api-write', createRole('client', 'service "api" {\n  policy = "write"\n}\n', 1800)],
  ['billing', createRole('client', readPolicy('billing/'), 0)],
  ['deploy', createRole('client', undefined, 900, ['deploy', 'node-read'])],
  ['legacy-admin', createRole('management', readPolicy(''), 86_400)],
  ['terraform', createRole('management', undefined, 0)],
  ['observability', createRole('client', 'service_prefix "" {\n  policy = "read"\n}\n', 3600)],
  [`équipe "réseau", <i>été<i>`, createRole('client', readPolicy('=cmd|'), 5400)],
  ['網路-唯讀', createRole('client', readPolicy('網路/'), 7200)],
];

/** Roles as newer versions of Vault have them: what they grant is not in `token_type`. */
const LIVE_ROLE_PLANS: readonly (readonly [name: string, role: MeshRoleRecord])[] = [
  ['modern-admin', createRole('client', undefined, 3600, ['global-management'])],
  [
    'api-identity',
    {
      ...createRole('client', undefined, 1800),
      lists: { consul_roles: ['deploy'], service_identities: ['api:dc1'], node_identities: ['node-1:dc1'] },
    },
  ],
];

/** About ten roles at scale 1, two of them of the management type. */
function seedRoles(roles: Map<string, MeshRoleRecord>, random: Random, scale: number): void {
  for (const [name, role] of ROLE_PLANS) roles.set(name, { ...role });
  for (let index = 1; roles.size < scaleCount(10, scale); index++) {
    roles.set(`team-${index}`, createRole('client', readPolicy(`team-${index}/`), random.int(1, 24) * 1800));
  }
}

/** About 25 keys, six providers (one empty) and ten roles at scale 1. */
export function seedSecrets(
  { seed, scale, flavor, start }: ServiceOptions,
  lifecycle: KeyLifecycle,
  roles: Map<string, MeshRoleRecord>,
  access: MeshCredentials,
): void {
  const random = createRandom(`${seed}/secrets/estate`);
  seedProviders(lifecycle.providers, random);
  access.connection = {
    address: 'mesh.internal:8501',
    scheme: 'https',
    token: `planted-mesh-management-token-${random.hex(16)}`,
    caCert: '',
    clientCert: '',
    clientKey: '',
  };
  seedRoles(roles, random, scale);
  if (flavor === 'hashicorp') for (const [name, role] of LIVE_ROLE_PLANS) roles.set(name, { ...role });
  const special = flavor === 'spec' ? [...KEY_PLANS, SPEC_PLAN] : KEY_PLANS;
  for (const plan of special) addPlannedKey(lifecycle, plan, start);
  const used = [...lifecycle.providers.keys()].filter((name) => name !== BACKUP_PROVIDER && name !== EMPTY_PROVIDER);
  for (let index = 0; index < scaleCount(25, scale) - special.length; index++) {
    addPlannedKey(lifecycle, ordinaryKeyPlan(index, random, used), start);
  }
}
