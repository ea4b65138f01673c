import { defineOperations, pathParam } from '../operation.ts';
import { capabilities } from '../permission.ts';
import * as bodies from './bodies.ts';

/** Operations of the key management and mesh engines. Paths begin with the default mount, which `mounts` of the target replaces. */

const read = { responseType: 'data', permission: capabilities('read'), describes: { name: ['data', 'name'] } } as const;
const list = {
  method: 'LIST',
  responseType: 'keys',
  itemsPath: 'data.keys',
  permission: capabilities('list'),
} as const;
const update = { method: 'POST', permission: capabilities('update') } as const;
const write = { ...update, permission: capabilities('create', 'update') } as const;
const remove = { method: 'DELETE', permission: capabilities('delete') } as const;
const meshMount = {
  in: 'mount',
  type: 'string',
  required: false,
  description: 'mount of the engine, one of `mounts` of the target; the first unless set',
} as const;
const key = { path: '/keymgmt/key/{name}', params: { name: pathParam('name of the key') } } as const;
const kms = {
  path: '/keymgmt/kms/{name}',
  params: { name: pathParam('name of the KMS provider') },
  section: 'kms-providers',
} as const;
const kmsKey = {
  path: `${kms.path}/key/{key_name}`,
  params: { ...kms.params, key_name: key.params.name },
  section: 'key-distributions',
} as const;
const role = { path: '/mesh/roles/{name}', params: { name: pathParam('name of the role'), mount: meshMount } } as const;

const readKey = {
  ...read,
  ...key,
  description: 'reads a key and its versions',
  says: ['name', 'type', 'latest_version', 'keys', 'versions'],
  maps: [['keys', 'versions']],
} as const;

export const secrets = defineOperations('secrets', {
  keys: {
    list: { ...list, path: '/keymgmt/key', description: 'lists the names of the keys' },
    read: readKey,
    create: {
      ...write,
      ...key,
      retryPolicy: 'never',
      description: 'creates a key; its type cannot be changed later',
      body: bodies.createKey,
    },
    update: {
      ...update,
      ...key,
      description: 'sets the minimum enabled version, or allows deletion, of a key that exists',
      subjectRead: defineOperations('secrets', { keys: { read: readKey } }).keys.read, // create and update have the same path: docs/services/secrets.md#keys
      body: bodies.updateKey,
      validate: bodies.validateKeyUpdate,
    },
    rotate: {
      ...update,
      ...key,
      reversible: false,
      retryPolicy: 'never',
      path: `${key.path}/rotate`,
      description: 'creates a new version of a key with each call',
    },
    delete: { ...remove, ...key, description: 'deletes a key that allows deletion and is in no provider' },
    providers: {
      ...list,
      ...key,
      path: `${key.path}/kms`,
      description: 'lists the names of the providers that a key is distributed to',
    },
  },
  kms: {
    list: { ...list, path: '/keymgmt/kms', description: 'lists the names of the KMS providers', section: kms.section },
    read: {
      ...read,
      ...kms,
      description: 'reads a KMS provider, without its credentials',
      says: ['provider', 'key_collection'],
    },
    write: {
      ...write,
      ...kms,
      description: 'creates a KMS provider or updates its credentials',
      body: bodies.writeProvider,
    },
    delete: { ...remove, ...kms, description: 'deletes a KMS provider without keys' },
  },
  'kms-keys': {
    list: {
      ...list,
      ...kmsKey,
      path: `${kms.path}/key`,
      params: kms.params,
      description: 'lists the names of the keys in a provider',
    },
    read: {
      ...read,
      ...kmsKey,
      description: 'reads the distribution of a key to a provider',
      says: ['name', 'protection', 'purpose', 'versions'],
      describes: {}, // what a provider has may have another name in it
    },
    distribute: {
      ...write,
      ...kmsKey,
      retryPolicy: 'never',
      description: 'distributes a key to a provider',
      body: bodies.distributeKey,
    },
    remove: { ...remove, ...kmsKey, description: 'removes a key from a provider; the engine keeps the key' },
  },
  'mesh-config': {
    write: {
      ...update,
      path: '/mesh/config/access',
      description: 'configures how the engine accesses the mesh system',
      params: { mount: meshMount },
      body: bodies.meshConfig,
      validate: bodies.validateMeshConfig,
      section: 'mesh-access',
    },
  },
  'mesh-roles': {
    list: { ...list, path: '/mesh/roles', params: { mount: meshMount }, description: 'lists the names of the roles' },
    read: {
      ...read,
      ...role,
      description: 'reads a role',
      says: ['token_type', ...bodies.ROLE_GRANTS, 'lease', 'ttl'],
    },
    write: {
      ...write,
      ...role,
      description: 'creates or updates a role',
      body: bodies.meshRole,
      validate: bodies.validateMeshRole,
    },
    delete: { ...remove, ...role, reversible: true, description: 'deletes a role; succeeds if it does not exist' },
  },
  'mesh-creds': {
    generate: {
      ...read,
      ...role,
      mutates: true,
      retryPolicy: 'never',
      path: '/mesh/creds/{name}',
      description: 'creates a mesh token from a role with each call',
      section: 'mesh-credentials',
    },
  },
});
