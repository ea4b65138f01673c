import { createRandom, formatDuration, uuid } from '../random.ts';
import type { Flavor, Request, Response, RouteTable } from '../types.ts';
import { type MeshRoleRecord, ROLE_LISTS, type SecretsContext } from './context.ts';
import {
  badRequest,
  dataResponse,
  filledField,
  type Input,
  listField,
  listResponse,
  NO_CONTENT,
  NOT_FOUND,
  parseInput,
} from './envelope.ts';

/** The fields of the specification, and those of Vault. */
const FIELDS = ['policy', 'policies', 'lease', 'token_type', 'local', 'ttl', 'max_ttl'];
const LIVE_FIELDS = [...FIELDS, ...ROLE_LISTS, 'consul_policies', 'partition', 'consul_namespace'];

const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;
const NO_POLICY =
  'Use either a policy document, a list of policies or roles, or a set of service or node identities, depending on your Consul version';

/** A role with defaults; `policy` in plain text is stored as Base64. */
export function createRole(
  tokenType: string,
  policy: string | null,
  ttlSeconds: number,
  policies: readonly string[] = [],
): MeshRoleRecord {
  return {
    tokenType,
    ...(policy === null ? {} : { policy: Buffer.from(policy).toString('base64') }),
    policies,
    lists: {},
    partition: '',
    namespace: '',
    local: false,
    ttlSeconds,
    maxTtlSeconds: ttlSeconds * 4,
  };
}

const EMPTY_ROLE = createRole('client', null, 0);

/** docs/services/secrets.md#mesh-roles. */
export const roleRoutes = (mount: string): RouteTable<SecretsContext> => ({
  [`LIST /${mount}/roles`]: (request, { roles }) => listResponse(request, roles.keys()),
  [`GET /${mount}/roles/:name`]: readRole,
  [`POST /${mount}/roles/:name`]: writeRole,
  [`DELETE /${mount}/roles/:name`]: deleteRole,
});

function readRole(request: Request, context: SecretsContext): Response {
  const role = context.roles.get(request.params.name!);
  return role ? dataResponse(request, roleData(role, context.flavor)) : NOT_FOUND;
}

/** With the specification a role keeps what is not sent ("updates its attributes"); Consul's are replaced. */
function writeRole(request: Request, context: SecretsContext): Response {
  const name = request.params.name!;
  const isSpec = context.flavor === 'spec';
  const body = parseInput(request, isSpec ? FIELDS : LIVE_FIELDS);
  const role = parseRole(body, (isSpec && context.roles.get(name)) || EMPTY_ROLE);
  checkRole(role);
  context.roles.set(name, role);
  return NO_CONTENT;
}

function deleteRole({ params }: Request, context: SecretsContext): Response {
  context.roles.delete(params.name!);
  return NO_CONTENT;
}

function parseRole(body: Input, base: MeshRoleRecord): MeshRoleRecord {
  const isTtlSent = body.ttl !== undefined || body.lease !== undefined;
  const policy = filledField(body, 'policy') ?? base.policy;
  const lists = ROLE_LISTS.map((field) => [field, listField(body, field)] as const);
  const policies = [...listField(body, 'policies'), ...listField(body, 'consul_policies')];
  return {
    tokenType: filledField(body, 'token_type') ?? base.tokenType,
    ...(policy === undefined ? {} : { policy }),
    policies: policies.length > 0 ? policies : base.policies,
    lists: Object.fromEntries(lists.filter(([, names]) => names.length > 0)),
    partition: filledField(body, 'partition') ?? '',
    namespace: filledField(body, 'consul_namespace') ?? '',
    local: typeof body.local === 'boolean' ? body.local : base.local,
    ttlSeconds: isTtlSent ? parseSeconds(body.ttl ?? body.lease) : base.ttlSeconds,
    maxTtlSeconds: body.max_ttl === undefined ? base.maxTtlSeconds : parseSeconds(body.max_ttl),
  };
}

function checkRole({ tokenType, policy, policies, lists }: MeshRoleRecord): void {
  if (tokenType !== 'client' && tokenType !== 'management') {
    throw badRequest('token_type must be "client" or "management"');
  }
  if (policy !== undefined && !BASE64.test(policy)) {
    throw badRequest('Error decoding policy base64: illegal base64 data');
  }
  const isEmpty = policy === undefined && policies.length === 0 && Object.keys(lists).length === 0;
  if (tokenType === 'client' && isEmpty) throw badRequest(NO_POLICY);
}

