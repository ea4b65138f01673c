import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { RunningSandbox } from '../../sandbox/index.ts';
import type { Kind } from '../../sandbox/types.ts';
import { startTestSandbox } from '../helpers/test-sandbox.ts';
import { ask } from './secrets-client.ts';

let sandbox: RunningSandbox;

beforeAll(async () => {
  sandbox = await startTestSandbox({ flavor: 'hashicorp' });
});
afterAll(() => sandbox.close());

const HEADER: Readonly<Record<Kind, string>> = {
  platform: 'authorization',
  secrets: 'x-vault-token',
  scheduler: 'x-nomad-token',
  autoscaler: 'x-none',
  mesh: 'x-consul-token',
  registry: 'x-none',
};

/** Status and parsed body of a request with a token; no token at all when it is undefined. */
async function send(kind: Kind, line: string, token: string | undefined, body?: unknown) {
  const value = kind === 'platform' ? `Bearer ${token}` : token;
  const headers: Record<string, string> = value === undefined || token === undefined ? {} : { [HEADER[kind]]: value };
  if (kind !== 'platform') {
    const answer = await ask(sandbox, kind, line, { headers, body });
    return { status: answer.status, body: parse(answer.text) };
  }
  const [method = 'GET', path = '/'] = line.split(' ');
  const base = path.startsWith('/.') ? '' : '/api/v2';
  const response = await fetch(`${sandbox.urls.platform}${base}${path}`, { method, headers });
  return { status: response.status, body: parse(await response.text()), headers: response.headers };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

const status = async (...args: Parameters<typeof send>): Promise<number> => (await send(...args)).status;
const yesterday = () => new Date(sandbox.now.getTime() - 86_400_000);
const tomorrow = () => new Date(sandbox.now.getTime() + 86_400_000);

describe('Nomad', () => {
  const rules = { ro: 'namespace "default" { policy = "read" }\nplugin { policy = "read" }' };

  test('a token says whether it is of type management or client, its policies and its end', async () => {
    const client = sandbox.createToken('scheduler', { rules, expiresAt: tomorrow() });
    expect(await send('scheduler', 'GET /acl/token/self', client)).toMatchObject({
      status: 200,
      body: { Type: 'client', Policies: ['ro'], SecretID: client, ExpirationTime: tomorrow().toISOString() },
    });
    expect(await send('scheduler', 'GET /acl/token/self', sandbox.tokens.scheduler.write)).toMatchObject({
      body: { Type: 'management', Policies: null, Global: true, ExpirationTime: null },
    });
  });

  test('an expired, an unknown and no token get the answers of Nomad', async () => {
    const expired = sandbox.createToken('scheduler', { isManagement: true, expiresAt: yesterday() });
    const list = 'GET /acl/policies';
    expect(await send('scheduler', list, expired)).toEqual({ status: 403, body: 'ACL token expired' });
    expect(await send('scheduler', list, 'wrong')).toEqual({ status: 403, body: 'ACL token not found' });
    expect(await send('scheduler', list, undefined)).toEqual({ status: 403, body: 'Permission denied' });
    expect(await send('scheduler', 'GET /acl/token/self', 'wrong')).toEqual({ status: 403, body: 'Permission denied' });
  });

  test('a client token sees its own policies only', async () => {
    const client = sandbox.createToken('scheduler', { rules });
    const { body } = await send('scheduler', 'GET /acl/policies', client);
    expect((body as { Name: string }[]).map(({ Name }) => Name)).toEqual(['ro']);
    expect(await status('scheduler', 'GET /acl/policy/ro', client)).toBe(200);
    expect(await status('scheduler', 'GET /acl/policy/on-call', client)).toBe(403);
    expect(await status('scheduler', 'DELETE /acl/policy/ro', client)).toBe(403);
  });

  test('a list over all namespaces names volumes that the token may not read', async () => {
    const client = sandbox.createToken('scheduler', { rules });
    const { body } = await send('scheduler', 'GET /volumes?type=csi&namespace=*', client);
    const listed = body as { readonly ID: string; readonly Namespace: string }[];
    expect(listed).toHaveLength(sandbox.services.scheduler.state.volumes.size);
    expect(listed.some(({ Namespace }) => Namespace === 'prod')).toBe(true);
    expect(await status('scheduler', 'GET /volume/csi/postgres-main', client)).toBe(200);
    expect(await send('scheduler', 'GET /volume/csi/lost-reports?namespace=prod', client)).toEqual({
      status: 403,
      body: 'Permission denied',
    });
    expect(await send('scheduler', 'GET /namespaces', client)).toMatchObject({ body: [{ Name: 'default' }] });
    expect(await status('scheduler', 'DELETE /volume/csi/missing-media', client)).toBe(403);
  });

  test.each([
    ['GET /plugins?type=csi', 'plugin { policy = "list" }'],
    ['GET /plugin/csi/beefcafe', 'plugin { policy = "read" }'],
    ['GET /volumes?type=csi', 'namespace "default" { capabilities = ["csi-list-volume"] }'],
    ['GET /volume/csi/postgres-main', 'namespace "d*" { capabilities = ["csi-read-volume"] }'],
    ['GET /volumes/external?plugin_id=beefcafe', 'namespace "default" { policy = "read" } plugin { policy = "read" }'],
    ['GET /volumes/snapshot?plugin_id=beefcafe', '{"namespace":{"*":{"policy":"read"}},"plugin":{"policy":"read"}}'],
  ])('%s needs its right', async (line, needed) => {
    const other = 'node { policy = "read" }';
    expect(await status('scheduler', line, sandbox.createToken('scheduler', { rules: { a: needed } }))).toBe(200);
    expect(await status('scheduler', line, sandbox.createToken('scheduler', { rules: { a: other } }))).toBe(403);
  });

  test.each([
    ['DELETE /volume/csi/postgres-main?force=x', 'csi-write-volume', 400],
    ['DELETE /volume/csi/postgres-main/detach', 'csi-mount-volume', 400],
    ['PUT /volumes/snapshot', 'csi-write-volume', 400],
    ['PUT /volume/csi/postgres-main/snapshot', 'csi-write-volume', 404],
  ])('%s needs %s, and to read the plugin', async (line, capability, accepted) => {
    const grant = (name: string) => `namespace "default" { capabilities = ["${name}"] }`;
    const plugin = 'plugin { policy = "read" }';
    const other = capability === 'csi-write-volume' ? 'csi-mount-volume' : 'csi-write-volume';
    const ask = (a: string) => status('scheduler', line, sandbox.createToken('scheduler', { rules: { a } }));
    expect(await ask(`${grant(capability)}\n${plugin}`)).toBe(accepted);
    expect(await ask(`${grant(other)}\n${plugin}`)).toBe(403);
    expect(await ask(grant(capability))).toBe(403);
  });

  test('plugins are listed with type csi', async () => {
    const { body } = await send('scheduler', 'GET /plugins?type=csi', sandbox.tokens.scheduler.read);
    expect((body as { ID: string }[]).map(({ ID }) => ID)).toEqual([
      ...sandbox.services.scheduler.state.plugins.keys(),
    ]);
    expect(await status('scheduler', 'GET /plugins?type=x', sandbox.tokens.scheduler.read)).toBe(404);
  });
});

describe('Vault', () => {
  const rules = {
    ro: 'path "consul/roles/*" { capabilities = ["read"] }\npath "consul/roles" { capabilities = ["list"] }',
  };

  test('a token is looked up with its policies, its end and its capabilities', async () => {
    const client = sandbox.createToken('secrets', { rules, expiresAt: tomorrow() });
    expect(await send('secrets', 'GET /auth/token/lookup-self', client)).toMatchObject({
      status: 200,
      body: { data: { policies: ['default', 'ro'], ttl: 86_400, expire_time: tomorrow().toISOString(), id: client } },
    });
    const paths = ['consul/roles', 'consul/roles/web', 'keymgmt/key'];
    expect(await send('secrets', 'POST /sys/capabilities-self', client, { paths })).toMatchObject({
      body: {
        'consul/roles': ['list'],
        data: { 'consul/roles': ['list'], 'consul/roles/web': ['read'], 'keymgmt/key': ['deny'] },
      },
    });
    const root = await send('secrets', 'POST /sys/capabilities-self', sandbox.tokens.secrets.write, { paths });
    expect(root).toMatchObject({ body: { data: { 'keymgmt/key': ['root'] } } });
  });

  test('a pattern grants a list only with a slash at its end', async () => {
    const list = async (path: string) => {
      const policy = `path "${path}" { capabilities = ["list"] }\npath "keymgmt/kms/+/key/+" { capabilities = ["read"] }`;
      const client = sandbox.createToken('secrets', { rules: { [`list ${path}`]: policy } });
      return status('secrets', 'LIST /keymgmt/kms/azure-main/key', client);
    };
    // The other rule, without `*`, is the closer one.
    for (const path of ['keymgmt/kms/+/key', 'keymgmt/kms/*']) expect(await list(path), path).toBe(403);
    for (const path of ['keymgmt/kms/+/key/', 'keymgmt/kms/azure-main/key', 'keymgmt/kms/azure-main/key/'])
      expect(await list(path), path).not.toBe(403);
  });

  test('the policies decide every operation', async () => {
    const client = sandbox.createToken('secrets', { rules });
    expect(await status('secrets', 'LIST /consul/roles', client)).toBe(200);
    expect(await status('secrets', 'GET /consul/roles/web-read', client)).toBe(200);
    expect(await status('secrets', 'DELETE /consul/roles/web-read', client)).toBe(403);
    expect(await status('secrets', 'LIST /keymgmt/key', client)).toBe(403);
    const denied = { rules: { no: 'path "consul/*" { capabilities = ["deny"] }' } };
    expect(await status('secrets', 'LIST /consul/roles', sandbox.createToken('secrets', denied))).toBe(403);
  });

  test('an expired, an unknown and no token are all denied', async () => {
    const expired = sandbox.createToken('secrets', { isManagement: true, expiresAt: yesterday() });
    for (const token of [expired, 'wrong', undefined]) {
      expect(await send('secrets', 'LIST /consul/roles', token)).toEqual({
        status: 403,
        body: { errors: ['permission denied'] },
      });
    }
  });

  test('health and mounts are answered; a sealed or standby server refuses everything else', async () => {
    const { state } = sandbox.services.secrets;
    const { read } = sandbox.tokens.secrets;
    expect(await send('secrets', 'GET /sys/health', undefined)).toMatchObject({ status: 200, body: { sealed: false } });
    expect(await send('secrets', 'GET /sys/internal/ui/mounts', read)).toMatchObject({
      body: { data: { secret: { 'keymgmt/': { type: 'keymgmt' }, 'consul/': { type: 'consul' } } } },
    });
    state.condition = 'sealed';
    expect(await send('secrets', 'GET /sys/health', undefined)).toMatchObject({ status: 503, body: { sealed: true } });
    expect(await send('secrets', 'LIST /consul/roles', read)).toEqual({
      status: 503,
      body: { errors: ['Vault is sealed'] },
    });
    state.condition = 'standby';
    expect(await send('secrets', 'GET /sys/health', undefined)).toMatchObject({ status: 429, body: { standby: true } });
    expect(await status('secrets', 'GET /sys/seal-status', undefined)).toBe(200);
    state.condition = 'active';
    expect(await status('secrets', 'LIST /consul/roles', read)).toBe(200);
  });

  test.each(['True', 'true', 'T', '1', 't', 'TRUE'])('?list=%s lists', async (value) => {
    expect(await status('secrets', `GET /consul/roles?list=${value}`, sandbox.tokens.secrets.read)).toBe(200);
  });

  test('?list of anything else is refused', async () => {
    expect(await status('secrets', 'GET /consul/roles?list=yes', sandbox.tokens.secrets.read)).toBe(400);
  });
});

describe('Consul', () => {
  const rules = { leaf: 'service_prefix "" { policy = "read" }\nservice "api" { policy = "write" }' };

  test('a token says its policies and its end', async () => {
    const client = sandbox.createToken('mesh', { name: 'of tests', rules, expiresAt: tomorrow() });
    expect(await send('mesh', 'GET /acl/token/self', client)).toMatchObject({
      status: 200,
      body: { Description: 'of tests', Policies: [{ Name: 'leaf' }], ExpirationTime: tomorrow().toISOString() },
    });
    expect(await send('mesh', 'GET /acl/token/self', 'wrong')).toEqual({
      status: 403,
      body: 'token does not exist: ACL not found',
    });
    expect(await status('mesh', 'GET /acl/token/self', undefined)).toBe(403);
  });

  test('a leaf needs service:write; a certificate that the agent holds goes to any unknown token', async () => {
    const client = sandbox.createToken('mesh', { rules });
    expect(await status('mesh', 'GET /agent/connect/ca/leaf/api', client)).toBe(200);
    expect(await send('mesh', 'GET /agent/connect/ca/leaf/web', client)).toMatchObject({
      status: 403,
      body: expect.stringContaining(`lacks permission 'service:write' on "web"`) as string,
    });
    expect(await status('mesh', 'GET /agent/connect/ca/leaf/web', 'wrong')).toBe(200);
    expect(await send('mesh', 'GET /agent/connect/ca/leaf/other', 'wrong')).toEqual({
      status: 403,
      body: 'ACL not found',
    });
    expect(await status('mesh', 'GET /agent/connect/ca/leaf/web', undefined)).toBe(403);
  });

  test('the catalog shows the services that the token may read', async () => {
    const web = 'service "web" { policy = "read" }';
    const blind = sandbox.createToken('mesh', { rules: { blind: web } });
    expect(await send('mesh', 'GET /catalog/services', blind)).toMatchObject({ status: 200, body: {} });
    const one = sandbox.createToken('mesh', { rules: { one: `${web} node_prefix "" { policy = "read" }` } });
    const seen = await send('mesh', 'GET /catalog/services', one);
    expect(seen).toMatchObject({ body: { web: [] } });
    expect(await send('mesh', 'GET /catalog/services', undefined)).toMatchObject({ status: 200, body: {} });
    const all = await send('mesh', 'GET /catalog/services', sandbox.tokens.mesh.read);
    expect(Object.keys(all.body as object)).toEqual(['consul', 'web', 'api', 'billing', 'checkout "β", <b>']);
  });
});

describe('the platform', () => {
  test('a token says whose it is, and the organization its entitlements', async () => {
    const token = sandbox.createToken('platform', { name: 'auditors', permissions: ['read-workspaces'] });
    expect(await send('platform', 'GET /account/details', token)).toMatchObject({
      status: 200,
      body: { data: { type: 'users', attributes: { username: 'auditors', 'is-service-account': true } } },
    });
    expect(await send('platform', 'GET /organizations/acme/entitlement-set', token)).toMatchObject({
      body: { data: { type: 'entitlement-sets', attributes: { agents: true } } },
    });
    expect(await status('platform', 'GET /organizations/other/entitlement-set', token)).toBe(404);
  });

  test('a token without the permission gets 404; expired, unknown and no token 401', async () => {
    const explorer = 'GET /organizations/acme/explorer?type=workspaces';
    const pools = 'GET /organizations/acme/agent-pools';
    const reader = sandbox.createToken('platform', { permissions: ['read-workspaces'] });
    const manager = sandbox.createToken('platform', { permissions: ['manage-agent-pools'] });
    const of = (token: string) => Promise.all([status('platform', explorer, token), status('platform', pools, token)]);
    expect(await of(reader)).toEqual([200, 404]);
    expect(await of(manager)).toEqual([404, 200]);
    const expired = sandbox.createToken('platform', { isManagement: true, expiresAt: yesterday() });
    for (const token of [expired, 'wrong', undefined]) expect(await status('platform', pools, token)).toBe(401);
  });

  test('ping and the discovery document answer what a client asks first', async () => {
    const ping = await send('platform', 'GET /ping', sandbox.tokens.platform.read);
    expect(ping.status).toBe(204);
    expect(ping.headers?.get('tfp-api-version')).toBe('2.6');
    expect(ping.headers?.get('tfp-appname')).toBe('HCP Terraform');
    expect(ping.headers?.get('x-ratelimit-limit')).toBe('30');
    expect(await send('platform', 'GET /.well-known/terraform.json', undefined)).toMatchObject({
      status: 200,
      body: { 'tfe.v2': '/api/v2/' },
    });
  });
});
