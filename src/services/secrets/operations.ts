import { defineOperation, pathParam } from '../operation.ts';
import {
  createKeyBody,
  distributeKeyBody,
  meshConfigBody,
  meshRoleBody,
  updateKeyBody,
  validateMeshConfig,
  validateMeshRole,
  writeProviderBody,
} from './bodies.ts';

/** The 21 operations of secrets.md. Paths begin with the engine's default mount, which the target's `mounts` replace. */

const read = { kind: 'secrets', method: 'GET', mutates: false, retryPolicy: 'read', reversible: true } as const;
const list = { ...read, method: 'LIST', responseType: 'keys', itemsPath: 'data.keys' } as const;
const write = {
  kind: 'secrets',
  method: 'POST',
  mutates: true,
  retryPolicy: 'unsent',
  reversible: true,
  responseType: 'any',
} as const;
const remove = { ...write, method: 'DELETE' } as const;
const keymgmt = 'secrets.md, Endpoints, Key management';
const mesh = 'secrets.md, Endpoints, Mesh credentials';
const keyName = pathParam('name of the key');
const kmsName = pathParam('name of the KMS provider');
const kmsKey = { name: kmsName, key_name: keyName } as const;
const roleName = pathParam('name of the role');
const KEY = '/keymgmt/key/{name}';
const KMS = '/keymgmt/kms/{name}';
const KMS_KEY = `${KMS}/key/{key_name}` as const;
const ROLE = '/mesh/roles/{name}';

/** Permissions are not shown in the document; the server's policies grant a capability on a path. */
const may = (capability: string, path: string) => `${capability} on ${path.slice(1)}`;

