import { defineOperation, pathParam } from '../operation.ts';
import { capabilities } from '../permission.ts';
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

/** Operations of the key management and mesh engines. Paths begin with the default mount, which `mounts` of the target replaces. */

const read = { kind: 'secrets', method: 'GET', mutates: false, retryPolicy: 'safe', reversible: true } as const;
const list = { ...read, method: 'LIST', responseType: 'keys', itemsPath: 'data.keys' } as const;
const write = {
  kind: 'secrets',
  method: 'POST',
  mutates: true,
  retryPolicy: 'if-unprocessed',
  reversible: true,
  responseType: 'any',
} as const;
const remove = { ...write, method: 'DELETE' } as const;
const DOCS = 'docs/services/secrets.md';
const keyName = pathParam('name of the key');
const kmsName = pathParam('name of the KMS provider');
const kmsKey = { name: kmsName, key_name: keyName } as const;
const meshMount = {
  in: 'mount',
  type: 'string',
  required: false,
  description: 'mount of the engine, one of `mounts` of the target; the first unless set',
} as const;
const meshRole = { name: pathParam('name of the role'), mount: meshMount } as const;
const KEY = '/keymgmt/key/{name}';
const KMS = '/keymgmt/kms/{name}';
const KMS_KEY = `${KMS}/key/{key_name}` as const;
const ROLE = '/mesh/roles/{name}';

const readKey = defineOperation({
  ...read,
  name: 'secrets.keys.read',
  path: KEY,
  description: 'reads a key and its versions',
  params: { name: keyName },
  responseType: 'data',
  permission: capabilities(KEY, 'read'),
  docsUrl: `${DOCS}#keys`,
});

