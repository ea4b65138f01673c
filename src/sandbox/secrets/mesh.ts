import { uuid } from '../forge.ts';
import { createRandom } from '../prng.ts';
import type { Ask, Reply, Route } from '../types.ts';
import { parseSeconds, printSeconds } from './duration.ts';
import { ABSENT, answer, answerNames, type Body, DONE, listIn, refuse, textIn, withBody } from './reply.ts';
import type { Role, SecretsWorld } from './state.ts';

/** The server's default lease, given where a role names none: 32 days, as Vault's. */
const DEFAULT_LEASE_SECONDS = 768 * 3600;
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;
/** live-services.md B3. */
const NO_POLICY =
  'Use either a policy document, a list of policies or roles, or a set of service or node identities, depending on your Consul version';

const EMPTY_ROLE: Role = { tokenType: 'client', policies: [], local: false, ttlSeconds: 0, maxTtlSeconds: 0 };

function writeAccess({ state }: SecretsWorld, body: Body): Reply {
  const address = textIn(body, 'address');
  const token = textIn(body, 'token');
  const [caCert, clientCert, clientKey] = ['ca_cert', 'client_cert', 'client_key'].map((name) => textIn(body, name));
  if (address === undefined) return refuse(400, 'missing required field "address"');
  if (token === undefined) return refuse(400, 'missing required field "token"');
  if ((clientCert === undefined) !== (clientKey === undefined)) {
    return refuse(400, 'client_cert and client_key must be set together');
  }
  const scheme = textIn(body, 'scheme') ?? 'http';
  state.access = {
    address,
    scheme,
    token,
    caCert: caCert ?? '',
    clientCert: clientCert ?? '',
    clientKey: clientKey ?? '',
  };
  return DONE;
}

/** The document's roles keep what is not sent ("updates its attributes"); Consul's are replaced (live-services.md B3). */
function roleFrom(body: Body, base: Role): Role | string {
  const ttlSeconds = parseSeconds(body.ttl ?? body.lease);
  const maxTtlSeconds = parseSeconds(body.max_ttl);
  if (ttlSeconds === undefined || maxTtlSeconds === undefined) return 'error parsing duration';
  const policy = textIn(body, 'policy') ?? base.policy;
  const policies = [...listIn(body, 'policies'), ...listIn(body, 'consul_policies')];
  return {
    tokenType: textIn(body, 'token_type') ?? base.tokenType,
    ...(policy === undefined ? {} : { policy }),
    policies: policies.length > 0 ? policies : base.policies,
    local: typeof body.local === 'boolean' ? body.local : base.local,
    ttlSeconds: body.ttl === undefined && body.lease === undefined ? base.ttlSeconds : ttlSeconds,
    maxTtlSeconds: body.max_ttl === undefined ? base.maxTtlSeconds : maxTtlSeconds,
  };
}

function writeRole({ state, flavor }: SecretsWorld, name: string, body: Body): Reply {
  const base = flavor === 'documents' ? (state.roles.get(name) ?? EMPTY_ROLE) : EMPTY_ROLE;
  const role = roleFrom(body, base);
  if (typeof role === 'string') return refuse(400, role);
  if (role.tokenType !== 'client' && role.tokenType !== 'management') {
    return refuse(400, 'token_type must be "client" or "management"');
  }
  if (role.policy !== undefined && !BASE64.test(role.policy)) {
    return refuse(400, 'Error decoding policy base64: illegal base64 data');
  }
  if (role.tokenType === 'client' && role.policy === undefined && role.policies.length === 0) {
    return refuse(400, NO_POLICY);
  }
  state.roles.set(name, role);
  return DONE;
}

function roleData(role: Role, flavor: SecretsWorld['flavor']): Record<string, unknown> {
  if (flavor === 'documents') {
    return { policy: role.policy ?? '', lease: printSeconds(role.ttlSeconds), token_type: role.tokenType };
  }
  return {
    lease: role.ttlSeconds,
    ttl: role.ttlSeconds,
    max_ttl: role.maxTtlSeconds,
    token_type: role.tokenType,
    local: role.local,
    consul_namespace: '',
    partition: '',
    ...(role.policy === undefined ? {} : { policy: role.policy }),
    ...(role.policies.length === 0 ? {} : { consul_policies: role.policies }),
  };
}

/** Mints a token: a GET that changes the far side. */
function generate({ seed, state, flavor }: SecretsWorld, ask: Ask, mount: string): Reply {
  const name = ask.params.name!;
  const role = state.roles.get(name);
  if (!role) return refuse(400, `role "${name}" not found`);
  if (!state.access) return refuse(400, 'access credentials for the backend are not configured');
  const random = createRandom(`${seed}/secrets/creds/${state.generated.length}/${name}`);
  const token = uuid(random);
  const lease = {
    id: `${mount}/creds/${name}/${random.id('', 24)}`,
    seconds: role.ttlSeconds || DEFAULT_LEASE_SECONDS,
  };
  state.generated.push({ role: name, token, leaseId: lease.id });
  if (flavor === 'documents') return answer(ask, { token }, lease);
  const accessor = uuid(random);
  return answer(ask, { token, accessor, local: role.local, consul_namespace: '', partition: '' }, lease);
}

function roleRoutes(world: SecretsWorld, mount: string): Route[] {
  const { state, flavor } = world;
  const path = `/${mount}/roles/:name`;
  return [
    { method: 'LIST', path: `/${mount}/roles`, answer: (ask) => answerNames(ask, state.roles.keys()) },
    {
      method: 'GET',
      path,
      answer: (ask) => {
        const role = state.roles.get(ask.params.name!);
        return role ? answer(ask, roleData(role, flavor)) : ABSENT;
      },
    },
    { method: 'POST', path, writes: true, answer: withBody((body, ask) => writeRole(world, ask.params.name!, body)) },
    {
      method: 'DELETE',
      path,
      writes: true,
      answer: ({ params }) => {
        state.roles.delete(params.name!);
        return DONE;
      },
    },
  ];
}

export function meshRoutes(world: SecretsWorld): Route[] {
  const { state, flavor } = world;
  const mount = flavor === 'hashicorp' ? 'consul' : 'mesh';
  const config = `/${mount}/config/access`;
  const readConfig: Route = {
    method: 'GET',
    path: config,
    answer: (ask) =>
      state.access ? answer(ask, { address: state.access.address, scheme: state.access.scheme }) : ABSENT,
  };
  return [
    { method: 'POST', path: config, writes: true, answer: withBody((body) => writeAccess(world, body)) },
    ...(flavor === 'hashicorp' ? [readConfig] : []),
    ...roleRoutes(world, mount),
    { method: 'GET', path: `/${mount}/creds/:name`, writes: true, answer: (ask) => generate(world, ask, mount) },
  ];
}
