import { inPath, operation } from './operation.ts';
import {
  checkMeshConfig,
  checkMeshRole,
  createKey,
  distributeKey,
  meshConfig,
  meshRole,
  updateKey,
  writeProvider,
} from './secrets-bodies.ts';

/** The 21 operations of secrets.md. Paths begin with the engine's default mount, which the target's `mounts` replace. */

const read = { kind: 'secrets', method: 'GET', changes: false, repeat: 'read', reversible: true } as const;
const list = { ...read, method: 'LIST', answers: 'keys', items: 'data.keys' } as const;
const write = {
  kind: 'secrets',
  method: 'POST',
  changes: true,
  repeat: 'unsent',
  reversible: true,
  answers: 'any',
} as const;
const remove = { ...write, method: 'DELETE' } as const;
const keymgmt = 'secrets.md, Endpoints, Key management';
const mesh = 'secrets.md, Endpoints, Mesh credentials';
const keyName = inPath('name of the key');
const kmsName = inPath('name of the KMS provider');
const kmsKey = { name: kmsName, key_name: keyName } as const;
const roleName = inPath('name of the role');
const KEY = '/keymgmt/key/{name}';
const KMS = '/keymgmt/kms/{name}';
const KMS_KEY = `${KMS}/key/{key_name}` as const;
const ROLE = '/mesh/roles/{name}';

/** Permissions are not shown in the document; the server's policies grant a capability on a path. */
const may = (capability: string, path: string) => `${capability} on ${path.slice(1)}`;

