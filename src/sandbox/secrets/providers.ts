import type { Reply, Route } from '../types.ts';
import { distribute, holderOf } from './life.ts';
import { ABSENT, answer, answerNames, type Body, DONE, listIn, mapIn, refuse, textIn, withBody } from './reply.ts';
import type { Distribution, SecretsWorld } from './state.ts';

/** live-services.md B2. The document shows none of these, so with its flavor any name passes. */
const PROVIDERS = ['azurekeyvault', 'awskms', 'gcpckms'];
const PURPOSES = ['encrypt', 'decrypt', 'sign', 'verify', 'wrap', 'unwrap'];
const PROTECTIONS = ['hsm', 'software'];

function writeProvider({ state, flavor }: SecretsWorld, name: string, body: Body): Reply {
  const provider = textIn(body, 'provider');
  const keyCollection = textIn(body, 'key_collection');
  if (provider === undefined) return refuse(400, 'missing required field "provider"');
  if (keyCollection === undefined) return refuse(400, 'missing required field "key_collection"');
  if (flavor === 'hashicorp' && !PROVIDERS.includes(provider)) return refuse(400, `unsupported provider "${provider}"`);
  const existing = state.providers.get(name);
  if (existing && (existing.provider !== provider || existing.keyCollection !== keyCollection)) {
    return refuse(400, 'provider and key_collection cannot be changed after creation');
  }
  const credentials = body.credentials === undefined ? existing?.credentials : mapIn(body, 'credentials');
  const keys = existing?.keys ?? new Map<string, Distribution>();
  state.providers.set(name, { provider, keyCollection, credentials: credentials ?? {}, keys });
  return DONE;
}

function deleteProvider({ state }: SecretsWorld, name: string): Reply {
  const provider = state.providers.get(name);
  if (!provider) return ABSENT;
  if (provider.keys.size > 0) return refuse(400, `provider "${name}" still holds ${provider.keys.size} key(s)`);
  state.providers.delete(name);
  return DONE;
}

const sameTerms = (a: Pick<Distribution, 'purpose' | 'protection'>, b: typeof a): boolean =>
  a.protection === b.protection && [...a.purpose].sort().join() === [...b.purpose].sort().join();

function distributeKey(world: SecretsWorld, providerName: string, keyName: string, body: Body, now: Date): Reply {
  const { state, flavor } = world;
  const provider = state.providers.get(providerName);
  const key = state.keys.get(keyName);
  if (!provider) return refuse(400, `provider "${providerName}" not found`);
  if (!key) return refuse(400, `key "${keyName}" not found`);
  const terms = { purpose: listIn(body, 'purpose'), protection: textIn(body, 'protection') ?? 'hsm' };
  if (terms.purpose.length === 0) return refuse(400, 'at least one purpose is required');
  if (flavor === 'hashicorp') {
    const unknown = terms.purpose.find((purpose) => !PURPOSES.includes(purpose));
    if (unknown !== undefined) return refuse(400, `unsupported purpose "${unknown}"`);
    if (!PROTECTIONS.includes(terms.protection)) return refuse(400, `unsupported protection "${terms.protection}"`);
  }
  const held = provider.keys.get(keyName);
  if (held) return sameTerms(held, terms) ? DONE : refuse(400, 'purpose and protection cannot be changed');
  const holder = holderOf(state, keyName);
  if (holder) return refuse(400, `key "${keyName}" is already distributed to provider "${holder[0]}"`);
  distribute(world, keyName, key, provider, now, terms);
  return DONE;
}

function distributionData({ name, protection, purpose, versions }: Distribution, flavor: SecretsWorld['flavor']) {
  return { name, protection, purpose: flavor === 'hashicorp' ? purpose.join(',') : purpose, versions };
}

function distributionRoutes(world: SecretsWorld): Route[] {
  const { state, flavor } = world;
  const path = '/keymgmt/kms/:name/key/:key_name';
  return [
    {
      method: 'LIST',
      path: '/keymgmt/kms/:name/key',
      answer: (ask) => answerNames(ask, state.providers.get(ask.params.name!)?.keys.keys() ?? []),
    },
    {
      method: 'GET',
      path,
      answer: (ask) => {
        const held = state.providers.get(ask.params.name!)?.keys.get(ask.params.key_name!);
        return held ? answer(ask, distributionData(held, flavor)) : ABSENT;
      },
    },
    {
      method: 'POST',
      path,
      writes: true,
      answer: withBody((body, { params, now }) => distributeKey(world, params.name!, params.key_name!, body, now)),
    },
    {
      method: 'DELETE',
      path,
      writes: true,
      answer: ({ params }) => (state.providers.get(params.name!)?.keys.delete(params.key_name!) ? DONE : ABSENT),
    },
  ];
}

export function providerRoutes(world: SecretsWorld): Route[] {
  const { state } = world;
  const path = '/keymgmt/kms/:name';
  return [
    { method: 'LIST', path: '/keymgmt/kms', answer: (ask) => answerNames(ask, state.providers.keys()) },
    {
      method: 'GET',
      path,
      answer: (ask) => {
        const found = state.providers.get(ask.params.name!);
        return found ? answer(ask, { key_collection: found.keyCollection, provider: found.provider }) : ABSENT;
      },
    },
    {
      method: 'POST',
      path,
      writes: true,
      answer: withBody((body, ask) => writeProvider(world, ask.params.name!, body)),
    },
    { method: 'DELETE', path, writes: true, answer: ({ params }) => deleteProvider(world, params.name!) },
    ...distributionRoutes(world),
  ];
}
