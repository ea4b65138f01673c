import type { Random } from '../random.ts';
import { KEY_TYPES, type KeyType, type MeshRoleRecord } from './context.ts';

export interface KeyPlan {
  readonly name: string;
  readonly type: KeyType;
  /** Age of the newest version on day 0. */
  readonly ageDays: number;
  readonly versions: number;
  readonly minEnabled?: number;
  readonly deletionAllowed?: boolean;
  readonly provider?: string;
}

/** What the generator of the secrets server's data works with. */
export interface SecretsEstate {
  readonly providers: readonly (readonly [name: string, provider: string, keyCollection: string])[];
  /** The keys that the rules are about. */
  readonly keys: readonly KeyPlan[];
  /** Keys that only the specification permits. */
  readonly specKeys: readonly KeyPlan[];
  readonly ordinaryKey: (index: number, random: Random, providers: readonly string[]) => KeyPlan;
  readonly roles: readonly NamedRole[];
  /** A role that a larger estate has besides. */
  readonly extraRole: (index: number, random: Random) => NamedRole;
}

type NamedRole = readonly [name: string, role: MeshRoleRecord];

export const BACKUP_PROVIDER = 'backup-kms';
export const EMPTY_PROVIDER = 'lab-empty';

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

/** Roles as newer versions of Vault have them: what they grant is not in `token_type`. */
export const LIVE_ROLE_PLANS: readonly NamedRole[] = [
  ['modern-admin', createRole('client', undefined, 3600, ['global-management'])],
  [
    'api-identity',
    {
      ...createRole('client', undefined, 1800),
      lists: { consul_roles: ['deploy'], service_identities: ['api:dc1'], node_identities: ['node-1:dc1'] },
    },
  ],
];

/** Overdue at once or within days, with too many versions, retired, distributed or not. */
const KEYS: readonly KeyPlan[] = [
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
];

const HOSTILE_KEYS: readonly KeyPlan[] = [
  { name: 'clé-de-paiement', type: 'ecdsa-p384', ageDays: 40.5, versions: 4, provider: 'gcp-prod' },
  { name: '署名鍵-東京 🔑', type: 'ecdsa-p521', ageDays: 95.9, versions: 1, provider: 'azure-eu' },
  { name: `"gold", O'Brien & <b>co<b>`, type: 'rsa-2048', ageDays: 22.2, versions: 2 },
  { name: `=cmd|' calc'!A0`, type: 'rsa-2048', ageDays: 7.8, versions: 5, minEnabled: 1 },
];

/** A slash in a name, which Vault's paths cannot carry but the specification allows: a client must escape it. */
const SPEC_KEY: KeyPlan = {
  name: 'batch/2019 100%',
  type: 'rsa-2048',
  ageDays: 33.3,
  versions: 1,
  provider: 'azure-eu',
};

function readPolicy(prefix: string): string {
  return `key_prefix "${prefix}" {\n  policy = "read"\n}\n`;
}

const ROLES: readonly NamedRole[] = [
  ['web-read', createRole('client', readPolicy('web/'), 3600)],
  ['api-write', createRole('client', 'service "api" {\n  policy = "write"\n}\n', 1800)],
  ['billing', createRole('client', readPolicy('billing/'), 0)],
  ['deploy', createRole('client', undefined, 900, ['deploy', 'node-read'])],
  ['legacy-admin', createRole('management', readPolicy(''), 86_400)],
  ['terraform', createRole('management', undefined, 0)],
  ['observability', createRole('client', 'service_prefix "" {\n  policy = "read"\n}\n', 3600)],
];

const HOSTILE_ROLES: readonly NamedRole[] = [
  [`équipe "réseau", <i>été<i>`, createRole('client', readPolicy('=cmd|'), 5400)],
  ['網路-唯讀', createRole('client', readPolicy('網路/'), 7200)],
];

/** The uses of keys with the type that each needs. */
const USES: readonly (readonly [use: string, type: KeyType])[] = [
  ['db-wrap', 'aes256-gcm96'],
  ['token-signing', 'ecdsa-p256'],
  ['webhook-signing', 'rsa-2048'],
  ['backup-seal', 'aes256-gcm96'],
  ['artifact-signing', 'ecdsa-p384'],
  ['session', 'aes256-gcm96'],
];
const TEAMS = ['billing', 'catalog', 'identity', 'fraud', 'shipping', 'search', 'mobile', 'warehouse', 'media', 'risk'];

/** Which team uses the key with this number, and for what. */
function nameKey(index: number): { readonly name: string; readonly type: KeyType } {
  const round = Math.floor(index / (TEAMS.length * USES.length));
  const [use, type] = USES[Math.floor(index / TEAMS.length + index) % USES.length]!;
  const name = `${TEAMS[index % TEAMS.length]}-${use}`;
  return { name: round === 0 ? name : `${name}-${round + 1}`, type };
}

/** A key that is rotated in time, in three of five cases held by a provider. */
function ordinaryKey(
  { name, type }: { readonly name: string; readonly type: KeyType },
  random: Random,
  providers: readonly string[],
): KeyPlan {
  const plan = { name, type, ageDays: random.int(20, 780) / 10, versions: random.int(1, 3) };
  return random.chance(0.6) ? { ...plan, provider: random.pick(providers) } : plan;
}

function listProviders(owner: string): SecretsEstate['providers'] {
  return [
    ['azure-eu', 'azurekeyvault', `kv-${owner}-eu`],
    ['aws-frankfurt', 'awskms', 'eu-central-1'],
    ['aws-virginia', 'awskms', 'us-east-1'],
    ['gcp-prod', 'gcpckms', `projects/${owner}-prod/locations/europe-west3/keyRings/main`],
    [BACKUP_PROVIDER, 'azurekeyvault', `kv-${owner}-backup`],
    [EMPTY_PROVIDER, 'awskms', 'eu-north-1'],
  ];
}

/** The company's keys and roles. */
export const COMPANY_SECRETS: SecretsEstate = {
  providers: listProviders('acme'),
  keys: KEYS,
  specKeys: [],
  ordinaryKey: (index, random, providers) => ordinaryKey(nameKey(index), random, providers),
  roles: ROLES,
  extraRole: (index, random) => {
    const [round, team] = [Math.floor((index - 1) / TEAMS.length), TEAMS[(index - 1) % TEAMS.length]!];
    const name = round === 0 ? `${team}-service` : `${team}-service-${round + 1}`;
    return [name, createRole('client', readPolicy(`${team}/`), random.int(1, 24) * 1800)];
  },
};

/** The same with names that careless programs fail on, and types that do not fit the use. */
export const HOSTILE_SECRETS: SecretsEstate = {
  providers: listProviders('tide'),
  keys: [...KEYS, ...HOSTILE_KEYS],
  specKeys: [SPEC_KEY],
  ordinaryKey: (index, random, providers) => {
    const name = nameKey(index).name.replace('webhook-signing', 'webhook-hmac');
    return ordinaryKey({ name, type: random.pick(KEY_TYPES) }, random, providers);
  },
  roles: [...ROLES, ...HOSTILE_ROLES],
  extraRole: (index, random) => [
    `team-${index}`,
    createRole('client', readPolicy(`team-${index}/`), random.int(1, 24) * 1800),
  ],
};