export const secrets = {
  keys: {
    list: operation({
      ...list,
      name: 'secrets.keys.list',
      path: '/keymgmt/key',
      about: 'lists the names of the keys',
      params: {},
      permission: may('list', '/keymgmt/key'),
      rule: `${keymgmt}: List keys`,
    }),
    read: operation({
      ...read,
      name: 'secrets.keys.read',
      path: KEY,
      about: 'reads a key and its versions',
      params: { name: keyName },
      answers: 'data',
      permission: may('read', KEY),
      rule: `${keymgmt}: Read key`,
    }),
    create: operation({
      ...write,
      repeat: 'never',
      name: 'secrets.keys.create',
      path: KEY,
      about: 'creates a key; its type is fixed from then on',
      params: { name: keyName },
      body: { schema: createKey, required: false, example: '{"type": "rsa-2048"}' },
      permission: may('create, update', KEY),
      rule: `${keymgmt}: Create key`,
    }),
    update: operation({
      ...write,
      name: 'secrets.keys.update',
      path: KEY,
      about: 'disables versions below a minimum, or allows deletion',
      params: { name: keyName },
      body: { schema: updateKey, required: true, example: '{"min_enabled_version": 2, "deletion_allowed": false}' },
      permission: may('update', KEY),
      rule: `${keymgmt}: Update key; States and transitions`,
    }),
    rotate: operation({
      ...write,
      repeat: 'never',
      name: 'secrets.keys.rotate',
      path: `${KEY}/rotate`,
      about: 'makes a new version of a key, each time it is called',
      params: { name: keyName },
      permission: may('update', `${KEY}/rotate`),
      rule: `${keymgmt}: Rotate key`,
    }),
    delete: operation({
      ...remove,
      reversible: false,
      name: 'secrets.keys.delete',
      path: KEY,
      about: 'deletes a key that allows it and that no provider holds',
      params: { name: keyName },
      permission: may('delete', KEY),
      rule: `${keymgmt}: Delete key; States and transitions`,
    }),
    providers: operation({
      ...list,
      name: 'secrets.keys.providers',
      path: `${KEY}/kms`,
      about: 'lists the names of the providers that hold a key',
      params: { name: keyName },
      permission: may('list', `${KEY}/kms`),
      rule: `${keymgmt}: List providers of key`,
    }),
  },
  kms: {
    list: operation({
      ...list,
      name: 'secrets.kms.list',
      path: '/keymgmt/kms',
      about: 'lists the names of the KMS providers',
      params: {},
      permission: may('list', '/keymgmt/kms'),
      rule: `${keymgmt}: List providers`,
    }),
    read: operation({
      ...read,
      name: 'secrets.kms.read',
      path: KMS,
      about: 'reads a KMS provider, without its credentials',
      params: { name: kmsName },
      answers: 'data',
      permission: may('read', KMS),
      rule: `${keymgmt}: Read provider`,
    }),
    write: operation({
      ...write,
      name: 'secrets.kms.write',
      path: KMS,
      about: 'creates a KMS provider, or updates its credentials',
      params: { name: kmsName },
      body: {
        schema: writeProvider,
        required: true,
        example: '{"provider": "awskms", "key_collection": "us-west-1", "credentials": {"access_key": "…"}}',
      },
      permission: may('create, update', KMS),
      rule: `${keymgmt}: Create or update provider`,
    }),
    delete: operation({
      ...remove,
      name: 'secrets.kms.delete',
      path: KMS,
      about: 'deletes a KMS provider that holds no key',
      params: { name: kmsName },
      permission: may('delete', KMS),
      rule: `${keymgmt}: Delete provider; States and transitions`,
    }),
  },
  'kms-keys': {
    list: operation({
      ...list,
      name: 'secrets.kms-keys.list',
      path: `${KMS}/key`,
      about: 'lists the names of the keys that a provider holds',
      params: { name: kmsName },
      permission: may('list', `${KMS}/key`),
      rule: `${keymgmt}: List keys in provider`,
    }),
    read: operation({
      ...read,
      name: 'secrets.kms-keys.read',
      path: KMS_KEY,
      about: 'reads how a key is held by a provider',
      params: kmsKey,
      answers: 'data',
      permission: may('read', KMS_KEY),
      rule: `${keymgmt}: Read key in provider`,
    }),
    distribute: operation({
      ...write,
      repeat: 'never',
      name: 'secrets.kms-keys.distribute',
      path: KMS_KEY,
      about: 'distributes a key to a provider',
      params: kmsKey,
      body: {
        schema: distributeKey,
        required: true,
        example: '{"purpose": ["encrypt", "decrypt"], "protection": "hsm"}',
      },
      permission: may('create, update', KMS_KEY),
      rule: `${keymgmt}: Distribute key to provider`,
    }),
    remove: operation({
      ...remove,
      name: 'secrets.kms-keys.remove',
      path: KMS_KEY,
      about: 'removes a key from a provider; the engine keeps it',
      params: kmsKey,
      permission: may('delete', KMS_KEY),
      rule: `${keymgmt}: Remove key from provider; States and transitions`,
    }),
  },
  'mesh-config': {
    write: operation({
      ...write,
      name: 'secrets.mesh-config.write',
      path: '/mesh/config/access',
      about: 'configures how the engine reaches the mesh system',
      params: {},
      body: {
        schema: meshConfig,
        required: true,
        example: '{"address": "127.0.0.1:8500", "scheme": "https", "token": "…"}',
      },
      check: checkMeshConfig,
      permission: may('update', '/mesh/config/access'),
      rule: `${mesh}: Configure access`,
    }),
  },
  'mesh-roles': {
    list: operation({
      ...list,
      name: 'secrets.mesh-roles.list',
      path: '/mesh/roles',
      about: 'lists the names of the roles',
      params: {},
      permission: may('list', '/mesh/roles'),
      rule: `${mesh}: List roles`,
    }),
    read: operation({
      ...read,
      name: 'secrets.mesh-roles.read',
      path: ROLE,
      about: 'reads a role',
      params: { name: roleName },
      answers: 'data',
      permission: may('read', ROLE),
      rule: `${mesh}: Read role`,
    }),
    write: operation({
      ...write,
      name: 'secrets.mesh-roles.write',
      path: ROLE,
      about: 'creates a role, or updates it',
      params: { name: roleName },
      body: {
        schema: meshRole,
        required: true,
        example: '{"token_type": "client", "policies": ["readonly"], "ttl": "1h"}',
      },
      check: checkMeshRole,
      permission: may('create, update', ROLE),
      rule: `${mesh}: Create or update role; Mesh role`,
    }),
    delete: operation({
      ...remove,
      name: 'secrets.mesh-roles.delete',
      path: ROLE,
      about: 'deletes a role; succeeds also when there is none',
      params: { name: roleName },
      permission: may('delete', ROLE),
      rule: `${mesh}: Delete role`,
    }),
  },
  'mesh-creds': {
    generate: operation({
      ...read,
      changes: true,
      repeat: 'never',
      name: 'secrets.mesh-creds.generate',
      path: '/mesh/creds/{name}',
      about: 'mints a mesh token from a role, each time it is called',
      params: { name: roleName },
      answers: 'data',
      permission: may('read', '/mesh/creds/{name}'),
      rule: `${mesh}: Generate credential`,
    }),
  },
} as const;
