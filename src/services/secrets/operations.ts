import { z } from 'zod';
import type { Target } from '../../config/config.ts';
import { type ArgIssue, type Args, defineOperations, filledText, pathParam, requiredBody } from '../operation.ts';
import { capabilities } from '../permission.ts';

/** Operations of the key management and mesh engines. Paths begin with the default mount, which `mounts` of the target replaces. */

/** Request bodies. Unknown fields are accepted, since services add fields. */

const KEY_TYPES = [
  'aes256-gcm96',
  'rsa-2048',
  'rsa-3072',
  'rsa-4096',
  'ecdsa-p256',
  'ecdsa-p384',
  'ecdsa-p521',
] as const;

const whole = z.union([z.int('must be a whole number'), z.bigint()]);

const createKeyBody = z.looseObject({
  type: z.enum(KEY_TYPES, `must be one of ${KEY_TYPES.join(', ')}`).optional(),
});

const updateKeyBody = z.looseObject({
  min_enabled_version: z
    .int('must be a whole number, 0 enables all versions')
    .min(0, 'must not be negative')
    .optional(),
  deletion_allowed: z.boolean('must be true or false').optional(),
});

/** An update resets a field that it leaves out: docs/services/secrets.md#keys. */
function validateKeyUpdate(_args: Args, body: unknown): ArgIssue[] {
  if (body === undefined) return [];
  const missing = Object.keys(updateKeyBody.shape).filter((name) => !Object.hasOwn(body as object, name));
  const isEmpty = missing.length === Object.keys(updateKeyBody.shape).length;
  const message = isEmpty ? 'is required, or the other one is' : 'is left out, so the update resets it';
  return missing.map((name) => ({ path: `body.${name}`, message, isWarning: !isEmpty }));
}

const CREDENTIALS = 'must be a map of text to text, or a list of `name=value`';

/** A map, or a list of `name=value`: docs/services/secrets.md#kms-providers. */
const credentials = z.union(
  [
    z.record(z.string(), z.string(CREDENTIALS)),
    z.unknown().refine((value) => Array.isArray(value) && value.every(isPair), CREDENTIALS),
  ],
  CREDENTIALS,
);

function isPair(value: unknown): boolean {
  return typeof value === 'string' && /^[^=]+=/u.test(value);
}

const writeProviderBody = z.looseObject({
  provider: filledText,
  key_collection: filledText,
  credentials: credentials.optional(),
});

const PURPOSE = 'is required: a list with at least one purpose, or a comma-separated text';
const purpose = z.union(
  [z.array(z.string(PURPOSE).min(1, PURPOSE)).min(1, PURPOSE), z.string().regex(/[^,\s]/u, PURPOSE)],
  PURPOSE,
);

const distributeKeyBody = z.looseObject({
  purpose,
  protection: z.string('must be text').min(1, 'must not be empty').optional(),
});

const pem = z.string('must be PEM text').optional();

const meshConfigBody = z
  .looseObject({
    address: filledText.regex(/^[^/\s]+:\d+$/u, 'must be HOST:PORT'),
    scheme: z.enum(['http', 'https'], 'must be http or https').optional(),
    // With an empty token, Vault bootstraps Consul's ACLs: docs/services/secrets.md#real-product.
    token: z.string('must be text').min(1, 'must not be empty: the server would bootstrap its own ACLs').optional(),
    ca_cert: pem,
    client_cert: pem,
    client_key: pem,
  })
  .superRefine(({ client_cert, client_key }, context) => {
    if (Boolean(client_cert) === Boolean(client_key)) return;
    const missing = client_cert ? 'client_key' : 'client_cert';
    context.addIssue({ code: 'custom', path: [missing], message: 'client_cert and client_key go together: give both' });
  });

/** The token is optional in the real product: docs/services/secrets.md#real-product. */
function validateMeshConfig(_args: Args, body: unknown, target: Target): ArgIssue[] {
  const given = (body as { token?: unknown } | undefined)?.token !== undefined;
  return given || target.flavor === 'hashicorp' ? [] : [{ path: 'body.token', message: 'is required' }];
}

const DURATION = 'must be seconds, or a duration such as 30m';
const duration = z.union([z.string().regex(/^(?:\d+(?:\.\d+)?(?:ns|us|ms|s|m|h|d)?)*$/u, DURATION), whole], DURATION);

