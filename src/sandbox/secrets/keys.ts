import type { Reply, Route } from '../types.ts';
import { addVersion, createKey, holderOf } from './life.ts';
import { ABSENT, answer, answerNames, type Body, DONE, refuse, textIn, withBody } from './reply.ts';
import { KEY_TYPES, type Key, type KeyType, type SecretsWorld } from './state.ts';

function keyData(name: string, key: Key, flavor: SecretsWorld['flavor']): Record<string, unknown> {
  const versions = Object.fromEntries(
    key.versions.map(({ creationTime, publicKey }, index) => [
      String(index + 1),
      { creation_time: creationTime, ...(publicKey === undefined ? {} : { public_key: publicKey }) },
    ]),
  );
  const hashicorp = flavor === 'hashicorp';
  return {
    name,
    type: key.type,
    deletion_allowed: key.deletionAllowed,
    latest_version: key.versions.length,
    // A new key reads back 1 there (live-services.md B2).
    min_enabled_version: hashicorp ? Math.max(1, key.minEnabledVersion) : key.minEnabledVersion,
    [hashicorp ? 'versions' : 'keys']: versions,
  };
}

/** The wanted settings; a text says why they are refused. */
function settingsFrom(body: Body, key: Key, flavor: SecretsWorld['flavor']) {
  const { min_enabled_version: minimum, deletion_allowed: deletion } = body;
  // secrets.md gives both a default on update: who sends only one sets the other back. Vault keeps what is not sent.
  const kept = flavor === 'hashicorp' || (minimum === undefined && deletion === undefined);
  const wanted = Number(minimum ?? (kept ? key.minEnabledVersion : 0));
  if (!Number.isInteger(wanted) || wanted < 0) return 'min_enabled_version must be a whole number, 0 or more';
  if (wanted > key.versions.length) return 'min_enabled_version is beyond the latest version';
  const deletionAllowed = deletion ?? (kept ? key.deletionAllowed : false);
  if (typeof deletionAllowed !== 'boolean') return 'deletion_allowed must be true or false';
  return { minEnabledVersion: wanted, deletionAllowed };
}

function writeKey(world: SecretsWorld, name: string, body: Body, now: Date): Reply {
  const { state, flavor } = world;
  const type = textIn(body, 'type');
  if (type !== undefined && !KEY_TYPES.includes(type as KeyType)) return refuse(400, `unsupported key type "${type}"`);
  const existing = state.keys.get(name);
  if (existing && type !== undefined && type !== existing.type) {
    return refuse(400, `key "${name}" has type ${existing.type}, which cannot be changed`);
  }
  const key = existing ?? createKey((type ?? 'rsa-2048') as KeyType);
  if (!existing) addVersion(world, name, key, now);
  const settings = settingsFrom(body, key, flavor);
  if (typeof settings === 'string') return refuse(400, settings);
  Object.assign(key, settings);
  state.keys.set(name, key);
  return DONE;
}

/** secrets.md, "States and transitions": only a key that may be deleted and that no provider holds. Transit's 400. */
function deleteKey({ state }: SecretsWorld, name: string): Reply {
  const key = state.keys.get(name);
  if (!key) return ABSENT;
  const holder = holderOf(state, name);
  if (holder) return refuse(400, `key "${name}" is distributed to provider "${holder[0]}", remove it there first`);
  if (!key.deletionAllowed) return refuse(400, `deletion is not allowed for key "${name}"`);
  state.keys.delete(name);
  return DONE;
}

export function keyRoutes(world: SecretsWorld): Route[] {
  const { state, flavor } = world;
  const path = '/keymgmt/key/:name';
  return [
    { method: 'LIST', path: '/keymgmt/key', answer: (ask) => answerNames(ask, state.keys.keys()) },
    {
      method: 'GET',
      path,
      answer: (ask) => {
        const name = ask.params.name!;
        const key = state.keys.get(name);
        return key ? answer(ask, keyData(name, key, flavor)) : ABSENT;
      },
    },
    {
      method: 'POST',
      path,
      writes: true,
      answer: withBody((body, ask) => writeKey(world, ask.params.name!, body, ask.now)),
    },
    {
      method: 'POST',
      path: `${path}/rotate`,
      writes: true,
      answer: ({ params, now }) => {
        const name = params.name!;
        const key = state.keys.get(name);
        if (!key) return refuse(400, `key "${name}" not found`);
        addVersion(world, name, key, now);
        return DONE;
      },
    },
    { method: 'DELETE', path, writes: true, answer: ({ params }) => deleteKey(world, params.name!) },
    {
      method: 'LIST',
      path: `${path}/kms`,
      answer: (ask) => {
        const holder = holderOf(state, ask.params.name!);
        return answerNames(ask, holder ? [holder[0]] : []);
      },
    },
  ];
}
