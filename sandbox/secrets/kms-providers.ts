import type { Flavor, Request, Response, RouteTable } from '../types.ts';
import type { Distribution, DistributionTerms, SecretsContext } from './context.ts';
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
import { distribute, findHolder } from './keys.ts';

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
  'GET /keymgmt/kms/:name/key/:key_name': readKey,
  'POST /keymgmt/kms/:name/key/:key_name': distributeKey,
  'DELETE /keymgmt/kms/:name/key/:key_name': removeKey,
};

function readProvider(request: Request, context: SecretsContext): Response {
  const found = context.providers.get(request.params.name!);
  if (!found) return NOT_FOUND;
  return dataResponse(request, { key_collection: found.keyCollection, provider: found.provider });
}

function writeProvider(request: Request, context: SecretsContext): Response {
  const body = parseInput(request);
  refuseUnknownInput(body, ['provider', 'key_collection', 'credentials']);
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
  const credentials = body.credentials === undefined ? existing?.credentials : pairsField(body, 'credentials');
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

function readKey(request: Request, context: SecretsContext): Response {
  const { name, key_name: keyName } = request.params;
  const held = context.providers.get(name!)?.keys.get(keyName!);
  return held ? dataResponse(request, distributionData(held, context.flavor)) : NOT_FOUND;
}

function distributeKey(request: Request, context: SecretsContext): Response {
  const body = parseInput(request);
  refuseUnknownInput(body, ['purpose', 'protection']);
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