const meshRoleBody = z.looseObject({
  token_type: z.enum(['client', 'management'], 'must be client or management').optional(),
  policy: z.base64('must be base64').optional(),
  policies: z
    .union([z.array(z.string()), z.string()], 'must be a list of names, or below version 1.4 a comma-separated text')
    .optional(),
  local: z.boolean('must be true or false').optional(),
  ttl: duration.optional(),
  max_ttl: duration.optional(),
  lease: duration.optional(),
});

/** Fields for mesh systems of version 1.4 and above, which exclude the older fields: docs/services/secrets.md#mesh-roles. */
const NEW_FIELDS = ['token_type', 'policy', 'local', 'ttl', 'max_ttl'];
/** Other fields of the real product that grant permissions: docs/services/secrets.md#real-product. */
const HASHICORP_SOURCES = ['consul_policies', 'consul_roles', 'service_identities', 'node_identities'];

/** A role has the fields of one version of the mesh system, and grants something. */
function validateMeshRole(_args: Args, body: unknown, target: Target): ArgIssue[] {
  const role = (body ?? {}) as Record<string, unknown>;
  const has = (name: string) => role[name] !== undefined && role[name] !== '';
  const hashicorp = target.flavor === 'hashicorp';
  const old = typeof role.policies === 'string' || has('lease');
  const newer = NEW_FIELDS.filter(has);
  const problems: ArgIssue[] = [];
  if (old && newer.length > 0 && !hashicorp) {
    const message = `lease and policies as text are for versions below 1.4 and do not go with ${newer.join(', ')}`;
    problems.push({ path: `body.${has('lease') ? 'lease' : 'policies'}`, message });
  }
  if (has('policy') && has('policies')) {
    problems.push({ path: 'body.policies', message: 'give either policy or policies' });
  }
  const sources = ['policy', 'policies', ...(hashicorp ? HASHICORP_SOURCES : [])];
  const permits = sources.some((name) => has(name) && (!Array.isArray(role[name]) || role[name].length > 0));
  if (!permits && role.token_type !== 'management') {
    problems.push({ path: 'body.policy', message: 'policy or policies is required unless token_type is management' });
  }
  return problems;
}

const read = {
  responseType: 'data',
  permission: capabilities('read'),
  describes: { name: ['data', 'name'] },
} as const;
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
      body: { schema: createKeyBody, required: false, example: '{"type": "rsa-2048"}' },
    },
    update: {
      ...update,
      ...key,
      description: 'sets the minimum enabled version, or allows deletion, of a key that exists',
      subjectRead: defineOperations('secrets', { keys: { read: readKey } }).keys.read, // create and update have the same path: docs/services/secrets.md#keys
      body: requiredBody(updateKeyBody, '{"min_enabled_version": 2, "deletion_allowed": false}'),
      validate: validateKeyUpdate,
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
      body: requiredBody(
        writeProviderBody,
        '{"provider": "awskms", "key_collection": "us-west-1", "credentials": {"access_key": "…"}}',
      ),
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
      body: requiredBody(distributeKeyBody, '{"purpose": ["encrypt", "decrypt"], "protection": "hsm"}'),
    },
    remove: { ...remove, ...kmsKey, description: 'removes a key from a provider; the engine keeps the key' },
  },
  'mesh-config': {
    write: {
      ...update,
      path: '/mesh/config/access',
      description: 'configures how the engine accesses the mesh system',
      params: { mount: meshMount },
      body: requiredBody(meshConfigBody, '{"address": "127.0.0.1:8500", "scheme": "https", "token": "…"}'),
      validate: validateMeshConfig,
      section: 'mesh-access',
    },
  },
  'mesh-roles': {
    list: { ...list, path: '/mesh/roles', params: { mount: meshMount }, description: 'lists the names of the roles' },
    read: {
      ...read,
      ...role,
      description: 'reads a role',
      says: ['token_type', 'policy', 'policies', ...HASHICORP_SOURCES, 'lease', 'ttl'],
    },
    write: {
      ...write,
      ...role,
      description: 'creates or updates a role',
      body: requiredBody(meshRoleBody, '{"token_type": "client", "policies": ["readonly"], "ttl": "1h"}'),
      validate: validateMeshRole,
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