export const secrets = {
  keys: {
    list: defineOperation({
      ...list,
      name: 'secrets.keys.list',
      path: '/keymgmt/key',
      description: 'lists the names of the keys',
      params: {},
      permission: capabilities('/keymgmt/key', 'list'),
      docsUrl: `${DOCS}#keys`,
    }),
    read: readKey,
    create: defineOperation({
      ...write,
      retryPolicy: 'never',
      name: 'secrets.keys.create',
      path: KEY,
      description: 'creates a key; its type cannot be changed later',
      params: { name: keyName },
      body: { schema: createKeyBody, required: false, example: '{"type": "rsa-2048"}' },
      permission: capabilities(KEY, 'create', 'update'),
      docsUrl: `${DOCS}#keys`,
    }),
    update: defineOperation({
      ...write,
      name: 'secrets.keys.update',
      path: KEY,
      description: 'sets the minimum enabled version, or allows deletion, of a key that exists',
      subjectRead: readKey, // create and update have the same path: docs/services/secrets.md#keys
      params: { name: keyName },
      body: { schema: updateKeyBody, required: true, example: '{"min_enabled_version": 2, "deletion_allowed": false}' },
      permission: capabilities(KEY, 'update'),
      docsUrl: `${DOCS}#keys`,
    }),
    rotate: defineOperation({
      ...write,
      reversible: false,
      retryPolicy: 'never',
      name: 'secrets.keys.rotate',
      path: `${KEY}/rotate`,
      description: 'creates a new version of a key with each call',
      params: { name: keyName },
      permission: capabilities(`${KEY}/rotate`, 'update'),
      docsUrl: `${DOCS}#keys`,
    }),
    delete: defineOperation({
      ...remove,
      reversible: false,
      name: 'secrets.keys.delete',
      path: KEY,
      description: 'deletes a key that allows deletion and is in no provider',
      params: { name: keyName },
      permission: capabilities(KEY, 'delete'),
      docsUrl: `${DOCS}#keys`,
    }),
    providers: defineOperation({
      ...list,
      name: 'secrets.keys.providers',
      path: `${KEY}/kms`,
      description: 'lists the names of the providers that a key is distributed to',
      params: { name: keyName },
      permission: capabilities(`${KEY}/kms`, 'list'),
      docsUrl: `${DOCS}#keys`,
    }),
  },
  kms: {
    list: defineOperation({
      ...list,
      name: 'secrets.kms.list',
      path: '/keymgmt/kms',
      description: 'lists the names of the KMS providers',
      params: {},
      permission: capabilities('/keymgmt/kms', 'list'),
      docsUrl: `${DOCS}#kms-providers`,
    }),
    read: defineOperation({
      ...read,
      name: 'secrets.kms.read',
      path: KMS,
      description: 'reads a KMS provider, without its credentials',
      params: { name: kmsName },
      responseType: 'data',
      permission: capabilities(KMS, 'read'),
      docsUrl: `${DOCS}#kms-providers`,
    }),
    write: defineOperation({
      ...write,
      name: 'secrets.kms.write',
      path: KMS,
      description: 'creates a KMS provider or updates its credentials',
      params: { name: kmsName },
      body: {
        schema: writeProviderBody,
        required: true,
        example: '{"provider": "awskms", "key_collection": "us-west-1", "credentials": {"access_key": "…"}}',
      },
      permission: capabilities(KMS, 'create', 'update'),
      docsUrl: `${DOCS}#kms-providers`,
    }),
    delete: defineOperation({
      ...remove,
      reversible: false,
      name: 'secrets.kms.delete',
      path: KMS,
      description: 'deletes a KMS provider without keys',
      params: { name: kmsName },
      permission: capabilities(KMS, 'delete'),
      docsUrl: `${DOCS}#kms-providers`,
    }),
  },
  'kms-keys': {
    list: defineOperation({
      ...list,
      name: 'secrets.kms-keys.list',
      path: `${KMS}/key`,
      description: 'lists the names of the keys in a provider',
      params: { name: kmsName },
      permission: capabilities(`${KMS}/key`, 'list'),
      docsUrl: `${DOCS}#key-distributions`,
    }),
    read: defineOperation({
      ...read,
      name: 'secrets.kms-keys.read',
      path: KMS_KEY,
      description: 'reads the distribution of a key to a provider',
      params: kmsKey,
      responseType: 'data',
      permission: capabilities(KMS_KEY, 'read'),
      docsUrl: `${DOCS}#key-distributions`,
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
      permission: capabilities(KMS_KEY, 'create', 'update'),
      docsUrl: `${DOCS}#key-distributions`,
    }),
    remove: defineOperation({
      ...remove,
      reversible: false,
      name: 'secrets.kms-keys.remove',
      path: KMS_KEY,
      description: 'removes a key from a provider; the engine keeps the key',
      params: kmsKey,
      permission: capabilities(KMS_KEY, 'delete'),
      docsUrl: `${DOCS}#key-distributions`,
    }),
  },
  'mesh-config': {
    write: defineOperation({
      ...write,
      name: 'secrets.mesh-config.write',
      path: '/mesh/config/access',
      description: 'configures how the engine accesses the mesh system',
      params: { mount: meshMount },
      body: {
        schema: meshConfigBody,
        required: true,
        example: '{"address": "127.0.0.1:8500", "scheme": "https", "token": "…"}',
      },
      validate: validateMeshConfig,
      permission: capabilities('/mesh/config/access', 'update'),
      docsUrl: `${DOCS}#mesh-access`,
    }),
  },
  'mesh-roles': {
    list: defineOperation({
      ...list,
      name: 'secrets.mesh-roles.list',
      path: '/mesh/roles',
      description: 'lists the names of the roles',
      params: { mount: meshMount },
      permission: capabilities('/mesh/roles', 'list'),
      docsUrl: `${DOCS}#mesh-roles`,
    }),
    read: defineOperation({
      ...read,
      name: 'secrets.mesh-roles.read',
      path: ROLE,
      description: 'reads a role',
      params: meshRole,
      responseType: 'data',
      permission: capabilities(ROLE, 'read'),
      docsUrl: `${DOCS}#mesh-roles`,
    }),
    write: defineOperation({
      ...write,
      name: 'secrets.mesh-roles.write',
      path: ROLE,
      description: 'creates or updates a role',
      params: meshRole,
      body: {
        schema: meshRoleBody,
        required: true,
        example: '{"token_type": "client", "policies": ["readonly"], "ttl": "1h"}',
      },
      validate: validateMeshRole,
      permission: capabilities(ROLE, 'create', 'update'),
      docsUrl: `${DOCS}#mesh-roles`,
    }),
    delete: defineOperation({
      ...remove,
      name: 'secrets.mesh-roles.delete',
      path: ROLE,
      description: 'deletes a role; succeeds if it does not exist',
      params: meshRole,
      permission: capabilities(ROLE, 'delete'),
      docsUrl: `${DOCS}#mesh-roles`,
    }),
  },
  'mesh-creds': {
    generate: defineOperation({
      ...read,
      mutates: true,
      retryPolicy: 'never',
      name: 'secrets.mesh-creds.generate',
      path: '/mesh/creds/{name}',
      description: 'creates a mesh token from a role with each call',
      params: meshRole,
      responseType: 'data',
      permission: capabilities('/mesh/creds/{name}', 'read'),
      docsUrl: `${DOCS}#mesh-credentials`,
    }),
  },
} as const;
