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

type RolePlan = readonly [
  name: string,
  tokenType: string,
  policy: string | null,
  ttlSeconds: number,
  policies: readonly string[],
];

/** The part of an estate's file that is about the secrets server. */
export interface SecretsEstate {
  readonly providers: readonly (readonly [name: string, provider: string, keyCollection: string])[];
  /** The keys that the rules are about. */
  readonly keys: readonly KeyPlan[];
  /** Keys that only the specification permits. */
  readonly specKeys: readonly KeyPlan[];
  readonly roles: readonly RolePlan[];
  readonly teams: readonly string[];
  /** The uses of keys with the type that each needs; without it, any type. */
  readonly uses: readonly (readonly [use: string, type?: KeyType])[];
  /** Teams that have roles in a larger estate; without any, numbered ones. */
  readonly roleTeams: readonly string[];
}

type NamedRole = readonly [name: string, role: MeshRoleRecord];

export const BACKUP_PROVIDER = 'backup-kms';
export const EMPTY_PROVIDER = 'lab-empty';

/** A generated role; `policy` in plain text is stored as Base64. */
export function createRole(
  tokenType: string,
  policy: string | null,
  ttlSeconds: number,
  policies: readonly string[] = [],
): MeshRoleRecord {
  return {
    tokenType,
    ...(policy === null ? {} : { policy: Buffer.from(policy).toString('base64') }),
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
  ['modern-admin', createRole('client', null, 3600, ['global-management'])],
  [
    'api-identity',
    {
      ...createRole('client', null, 1800),
      lists: { consul_roles: ['deploy'], service_identities: ['api:dc1'], node_identities: ['node-1:dc1'] },
    },
  ],
];

/** A key of a team, which is rotated in time and in three of five cases held by a provider. */
export function planOrdinaryKey(
  { teams, uses }: SecretsEstate,
  index: number,
  random: Random,
  providers: readonly string[],
): KeyPlan {
  const round = Math.floor(index / (teams.length * uses.length));
  const [use, type = random.pick(KEY_TYPES)] = uses[Math.floor(index / teams.length + index) % uses.length]!;
  const name = `${teams[index % teams.length]}-${use}${round === 0 ? '' : `-${round + 1}`}`;
  const plan = { name, type, ageDays: random.int(20, 780) / 10, versions: random.int(1, 3) };
  return random.chance(0.6) ? { ...plan, provider: random.pick(providers) } : plan;
}

/** A role that a larger estate has besides; numbers begin at 1. */
export function planExtraRole({ roleTeams }: SecretsEstate, number: number, random: Random): NamedRole {
  const round = Math.floor((number - 1) / roleTeams.length);
  const team = roleTeams[(number - 1) % roleTeams.length] ?? `team-${number}`;
  const name = roleTeams.length === 0 ? team : `${team}-service${round === 0 ? '' : `-${round + 1}`}`;
  const policy = `key_prefix "${team}/" {\n  policy = "read"\n}\n`;
  return [name, createRole('client', policy, random.int(1, 24) * 1800)];
}