export const secrets = {
  keys: {
    list: defineOperation({
      ...list,
      name: 'secrets.keys.list',
      path: '/keymgmt/key',
      description: 'lists the names of the keys',
      params: {},
      permission: may('list', '/keymgmt/key'),
      docsUrl: `${keymgmt}: List keys`,
    }),
    read: defineOperation({
      ...read,
      name: 'secrets.keys.read',
      path: KEY,
      description: 'reads a key and its versions',
      params: { name: keyName },
      responseType: 'data',
      permission: may('read', KEY),
      docsUrl: `${keymgmt}: Read key`,
    }),
    create: defineOperation({
      ...write,
      retryPolicy: 'never',
      name: 'secrets.keys.create',
      path: KEY,
      description: 'creates a key; its type is fixed from then on',
      params: { name: keyName },
      body: { schema: createKeyBody, required: false, example: '{"type": "rsa-2048"}' },
      permission: may('create, update', KEY),
      docsUrl: `${keymgmt}: Create key`,
    }),
    update: defineOperation({
      ...write,
      name: 'secrets.keys.update',
      path: KEY,
      description: 'disables versions below a minimum, or allows deletion',
      params: { name: keyName },
      body: { schema: updateKeyBody, required: true, example: '{"min_enabled_version": 2, "deletion_allowed": false}' },
      permission: may('update', KEY),
      docsUrl: `${keymgmt}: Update key; States and transitions`,
    }),
    rotate: defineOperation({
      ...write,
      retryPolicy: 'never',
      name: 'secrets.keys.rotate',
      path: `${KEY}/rotate`,
      description: 'makes a new version of a key, each time it is called',
      params: { name: keyName },
      permission: may('update', `${KEY}/rotate`),
      docsUrl: `${keymgmt}: Rotate key`,
    }),
    delete: defineOperation({
      ...remove,
      reversible: false,
      name: 'secrets.keys.delete',
      path: KEY,
      description: 'deletes a key that allows it and that no provider holds',
      params: { name: keyName },
      permission: may('delete', KEY),
      docsUrl: `${keymgmt}: Delete key; States and transitions`,
    }),
    providers: defineOperation({
      ...list,
      name: 'secrets.keys.providers',
      path: `${KEY}/kms`,
      description: 'lists the names of the providers that hold a key',
      params: { name: keyName },
      permission: may('list', `${KEY}/kms`),
      docsUrl: `${keymgmt}: List providers of key`,
    }),
  },
  kms: {
    list: defineOperation({
      ...list,
      name: 'secrets.kms.list',
      path: '/keymgmt/kms',
      description: 'lists the names of the KMS providers',
      params: {},
      permission: may('list', '/keymgmt/kms'),
      docsUrl: `${keymgmt}: List providers`,
    }),
    read: defineOperation({
      ...read,
      name: 'secrets.kms.read',
      path: KMS,
      description: 'reads a KMS provider, without its credentials',
      params: { name: kmsName },
      responseType: 'data',
      permission: may('read', KMS),
      docsUrl: `${keymgmt}: Read provider`,
    }),
    write: defineOperation({
      ...write,
      name: 'secrets.kms.write',
      path: KMS,
      description: 'creates a KMS provider, or updates its credentials',
      params: { name: kmsName },
      body: {
        schema: writeProviderBody,
        required: true,
        example: '{"provider": "awskms", "key_collection": "us-west-1", "credentials": {"access_key": "…"}}',
      },
      permission: may('create, update', KMS),
      docsUrl: `${keymgmt}: Create or update provider`,
    }),
    delete: defineOperation({
      ...remove,
      name: 'secrets.kms.delete',
      path: KMS,
      description: 'deletes a KMS provider that holds no key',
      params: { name: kmsName },
      permission: may('delete', KMS),
      docsUrl: `${keymgmt}: Delete provider; States and transitions`,
    }),
  },
  'kms-keys': {
    list: defineOperation({
      ...list,
      name: 'secrets.kms-keys.list',
      path: `${KMS}/key`,
      description: 'lists the names of the keys that a provider holds',
      params: { name: kmsName },
      permission: may('list', `${KMS}/key`),
      docsUrl: `${keymgmt}: List keys in provider`,
    }),
    read: defineOperation({
      ...read,
      name: 'secrets.kms-keys.read',
      path: KMS_KEY,
      description: 'reads how a key is held by a provider',
      params: kmsKey,
      responseType: 'data',
      permission: may('read', KMS_KEY),
      docsUrl: `${keymgmt}: Read key in provider`,
    }),
    distribute: defineOperation({
      ...write,
      retryPolicy: 'never',
      name: 'secrets.kms-keys.distribute',
      path: KMS_KEY,
      description: 'distributes a key to a provider',
      params: kmsKey,
      body: {
        schema: distributeKeyBody,
        required: true,
        example: '{"purpose": ["encrypt", "decrypt"], "protection": "hsm"}',
      },
      permission: may('create, update', KMS_KEY),
      docsUrl: `${keymgmt}: Distribute key to provider`,
    }),
    remove: defineOperation({
      ...remove,
      name: 'secrets.kms-keys.remove',
      path: KMS_KEY,
      description: 'removes a key from a provider; the engine keeps it',
      params: kmsKey,
      permission: may('delete', KMS_KEY),
      docsUrl: `${keymgmt}: Remove key from provider; States and transitions`,
    }),
  },
  'mesh-config': {
    write: defineOperation({
      ...write,
      name: 'secrets.mesh-config.write',
      path: '/mesh/config/access',
      description: 'configures how the engine reaches the mesh system',
      params: {},
      body: {
        schema: meshConfigBody,
        required: true,
        example: '{"address": "127.0.0.1:8500", "scheme": "https", "token": "…"}',
      },
      validate: validateMeshConfig,
      permission: may('update', '/mesh/config/access'),
      docsUrl: `${mesh}: Configure access`,
    }),
  },
  'mesh-roles': {
    list: defineOperation({
      ...list,
      name: 'secrets.mesh-roles.list',
      path: '/mesh/roles',
      description: 'lists the names of the roles',
      params: {},
      permission: may('list', '/mesh/roles'),
      docsUrl: `${mesh}: List roles`,
    }),
    read: defineOperation({
      ...read,
      name: 'secrets.mesh-roles.read',
      path: ROLE,
      description: 'reads a role',
      params: { name: roleName },
      responseType: 'data',
      permission: may('read', ROLE),
      docsUrl: `${mesh}: Read role`,
    }),
    write: defineOperation({
      ...write,
      name: 'secrets.mesh-roles.write',
      path: ROLE,
      description: 'creates a role, or updates it',
      params: { name: roleName },
      body: {
        schema: meshRoleBody,
        required: true,
        example: '{"token_type": "client", "policies": ["readonly"], "ttl": "1h"}',
      },
      validate: validateMeshRole,
      permission: may('create, update', ROLE),
      docsUrl: `${mesh}: Create or update role; Mesh role`,
    }),
    delete: defineOperation({
      ...remove,
      name: 'secrets.mesh-roles.delete',
      path: ROLE,
      description: 'deletes a role; succeeds also when there is none',
      params: { name: roleName },
      permission: may('delete', ROLE),
      docsUrl: `${mesh}: Delete role`,
    }),
  },
  'mesh-creds': {
    generate: defineOperation({
      ...read,
      mutates: true,
      retryPolicy: 'never',
      name: 'secrets.mesh-creds.generate',
      path: '/mesh/creds/{name}',
      description: 'mints a mesh token from a role, each time it is called',
      params: { name: roleName },
      responseType: 'data',
      permission: may('read', '/mesh/creds/{name}'),
      docsUrl: `${mesh}: Generate credential`,
    }),
  },
} as const;
