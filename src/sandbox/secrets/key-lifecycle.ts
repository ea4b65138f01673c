import { formatMicroseconds } from '../fixtures.ts';
import { toPem } from '../pki/der.ts';
import { createRsaPublicDer, EcKey } from '../pki/keys.ts';
import { createRandom, type Random } from '../prng.ts';

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

interface KeyVersion {
  creationTime: string;
  /** Absent for the symmetric type. */
  publicKey?: string;
}

export interface KeyRecord {
  readonly type: KeyType;
  deletionAllowed: boolean;
  /** 0 enables all. */
  minEnabledVersion: number;
  /** Version 1 is the first. */
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

export interface KmsProviderRecord {
  readonly provider: string;
  readonly keyCollection: string;
  /** Never returned. */
  credentials: Record<string, string>;
  keys: Map<string, Distribution>;
}

/** How a provider may use a key. */
export type DistributionTerms = Pick<Distribution, 'purpose' | 'protection'>;

/** Creates the public key of a version; symmetric keys have none. */
const PUBLIC_KEYS: Readonly<Record<KeyType, ((random: Random) => Buffer) | undefined>> = {
  'aes256-gcm96': undefined,
  'rsa-2048': (random) => createRsaPublicDer(random, 2048),
  'rsa-3072': (random) => createRsaPublicDer(random, 3072),
  'rsa-4096': (random) => createRsaPublicDer(random, 4096),
  'ecdsa-p256': (random) => new EcKey(random, 'P-256').publicDer,
  'ecdsa-p384': (random) => new EcKey(random, 'P-384').publicDer,
  'ecdsa-p521': (random) => new EcKey(random, 'P-521').publicDer,
};

type CreateVersionId = (provider: KmsProviderRecord, name: string, version: number, random: Random) => string;

/** Identifiers of a key version as the three supported clouds write them. */
const VERSION_IDS: Readonly<Record<string, CreateVersionId>> = {
  azurekeyvault: (_provider, _name, _version, random) => random.hex(32),
  awskms: ({ keyCollection }, _name, _version, random) =>
    `arn:aws:kms:${keyCollection}:${random.int(10 ** 11, 10 ** 12 - 1)}:key/mrk-${random.hex(32)}`,
  gcpckms: ({ keyCollection }, name, version) => `${keyCollection}/cryptoKeys/${name}/cryptoKeyVersions/${version}`,
};

function createVersionId(provider: KmsProviderRecord, name: string, version: number, random: Random): string {
  const create = VERSION_IDS[provider.provider] ?? VERSION_IDS.azurekeyvault!;
  return create(provider, name, version, random);
}

export function createKey(type: KeyType): KeyRecord {
  return { type, deletionAllowed: false, minEnabledVersion: 0, versions: [] };
}

/** The keys, the providers that hold them, and the operations that affect both. */
export class KeyLifecycle {
  readonly keys = new Map<string, KeyRecord>();
  readonly providers = new Map<string, KmsProviderRecord>();
  readonly #seed: number;

  constructor(seed: number) {
    this.#seed = seed;
  }

  /** The provider that holds a key, with its name: there is at most one. */
  findHolder(keyName: string): [name: string, provider: KmsProviderRecord] | undefined {
    return [...this.providers].find(([, provider]) => provider.keys.has(keyName));
  }

  /** Adds the next version to a key and, where a provider holds the key, to its copy. */
  addVersion(name: string, key: KeyRecord, at: Date): void {
    const version = key.versions.length + 1;
    const random = createRandom(`${this.#seed}/secrets/key/${name}/${version}/${at.getTime()}`);
    const create = PUBLIC_KEYS[key.type];
    const publicKey = create ? { publicKey: toPem('PUBLIC KEY', create(random)) } : {};
    key.versions.push({ creationTime: formatMicroseconds(at, random), ...publicKey });
    const provider = this.findHolder(name)?.[1];
    const distribution = provider?.keys.get(name);
    if (provider && distribution) distribution.versions[version] = createVersionId(provider, name, version, random);
  }

  /** Copies a key with all its versions into a provider, named there after the key and the time. */
  distribute(name: string, key: KeyRecord, provider: KmsProviderRecord, at: Date, terms: DistributionTerms): void {
    const seconds = Math.floor(at.getTime() / 1000);
    const random = createRandom(`${this.#seed}/secrets/distribution/${name}/${seconds}`);
    const versions = Object.fromEntries(
      key.versions.map((_, index) => [String(index + 1), createVersionId(provider, name, index + 1, random)]),
    );
    provider.keys.set(name, { name: `${name}-${seconds}`, ...terms, versions });
  }
}
