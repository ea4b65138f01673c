import { z } from 'zod';
import type { Target } from '../../config/config.ts';
import { type ArgIssue, type Args, filledText, requiredBody } from '../operation.ts';

/** Bodies of requests. Unknown fields are accepted, since services add fields. */

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

export const createKey = {
  schema: z.looseObject({ type: z.enum(KEY_TYPES, `must be one of ${KEY_TYPES.join(', ')}`).optional() }),
  required: false,
  example: '{"type": "rsa-2048"}',
} as const;

export const updateKey = requiredBody(
  z.looseObject({
    min_enabled_version: z
      .int('must be a whole number, 0 enables all versions')
      .min(0, 'must not be negative')
      .optional(),
    deletion_allowed: z.boolean('must be true or false').optional(),
  }),
  '{"min_enabled_version": 2, "deletion_allowed": false}',
);

/** An update resets a field that it leaves out: docs/services/secrets.md#keys. */
export function validateKeyUpdate(_args: Args, body: unknown): ArgIssue[] {
  if (body === undefined) return [];
  const fields = Object.keys(updateKey.schema.shape);
  const missing = fields.filter((name) => !Object.hasOwn(body as object, name));
  const isEmpty = missing.length === fields.length;
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

export const writeProvider = requiredBody(
  z.looseObject({ provider: filledText, key_collection: filledText, credentials: credentials.optional() }),
  '{"provider": "awskms", "key_collection": "us-west-1", "credentials": {"access_key": "…"}}',
);

const PURPOSE = 'is required: a list with at least one purpose, or a comma-separated text';
const purpose = z.union(
  [z.array(z.string(PURPOSE).min(1, PURPOSE)).min(1, PURPOSE), z.string().regex(/[^,\s]/u, PURPOSE)],
  PURPOSE,
);

export const distributeKey = requiredBody(
  z.looseObject({ purpose, protection: z.string('must be text').min(1, 'must not be empty').optional() }),
  '{"purpose": ["encrypt", "decrypt"], "protection": "hsm"}',
);

const pem = z.string('must be PEM text').optional();

const meshAccess = z
  .looseObject({
    address: filledText.regex(/^[^/\s]+:\d+$/u, 'must be HOST:PORT'),
    scheme: z.enum(['http', 'https'], 'must be http or https').optional(),
    // With an empty token, Vault bootstraps Consul's ACLs: docs/services/secrets.md#mesh-access.
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
export const meshConfig = requiredBody(meshAccess, '{"address": "127.0.0.1:8500", "scheme": "https", "token": "…"}');

/** The token is optional in the real product: docs/services/secrets.md#mesh-access. */
export function validateMeshConfig(_args: Args, body: unknown, target: Target): ArgIssue[] {
  const given = (body as { token?: unknown } | undefined)?.token !== undefined;
  return given || target.flavor === 'hashicorp' ? [] : [{ path: 'body.token', message: 'is required' }];
}

const DURATION = 'must be seconds, or a duration such as 30m';
/** A number is read as a whole: in parts, it would be read in as many ways as it can be parted. */
const DURATION_FORM = /^(?:\d+(?!\d)(?:\.\d+(?!\d))?(?:ns|us|ms|s|m|h|d)?)*$/u;
const duration = z.union([z.string().regex(DURATION_FORM, DURATION), whole], DURATION);

const role = z.looseObject({
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
export const meshRole = requiredBody(role, '{"token_type": "client", "policies": ["readonly"], "ttl": "1h"}');

/** Fields for mesh systems of version 1.4 and above, which exclude the older fields: docs/services/secrets.md#mesh-roles. */
const NEW_FIELDS = ['token_type', 'policy', 'local', 'ttl', 'max_ttl'];
const SPEC_GRANTS = ['policy', 'policies'];
/** The fields that grant rights to the tokens of a role; the real product has more: docs/services/secrets.md#mesh-roles. */
export const ROLE_GRANTS = [...SPEC_GRANTS, 'consul_policies', 'consul_roles', 'service_identities', 'node_identities'];

/** A role has the fields of one version of the mesh system, and grants something. */
export function validateMeshRole(_args: Args, body: unknown, target: Target): ArgIssue[] {
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
  const permits = (hashicorp ? ROLE_GRANTS : SPEC_GRANTS).some(
    (name) => has(name) && (!Array.isArray(role[name]) || role[name].length > 0),
  );
  if (!permits && role.token_type !== 'management') {
    problems.push({ path: 'body.policy', message: 'policy or policies is required unless token_type is management' });
  }
  return problems;
}
