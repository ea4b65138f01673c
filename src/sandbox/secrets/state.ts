import type { Flavor } from '../types.ts';

/** secrets.md, "Key types". */
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

export interface KeyVersion {
  creationTime: string;
  /** Absent for the symmetric type. */
  publicKey?: string;
}

export interface Key {
  readonly type: KeyType;
  deletionAllowed: boolean;
  /** 0 enables all. */
  minEnabledVersion: number;
  /** Version 1 stands first. */
  versions: KeyVersion[];
}

/** A key as one provider holds it. */
export interface Distribution {
  readonly name: string;
  readonly protection: string;
  readonly purpose: readonly string[];
  /** Version number to the provider's own identifier. */
  versions: Record<string, string>;
}

export interface Provider {
  readonly provider: string;
  readonly keyCollection: string;
  /** Never returned. */
  credentials: Record<string, string>;
  keys: Map<string, Distribution>;
}

export interface Role {
  tokenType: string;
  /** Base64. */
  policy?: string;
  policies: readonly string[];
  local: boolean;
  ttlSeconds: number;
  maxTtlSeconds: number;
}

/** Never returned, save address and scheme. */
export interface MeshAccess {
  readonly address: string;
  readonly scheme: string;
  readonly token: string;
  readonly caCert: string;
  readonly clientCert: string;
  readonly clientKey: string;
}

export interface GeneratedToken {
  readonly role: string;
  readonly token: string;
  readonly leaseId: string;
}

export interface SecretsState {
  keys: Map<string, Key>;
  providers: Map<string, Provider>;
  roles: Map<string, Role>;
  access: MeshAccess | undefined;
  /** Every token that `creds` gave out, oldest first. */
  generated: GeneratedToken[];
}

/** What the routes and the nights work on. */
export interface SecretsWorld {
  readonly seed: number;
  readonly flavor: Flavor;
  readonly state: SecretsState;
}
