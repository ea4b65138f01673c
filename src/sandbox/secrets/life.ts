import { microTime, pem } from '../forge.ts';
import { createRandom, type Random } from '../prng.ts';
import type { Distribution, Key, KeyType, Provider, SecretsState, SecretsWorld } from './state.ts';

/** Base64 lines of a public key by type, about as long as the real ones. */
const PEM_LINES: Readonly<Record<KeyType, number>> = {
  'aes256-gcm96': 0,
  'rsa-2048': 6,
  'rsa-3072': 8,
  'rsa-4096': 11,
  'ecdsa-p256': 2,
  'ecdsa-p384': 2,
  'ecdsa-p521': 3,
};

/** Identifiers of a key version as the three supported clouds spell them. */
const VERSION_ID: Readonly<Record<string, (provider: Provider, name: string, version: number, r: Random) => string>> = {
  azurekeyvault: (_provider, _name, _version, random) => random.hex(32),
  awskms: ({ keyCollection }, _name, _version, random) =>
    `arn:aws:kms:${keyCollection}:${random.int(10 ** 11, 10 ** 12 - 1)}:key/mrk-${random.hex(32)}`,
  gcpckms: ({ keyCollection }, name, version) => `${keyCollection}/cryptoKeys/${name}/cryptoKeyVersions/${version}`,
};

export function createKey(type: KeyType): Key {
  return { type, deletionAllowed: false, minEnabledVersion: 0, versions: [] };
}

export function holderOf(state: SecretsState, keyName: string): [name: string, provider: Provider] | undefined {
  return [...state.providers].find(([, provider]) => provider.keys.has(keyName));
}

function versionId(provider: Provider, name: string, version: number, random: Random): string {
  const make = VERSION_ID[provider.provider] ?? VERSION_ID.azurekeyvault!;
  return make(provider, name, version, random);
}

/** Adds the next version to a key and, where a provider holds the key, to its copy too. */
export function addVersion({ seed, state }: SecretsWorld, name: string, key: Key, at: Date): void {
  const version = key.versions.length + 1;
  const random = createRandom(`${seed}/secrets/key/${name}/${version}/${at.getTime()}`);
  const lines = PEM_LINES[key.type];
  const publicKey = lines > 0 ? { publicKey: pem('PUBLIC KEY', random, lines) } : {};
  key.versions.push({ creationTime: microTime(at, random), ...publicKey });
  const provider = holderOf(state, name)?.[1];
  const distribution = provider?.keys.get(name);
  if (provider && distribution) distribution.versions[version] = versionId(provider, name, version, random);
}

/** Puts a key with all its versions into a provider, under a name of its own there (secrets.md: key name and unix time). */
export function distribute(
  { seed }: SecretsWorld,
  name: string,
  key: Key,
  provider: Provider,
  at: Date,
  terms: Pick<Distribution, 'purpose' | 'protection'>,
): void {
  const seconds = Math.floor(at.getTime() / 1000);
  const random = createRandom(`${seed}/secrets/distribution/${name}/${seconds}`);
  const versions = Object.fromEntries(
    key.versions.map((_, index) => [String(index + 1), versionId(provider, name, index + 1, random)]),
  );
  provider.keys.set(name, { name: `${name}-${seconds}`, ...terms, versions });
}
