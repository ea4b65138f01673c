import { type CurveName, createRsaPublicDer, EcKey, toPem } from '../pki.ts';
import { createMemo, createRandom, formatMicroseconds, type Random } from '../random.ts';
import type { Flavor, Request, Response, RouteTable } from '../types.ts';
import {
  type Distribution,
  type DistributionTerms,
  KEY_TYPES,
  type KeyRecord,
  type KeyType,
  type KmsProviderRecord,
  type SecretsContext,
} from './context.ts';
import {
  badRequest,
  dataResponse,
  filledField,
  type Input,
  listField,
  listResponse,
  NO_CONTENT,
  NOT_FOUND,
  parseInput,
  toPairs,
} from './envelope.ts';

/** docs/services/secrets.md#keys. */
export const keyRoutes: RouteTable<SecretsContext> = {
  'LIST /keymgmt/key': (request, { keys }) => listResponse(request, keys.keys()),
  'GET /keymgmt/key/:name': readKey,
  'POST /keymgmt/key/:name': writeKey,
  'POST /keymgmt/key/:name/rotate': rotateKey,
  'DELETE /keymgmt/key/:name': deleteKey,
  'LIST /keymgmt/key/:name/kms': listHolders,
};

function readKey(request: Request, context: SecretsContext): Response {
  const name = request.params.name!;
  const key = context.keys.get(name);
  return key ? dataResponse(request, keyData(name, key, context.flavor)) : NOT_FOUND;
}

function writeKey(request: Request, context: SecretsContext): Response {
  const body = parseInput(request, ['type', 'min_enabled_version', 'deletion_allowed']);
  const name = request.params.name!;
  const given = filledField(body, 'type');
  const type = KEY_TYPES.find((known) => known === given);
  if (given !== type) throw badRequest(`unsupported key type "${given}"`);
  const existing = context.keys.get(name);
  if (existing && type !== undefined && type !== existing.type) {
    throw badRequest(`key "${name}" has type ${existing.type}, which cannot be changed`);
  }
  const key = existing ?? createKey(type ?? 'rsa-2048');
  if (!existing) addVersion(context, name, key, request.now);
  Object.assign(key, parseSettings(body, key, context.flavor));
  context.keys.set(name, key);
  return NO_CONTENT;
}

function rotateKey({ params, now }: Request, context: SecretsContext): Response {
  const name = params.name!;
  const key = context.keys.get(name);
  if (!key) throw badRequest(`key "${name}" not found`);
  addVersion(context, name, key, now);
  return NO_CONTENT;
}

/** Only a key that allows deletion and that no provider holds can be deleted. */
function deleteKey({ params }: Request, context: SecretsContext): Response {
  const name = params.name!;
  const key = context.keys.get(name);
  if (!key) return NOT_FOUND;
  const holder = findHolder(context, name);
  if (holder) throw badRequest(`key "${name}" is distributed to provider "${holder[0]}", remove it there first`);
  if (!key.deletionAllowed) throw badRequest(`deletion is not allowed for key "${name}"`);
  context.keys.delete(name);
  return NO_CONTENT;
}

