import type { Flavor, Request, Resource, Response, Route } from '../types.ts';
import {
  type Body,
  badRequest,
  dataResponse,
  listResponse,
  NO_CONTENT,
  NOT_FOUND,
  parseBody,
  refuseUnknownFields,
  stringField,
} from './envelope.ts';
import { createKey, KEY_TYPES, type KeyLifecycle, type KeyRecord, type KeyType } from './key-lifecycle.ts';

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
    const body = parseBody(request);
    refuseUnknownFields(body, ['type', 'min_enabled_version', 'deletion_allowed']);
    const name = request.params.name!;
    const type = stringField(body, 'type');
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
  body: Body,
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
