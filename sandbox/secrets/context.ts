import type { TokenStore } from '../tokens.ts';
import type { ServiceOptions } from '../types.ts';

/** docs/services/secrets.md#keys. */
export const KEY_TYPES = [
  'aes256-gcm96',
  'rsa-2048',
  'rsa-3072',
  'rsa-4096',
  'ecdsa-p256',
  'ecdsa-p384',
  'ecdsa-p521',
] as const;
export type KeyType = (typeof KEY_TYPES)[number];

export interface KeyRecord {
  readonly type: KeyType;
  deletionAllowed: boolean;
  /** 0 enables all. */
  minEnabledVersion: number;
  /** Version 1 is the first. The symmetric type has no public keys. */
  versions: { creationTime: string; publicKey?: string }[];
}

/** A key as one provider holds it. */
export interface Distribution {
  readonly name: string;
  readonly protection: string;
  readonly purpose: readonly string[];
  /** Version number to the provider's own identifier. */
  versions: Record<string, string>;
}

/** How a provider may use a key. */
export type DistributionTerms = Pick<Distribution, 'purpose' | 'protection'>;

export interface KmsProviderRecord {
  readonly provider: string;
  readonly keyCollection: string;
  /** Never returned. */
  credentials: Record<string, string>;
  keys: Map<string, Distribution>;
}

/** The fields that replaced `policies` in newer versions, beside `consul_policies`. */
export const ROLE_LISTS = ['consul_roles', 'service_identities', 'node_identities'] as const;

export interface MeshRoleRecord {
  tokenType: string;
  /** Base64. */
  policy?: string;
  policies: readonly string[];
  /** The other lists of names by field, with the flavor of the real products. */
  lists: Readonly<Partial<Record<(typeof ROLE_LISTS)[number], readonly string[]>>>;
  partition: string;
  namespace: string;
  local: boolean;
  ttlSeconds: number;
  maxTtlSeconds: number;
}

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

/** The records of a secrets server, and what its endpoints share. Tests read and damage them. */
export interface SecretsContext extends ServiceOptions {
  readonly tokens: TokenStore;
  /** Of the mesh credentials engine. */
  readonly mount: string;
  readonly keys: Map<string, KeyRecord>;
  readonly providers: Map<string, KmsProviderRecord>;
  readonly roles: Map<string, MeshRoleRecord>;
  /** Settings of the mesh credentials engine; the token and the certificates are never returned. */
  access: Readonly<Record<'address' | 'scheme' | 'token' | 'caCert' | 'clientCert' | 'clientKey', string>> | undefined;
  /** Every token that was generated, oldest first. */
  readonly generated: { readonly role: string; readonly token: string; readonly leaseId: string }[];
  /** Whether the server answers, is sealed, or is a standby without an active node. A test sets it. */
  condition: 'active' | 'standby' | 'sealed';
}