function listHolders(request: Request, context: SecretsContext): Response {
  const holder = findHolder(context, request.params.name!);
  return listResponse(request, holder ? [holder[0]] : []);
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
function parseSettings(body: Input, key: KeyRecord, flavor: Flavor) {
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

const publicKeys = createMemo<ReturnType<typeof createPublicKey>>();

/** A public key, which symmetric keys do not have, and the random numbers that follow it in its stream. */
function createPublicKey(type: KeyType, stream: string) {
  const after = createRandom(stream);
  const [family, size = ''] = type.split('-');
  if (family === 'aes256') return { publicKey: undefined, after };
  const curve = size.toUpperCase().replace('P', 'P-') as CurveName;
  const der = family === 'rsa' ? createRsaPublicDer(after, Number(size)) : new EcKey(after, curve).publicDer;
  return { publicKey: toPem('PUBLIC KEY', der), after };
}

/** The identifier of a key version as the three supported clouds write it; other providers are like Azure. */
function createVersionId(kms: KmsProviderRecord, name: string, version: number, random: Random): string {
  const { provider, keyCollection } = kms;
  if (provider === 'gcpckms') return `${keyCollection}/cryptoKeys/${name}/cryptoKeyVersions/${version}`;
  if (provider !== 'awskms') return random.hex(32);
  return `arn:aws:kms:${keyCollection}:${random.int(10 ** 11, 10 ** 12 - 1)}:key/mrk-${random.hex(32)}`;
}

export function createKey(type: KeyType): KeyRecord {
  return { type, deletionAllowed: false, minEnabledVersion: 0, versions: [] };
}

/** The provider that holds a key, with its name: there is at most one. */
export function findHolder({ providers }: SecretsContext, keyName: string) {
  return [...providers].find(([, provider]) => provider.keys.has(keyName));
}

/** Adds the next version to a key and, where a provider holds the key, to its copy. */
export function addVersion(context: SecretsContext, name: string, key: KeyRecord, at: Date): void {
  const version = key.versions.length + 1;
  const stream = `${context.seed}/secrets/key/${name}/${version}/${at.getTime()}`;
  const { publicKey, after } = publicKeys(`${key.type} ${stream}`, () => createPublicKey(key.type, stream));
  const random = after.copy();
  key.versions.push({ creationTime: formatMicroseconds(at, random), ...(publicKey && { publicKey }) });
  const provider = findHolder(context, name)?.[1];
  const distribution = provider?.keys.get(name);
  if (provider && distribution) distribution.versions[version] = createVersionId(provider, name, version, random);
}

/** Copies a key with all its versions into a provider, named there after the key and the time. */
export function distribute(
  { seed }: SecretsContext,
  name: string,
  key: KeyRecord,
  provider: KmsProviderRecord,
  at: Date,
  terms: DistributionTerms,
): void {
  const seconds = Math.floor(at.getTime() / 1000);
  const random = createRandom(`${seed}/secrets/distribution/${name}/${seconds}`);
  const versions = Object.fromEntries(
    key.versions.map((_, index) => [String(index + 1), createVersionId(provider, name, index + 1, random)]),
  );
  provider.keys.set(name, { name: `${name}-${seconds}`, ...terms, versions });
}

/** The values that Vault accepts. The specification lists none of them, so with its flavor any name passes. */
const PROVIDERS = ['azurekeyvault', 'awskms', 'gcpckms'];
const PURPOSES = ['encrypt', 'decrypt', 'sign', 'verify', 'wrap', 'unwrap'];
const PROTECTIONS = ['hsm', 'software'];

/** docs/services/secrets.md#kms-providers and #key-distributions. */
export const providerRoutes: RouteTable<SecretsContext> = {
  'LIST /keymgmt/kms': (request, { providers }) => listResponse(request, providers.keys()),
  'GET /keymgmt/kms/:name': readProvider,
  'POST /keymgmt/kms/:name': writeProvider,
  'DELETE /keymgmt/kms/:name': deleteProvider,
  'LIST /keymgmt/kms/:name/key': listKeys,
  'GET /keymgmt/kms/:name/key/:key_name': readHeldKey,
  'POST /keymgmt/kms/:name/key/:key_name': distributeKey,
  'DELETE /keymgmt/kms/:name/key/:key_name': removeKey,
};

function readProvider(request: Request, context: SecretsContext): Response {
  const found = context.providers.get(request.params.name!);
  if (!found) return NOT_FOUND;
  return dataResponse(request, { key_collection: found.keyCollection, provider: found.provider });
}

function writeProvider(request: Request, context: SecretsContext): Response {
  const body = parseInput(request, ['provider', 'key_collection', 'credentials']);
  const name = request.params.name!;
  const provider = filledField(body, 'provider');
  const keyCollection = filledField(body, 'key_collection');
  if (provider === undefined) throw badRequest('missing required field "provider"');
  if (keyCollection === undefined) throw badRequest('missing required field "key_collection"');
  if (context.flavor === 'hashicorp' && !PROVIDERS.includes(provider)) {
    throw badRequest(`unsupported provider "${provider}"`);
  }
  const existing = context.providers.get(name);
  if (existing && (existing.provider !== provider || existing.keyCollection !== keyCollection)) {
    throw badRequest('provider and key_collection cannot be changed after creation');
  }
  const credentials = body.credentials === undefined ? existing?.credentials : toPairs(body.credentials);
  const keys = existing?.keys ?? new Map<string, Distribution>();
  context.providers.set(name, { provider, keyCollection, credentials: credentials ?? {}, keys });
  return NO_CONTENT;
}

function deleteProvider({ params }: Request, context: SecretsContext): Response {
  const name = params.name!;
  const provider = context.providers.get(name);
  if (!provider) return NOT_FOUND;
  if (provider.keys.size > 0) throw badRequest(`provider "${name}" still holds ${provider.keys.size} key(s)`);
  context.providers.delete(name);
  return NO_CONTENT;
}

function listKeys(request: Request, context: SecretsContext): Response {
  return listResponse(request, context.providers.get(request.params.name!)?.keys.keys() ?? []);
}

function readHeldKey(request: Request, context: SecretsContext): Response {
  const { name, key_name: keyName } = request.params;
  const held = context.providers.get(name!)?.keys.get(keyName!);
  return held ? dataResponse(request, distributionData(held, context.flavor)) : NOT_FOUND;
}

function distributeKey(request: Request, context: SecretsContext): Response {
  const body = parseInput(request, ['purpose', 'protection']);
  const { name: providerName = '', key_name: keyName = '' } = request.params;
  const provider = context.providers.get(providerName);
  const key = context.keys.get(keyName);
  if (!provider) throw badRequest(`provider "${providerName}" not found`);
  if (!key) throw badRequest(`key "${keyName}" not found`);
  const terms = { purpose: listField(body, 'purpose'), protection: filledField(body, 'protection') ?? 'hsm' };
  checkTerms(terms, context);
  const held = provider.keys.get(keyName);
  if (held && !areSameTerms(held, terms)) throw badRequest('purpose and protection cannot be changed');
  if (held) return NO_CONTENT;
  const holder = findHolder(context, keyName);
  if (holder) throw badRequest(`key "${keyName}" is already distributed to provider "${holder[0]}"`);
  distribute(context, keyName, key, provider, request.now, terms);
  return NO_CONTENT;
}

function checkTerms({ purpose, protection }: DistributionTerms, context: SecretsContext): void {
  if (purpose.length === 0) throw badRequest('at least one purpose is required');
  if (context.flavor !== 'hashicorp') return;
  const unsupported = purpose.find((name) => !PURPOSES.includes(name));
  if (unsupported !== undefined) throw badRequest(`unsupported purpose "${unsupported}"`);
  if (!PROTECTIONS.includes(protection)) throw badRequest(`unsupported protection "${protection}"`);
}

function removeKey({ params }: Request, context: SecretsContext): Response {
  const isRemoved = context.providers.get(params.name!)?.keys.delete(params.key_name!);
  return isRemoved ? NO_CONTENT : NOT_FOUND;
}

function areSameTerms(a: DistributionTerms, b: DistributionTerms): boolean {
  return a.protection === b.protection && [...a.purpose].sort().join() === [...b.purpose].sort().join();
}

function distributionData({ name, protection, purpose, versions }: Distribution, flavor: Flavor) {
  return { name, protection, purpose: flavor === 'hashicorp' ? purpose.join(',') : purpose, versions };
}
