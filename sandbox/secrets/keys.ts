import { createMemo } from '../memo.ts';
import { createRsaPublicDer, EcKey, toPem } from '../pki.ts';
import { createRandom, formatMicroseconds, type Random } from '../random.ts';
import type { Flavor, Request, Resource, Response, Route } from '../types.ts';
import {
  badRequest,
  dataResponse,
  filledField,
  type Input,
  listResponse,
  NO_CONTENT,
  NOT_FOUND,
  parseInput,
  refuseUnknownInput,
} from './envelope.ts';

/** docs/services/secrets.md#keys. */
export class Keys implements Resource {
  readonly #lifecycle: KeyLifecycle;
  readonly #flavor: Flavor;

  constructor(lifecycle: KeyLifecycle, flavor: Flavor) {
    this.#lifecycle = lifecycle;
    this.#flavor = flavor;
  }

  get routes(): readonly Route[] {
    const all = '/keymgmt/key';
    const one = `${all}/:name`;
    return [
      { method: 'LIST', path: all, handle: (request) => listResponse(request, this.#lifecycle.keys.keys()) },
      { method: 'GET', path: one, handle: (request) => this.#read(request) },
      { method: 'POST', path: one, writes: true, handle: (request) => this.#write(request) },
      { method: 'POST', path: `${one}/rotate`, writes: true, handle: (request) => this.#rotate(request) },
      { method: 'DELETE', path: one, writes: true, handle: (request) => this.#delete(request) },
      { method: 'LIST', path: `${one}/kms`, handle: (request) => this.#listProviders(request) },
    ];
  }

  #read(request: Request): Response {
    const name = request.params.name!;
    const key = this.#lifecycle.keys.get(name);
    return key ? dataResponse(request, keyData(name, key, this.#flavor)) : NOT_FOUND;
  }

  #write(request: Request): Response {
    const body = parseInput(request);
    refuseUnknownInput(body, ['type', 'min_enabled_version', 'deletion_allowed']);
    const name = request.params.name!;
    const type = filledField(body, 'type');
    if (type !== undefined && !isKeyType(type)) throw badRequest(`unsupported key type "${type}"`);
    const existing = this.#lifecycle.keys.get(name);
    if (existing && type !== undefined && type !== existing.type) {
      throw badRequest(`key "${name}" has type ${existing.type}, which cannot be changed`);
    }
    const key = existing ?? createKey(type ?? 'rsa-2048');
    if (!existing) this.#lifecycle.addVersion(name, key, request.now);
    Object.assign(key, parseSettings(body, key, this.#flavor));
    this.#lifecycle.keys.set(name, key);
    return NO_CONTENT;
  }

  #rotate({ params, now }: Request): Response {
    const name = params.name!;
    const key = this.#lifecycle.keys.get(name);
    if (!key) throw badRequest(`key "${name}" not found`);
    this.#lifecycle.addVersion(name, key, now);
    return NO_CONTENT;
  }

  /** Only a key that allows deletion and that no provider holds can be deleted. */
  #delete({ params }: Request): Response {
    const name = params.name!;
    const key = this.#lifecycle.keys.get(name);
    if (!key) return NOT_FOUND;
    const holder = this.#lifecycle.findHolder(name);
    if (holder) throw badRequest(`key "${name}" is distributed to provider "${holder[0]}", remove it there first`);
    if (!key.deletionAllowed) throw badRequest(`deletion is not allowed for key "${name}"`);
    this.#lifecycle.keys.delete(name);
    return NO_CONTENT;
  }

  #listProviders(request: Request): Response {
    const holder = this.#lifecycle.findHolder(request.params.name!);
    return listResponse(request, holder ? [holder[0]] : []);
  }
}

function isKeyType(type: string): type is KeyType {
  return KEY_TYPES.some((known) => known === type);
}

function keyData(name: string, key: KeyRecord, flavor: Flavor): Record<string, unknown> {
  const versions = Object.fromEntries(
    key.versions.map(({ creationTime, publicKey }, index) => [
      String(index + 1),
      { creation_time: creationTime, ...(publicKey === undefined ? {} : { public_key: publicKey }) },
    ]),
  );
  const isHashicorp = flavor === 'hashicorp';
  return {
    name,
    type: key.type,
    deletion_allowed: key.deletionAllowed,
    latest_version: key.versions.length,
    // Vault returns 1 for a new key.
    min_enabled_version: isHashicorp ? Math.max(1, key.minEnabledVersion) : key.minEnabledVersion,
    [isHashicorp ? 'versions' : 'keys']: versions,
  };
}

/**
 * The settings in the body of a write. The specification gives both a default: a body with only one of them resets the
 * other. Vault keeps what is not sent.
 */
function parseSettings(
  body: Input,
  key: KeyRecord,
  flavor: Flavor,
): Pick<KeyRecord, 'minEnabledVersion' | 'deletionAllowed'> {
  const { min_enabled_version: minimum, deletion_allowed: deletion } = body;
  const isKept = flavor === 'hashicorp' || (minimum === undefined && deletion === undefined);
  const minEnabledVersion = Number(minimum ?? (isKept ? key.minEnabledVersion : 0));
  if (!Number.isInteger(minEnabledVersion) || minEnabledVersion < 0) {
    throw badRequest('min_enabled_version must be a whole number, 0 or more');
  }
  if (minEnabledVersion > key.versions.length) throw badRequest('min_enabled_version is beyond the latest version');
  const deletionAllowed = deletion ?? (isKept ? key.deletionAllowed : false);
  if (typeof deletionAllowed !== 'boolean') throw badRequest('deletion_allowed must be true or false');
  return { minEnabledVersion, deletionAllowed };
}

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

/** A public key, and the random numbers that follow it in its stream. */
interface PublicKey {
  readonly publicKey: string | undefined;
  readonly after: Random;
}

const publicKeys = createMemo<PublicKey>();

function createPublicKey(type: KeyType, stream: string): PublicKey {
  const after = createRandom(stream);
  const der = PUBLIC_KEYS[type]?.(after);
  return { publicKey: der && toPem('PUBLIC KEY', der), after };
}

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
    const stream = `${this.#seed}/secrets/key/${name}/${version}/${at.getTime()}`;
    const { publicKey, after } = publicKeys(`${key.type} ${stream}`, () => createPublicKey(key.type, stream));
    const random = after.copy();
    key.versions.push({ creationTime: formatMicroseconds(at, random), ...(publicKey && { publicKey }) });
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