function roleData(role: MeshRoleRecord, flavor: Flavor): Record<string, unknown> {
  if (flavor === 'spec') {
    return { policy: role.policy ?? '', lease: formatDuration(role.ttlSeconds), token_type: role.tokenType };
  }
  return {
    lease: role.ttlSeconds,
    ttl: role.ttlSeconds,
    max_ttl: role.maxTtlSeconds,
    token_type: role.tokenType,
    local: role.local,
    consul_namespace: role.namespace,
    partition: role.partition,
    ...(role.policy === undefined ? {} : { policy: role.policy }),
    ...(role.policies.length === 0 ? {} : { consul_policies: role.policies }),
    ...role.lists,
  };
}

const UNIT_SECONDS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400 };

/** Seconds of `90`, `"90"`, `"1h30m"`; 0 when empty or absent. @throws HttpError 400 */
function parseSeconds(value: unknown): number {
  if (value === undefined || value === null || value === '') return 0;
  const text = String(value);
  if (/^\d+$/.test(text)) return Number(text);
  if (!/^(\d+[smhd])+$/.test(text)) throw badRequest('error parsing duration');
  return [...text.matchAll(/(\d+)([smhd])/g)].reduce(
    (sum, [, count, unit]) => sum + Number(count) * UNIT_SECONDS[unit!]!,
    0,
  );
}

/** The server's default lease, for a role without one: 32 days, as in Vault. */
const DEFAULT_LEASE_SECONDS = 768 * 3600;

/** Connection settings and credentials: docs/services/secrets.md#mesh-access and #mesh-credentials. */
export const credentialRoutes = (mount: string, flavor: Flavor): RouteTable<SecretsContext> => ({
  [`POST /${mount}/config/access`]: writeConfig,
  ...(flavor === 'hashicorp' && { [`GET /${mount}/config/access`]: readConfig }),
  [`GET /${mount}/creds/:name`]: { writes: true, handle: generate },
});

function readConfig(request: Request, context: SecretsContext): Response {
  if (!context.access) return NOT_FOUND;
  const { address, scheme } = context.access;
  return dataResponse(request, { address, scheme });
}

function writeConfig(request: Request, context: SecretsContext): Response {
  const body = parseInput(request, ['address', 'scheme', 'token', 'ca_cert', 'client_cert', 'client_key']);
  const address = filledField(body, 'address');
  const token = filledField(body, 'token');
  const clientCert = filledField(body, 'client_cert');
  const clientKey = filledField(body, 'client_key');
  if (address === undefined) throw badRequest('missing required field "address"');
  if (token === undefined) throw badRequest('missing required field "token"');
  if ((clientCert === undefined) !== (clientKey === undefined)) {
    throw badRequest('client_cert and client_key must be set together');
  }
  context.access = {
    address,
    scheme: filledField(body, 'scheme') ?? 'http',
    token,
    caCert: filledField(body, 'ca_cert') ?? '',
    clientCert: clientCert ?? '',
    clientKey: clientKey ?? '',
  };
  return NO_CONTENT;
}

/** Creates a token: a GET that changes the mesh. */
function generate(request: Request, context: SecretsContext): Response {
  const name = request.params.name!;
  const role = context.roles.get(name);
  if (!role) throw badRequest(`role "${name}" not found`);
  if (!context.access) throw badRequest('access credentials for the backend are not configured');
  const random = createRandom(`${context.seed}/secrets/creds/${context.generated.length}/${name}`);
  const token = uuid(random);
  const lease = {
    id: `${context.mount}/creds/${name}/${random.id('', 24)}`,
    seconds: role.ttlSeconds || DEFAULT_LEASE_SECONDS,
  };
  context.generated.push({ role: name, token, leaseId: lease.id });
  if (context.flavor === 'spec') return dataResponse(request, { token }, lease);
  const accessor = uuid(random);
  return dataResponse(request, { token, accessor, local: role.local, consul_namespace: '', partition: '' }, lease);
}
