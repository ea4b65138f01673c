import type { Flavor, Request, Resource, Response, Route } from '../types.ts';
import {
  badRequest,
  dataResponse,
  filledField,
  listField,
  listResponse,
  NO_CONTENT,
  NOT_FOUND,
  pairsField,
  parseInput,
  refuseUnknownInput,
} from './envelope.ts';
import type { Distribution, DistributionTerms, KeyLifecycle } from './keys.ts';

/** The values that Vault accepts. The specification lists none of them, so with its flavor any name passes. */
const PROVIDERS = ['azurekeyvault', 'awskms', 'gcpckms'];
const PURPOSES = ['encrypt', 'decrypt', 'sign', 'verify', 'wrap', 'unwrap'];
const PROTECTIONS = ['hsm', 'software'];

/** docs/services/secrets.md#kms-providers and #key-distributions. */
export class KmsProviders implements Resource {
  readonly #lifecycle: KeyLifecycle;
  readonly #flavor: Flavor;

  constructor(lifecycle: KeyLifecycle, flavor: Flavor) {
    this.#lifecycle = lifecycle;
    this.#flavor = flavor;
  }

  get routes(): readonly Route[] {
    const all = '/keymgmt/kms';
    const one = `${all}/:name`;
    const key = `${one}/key/:key_name`;
    return [
      { method: 'LIST', path: all, handle: (request) => listResponse(request, this.#lifecycle.providers.keys()) },
      { method: 'GET', path: one, handle: (request) => this.#read(request) },
      { method: 'POST', path: one, writes: true, handle: (request) => this.#write(request) },
      { method: 'DELETE', path: one, writes: true, handle: (request) => this.#delete(request) },
      { method: 'LIST', path: `${one}/key`, handle: (request) => this.#listKeys(request) },
      { method: 'GET', path: key, handle: (request) => this.#readKey(request) },
      { method: 'POST', path: key, writes: true, handle: (request) => this.#distributeKey(request) },
      { method: 'DELETE', path: key, writes: true, handle: (request) => this.#removeKey(request) },
    ];
  }

  #read(request: Request): Response {
    const found = this.#lifecycle.providers.get(request.params.name!);
    if (!found) return NOT_FOUND;
    return dataResponse(request, { key_collection: found.keyCollection, provider: found.provider });
  }

  #write(request: Request): Response {
    const body = parseInput(request);
    refuseUnknownInput(body, ['provider', 'key_collection', 'credentials']);
    const name = request.params.name!;
    const provider = filledField(body, 'provider');
    const keyCollection = filledField(body, 'key_collection');
    if (provider === undefined) throw badRequest('missing required field "provider"');
    if (keyCollection === undefined) throw badRequest('missing required field "key_collection"');
    if (this.#flavor === 'hashicorp' && !PROVIDERS.includes(provider)) {
      throw badRequest(`unsupported provider "${provider}"`);
    }
    const existing = this.#lifecycle.providers.get(name);
    if (existing && (existing.provider !== provider || existing.keyCollection !== keyCollection)) {
      throw badRequest('provider and key_collection cannot be changed after creation');
    }
    const credentials = body.credentials === undefined ? existing?.credentials : pairsField(body, 'credentials');
    const keys = existing?.keys ?? new Map<string, Distribution>();
    this.#lifecycle.providers.set(name, { provider, keyCollection, credentials: credentials ?? {}, keys });
    return NO_CONTENT;
  }

  #delete({ params }: Request): Response {
    const name = params.name!;
    const provider = this.#lifecycle.providers.get(name);
    if (!provider) return NOT_FOUND;
    if (provider.keys.size > 0) throw badRequest(`provider "${name}" still holds ${provider.keys.size} key(s)`);
    this.#lifecycle.providers.delete(name);
    return NO_CONTENT;
  }

  #listKeys(request: Request): Response {
    return listResponse(request, this.#lifecycle.providers.get(request.params.name!)?.keys.keys() ?? []);
  }

  #readKey(request: Request): Response {
    const { name, key_name: keyName } = request.params;
    const held = this.#lifecycle.providers.get(name!)?.keys.get(keyName!);
    return held ? dataResponse(request, distributionData(held, this.#flavor)) : NOT_FOUND;
  }

  #distributeKey(request: Request): Response {
    const body = parseInput(request);
    refuseUnknownInput(body, ['purpose', 'protection']);
    const { name: providerName = '', key_name: keyName = '' } = request.params;
    const provider = this.#lifecycle.providers.get(providerName);
    const key = this.#lifecycle.keys.get(keyName);
    if (!provider) throw badRequest(`provider "${providerName}" not found`);
    if (!key) throw badRequest(`key "${keyName}" not found`);
    const terms = { purpose: listField(body, 'purpose'), protection: filledField(body, 'protection') ?? 'hsm' };
    this.#checkTerms(terms);
    const held = provider.keys.get(keyName);
    if (held && !areSameTerms(held, terms)) throw badRequest('purpose and protection cannot be changed');
    if (held) return NO_CONTENT;
    const holder = this.#lifecycle.findHolder(keyName);
    if (holder) throw badRequest(`key "${keyName}" is already distributed to provider "${holder[0]}"`);
    this.#lifecycle.distribute(keyName, key, provider, request.now, terms);
    return NO_CONTENT;
  }

  #checkTerms({ purpose, protection }: DistributionTerms): void {
    if (purpose.length === 0) throw badRequest('at least one purpose is required');
    if (this.#flavor !== 'hashicorp') return;
    const unsupported = purpose.find((name) => !PURPOSES.includes(name));
    if (unsupported !== undefined) throw badRequest(`unsupported purpose "${unsupported}"`);
    if (!PROTECTIONS.includes(protection)) throw badRequest(`unsupported protection "${protection}"`);
  }

  #removeKey({ params }: Request): Response {
    const isRemoved = this.#lifecycle.providers.get(params.name!)?.keys.delete(params.key_name!);
    return isRemoved ? NO_CONTENT : NOT_FOUND;
  }
}

function areSameTerms(a: DistributionTerms, b: DistributionTerms): boolean {
  return a.protection === b.protection && [...a.purpose].sort().join() === [...b.purpose].sort().join();
}

function distributionData({ name, protection, purpose, versions }: Distribution, flavor: Flavor) {
  return { name, protection, purpose: flavor === 'hashicorp' ? purpose.join(',') : purpose, versions };
}
