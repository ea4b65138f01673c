import type { Random } from '../random.ts';
import type { KeyType } from './keys.ts';
import type { MeshRoleRecord } from './mesh-roles.ts';

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

export type NamedRole = readonly [name: string, role: MeshRoleRecord];

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
