import { afterEach, describe, expect, test } from 'vitest';
import type { Target, TargetKind } from '../../src/config/config.ts';
import { describeToken } from '../../src/services/describe-token.ts';
import { createTarget, createTestClient, startServer, type TestServer } from '../helpers/http-service.ts';

/** Responses by path: JSON, or a status with a text and headers. */
type Answer = readonly [status: number, text: string, headers?: Readonly<Record<string, string>>];
type Responses = Readonly<Record<string, object | Answer>>;

const servers: TestServer[] = [];
afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.close()));
});

const MOUNTS = { keymgmt: 'keymgmt', mesh: 'consul' };

async function describeAt(kind: TargetKind, responses: Responses, changes: Partial<Target> = {}) {
  const server = await startServer((request, response) => {
    const answer = responses[(request.url ?? '').replace(/^\/(?:v1|api\/v2)/u, '')] ?? [404, '{"errors":[]}'];
    request.resume();
    const [status, text, headers] = Array.isArray(answer) ? answer : [];
    if (typeof status === 'number') response.writeHead(status, headers).end(text);
    else response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
  });
  servers.push(server);
  const target = createTarget(kind, server.origin, { flavor: 'hashicorp', mounts: MOUNTS, ...changes });
  const { client } = createTestClient(target);
  const described = describeToken(client).finally(() => client.close());
  return { described, server };
}

describe('a token of the secrets service', () => {
  const lookup = {
    data: {
      accessor: 'Nq2T',
      creation_time: 1795307172,
      creation_ttl: 2764800,
      display_name: 'token-tidemark',
      entity_id: '',
      expire_time: '2026-12-24T00:26:12.8Z',
      explicit_max_ttl: 0,
      id: 'hvs.the-token-itself',
      issue_time: '2026-11-22T00:26:12.8Z',
      meta: null,
      num_uses: 3,
      orphan: true,
      path: 'auth/token/create',
      policies: ['default', 'tidemark'],
      renewable: true,
      ttl: 2764000,
      type: 'service',
    },
  };
  const capabilities = { 'consul/roles': ['list'], data: { 'consul/roles': ['list'], 'consul/roles/+': ['read'] } };

  test('has policies, an end, and capabilities on the paths of the operations', async () => {
    const { described } = await describeAt('secrets', {
      '/auth/token/lookup-self': lookup,
      '/sys/capabilities-self': capabilities,
    });
    const info = await described;
    expect(info).toMatchObject({
      accessor_id: 'Nq2T',
      name: 'token-tidemark',
      type: 'service',
      policies: ['default', 'tidemark'],
      is_management: false,
      expires_at: '2026-12-24T00:26:12.8Z',
      created_at: '2026-11-22T00:26:12.8Z',
    });
    expect(info.rights).toMatchObject({ 'consul/roles': ['list'], 'consul/roles/+': ['read'], 'keymgmt/key': null });
  });

  test('reads the capabilities on a list from its path with a slash at the end', async () => {
    const { described } = await describeAt('secrets', {
      '/auth/token/lookup-self': lookup,
      '/sys/capabilities-self': { data: { 'keymgmt/kms/+/key': ['deny'], 'keymgmt/kms/+/key/': ['list'] } },
    });
    expect((await described).rights).toMatchObject({ 'keymgmt/kms/+/key': ['list'] });
  });

  test('is described without its secret, and without what changes with every use', async () => {
    const { described } = await describeAt('secrets', { '/auth/token/lookup-self': lookup });
    const info = await described;
    expect(JSON.stringify(info)).not.toContain('hvs.');
    expect(info.extra).not.toHaveProperty('ttl');
    expect(info.extra).not.toHaveProperty('num_uses');
    expect(info.extra).toMatchObject({ path: 'auth/token/create', renewable: true, creation_ttl: 2764800 });
    expect(info.rights).toBeNull();
  });

  test('may have its policies by its entity alone', async () => {
    const data = { ...lookup.data, type: 'batch', accessor: '', policies: null, identity_policies: ['readers'] };
    const { described } = await describeAt('secrets', { '/auth/token/lookup-self': { data } });
    expect(await described).toMatchObject({ accessor_id: null, policies: ['readers'], is_management: false });
  });

  test('is a management token with the policy root', async () => {
    const data = { ...lookup.data, policies: ['root'], expire_time: null };
    const { described } = await describeAt('secrets', { '/auth/token/lookup-self': { data } });
    expect(await described).toMatchObject({ is_management: true, expires_at: null });
  });
});

describe('a token of the scheduler', () => {
  const token = {
    AccessorID: '706887e9',
    SecretID: '00000000-aaaa-bbbb-cccc-000000000001',
    Name: 'tidemark',
    Type: 'client',
    Policies: ['ro'],
    Roles: [{ ID: 'r1', Name: 'readers' }],
    Global: false,
    CreateTime: '2026-11-22T00:29:24.577706912Z',
    ExpirationTTL: '24h0m0s',
    ExpirationTime: '2026-11-23T00:29:24.577706912Z',
  };

  test('has the rules of its own policies', async () => {
    const { described } = await describeAt('scheduler', {
      '/acl/token/self': token,
      '/acl/policies': [{ Name: 'ro' }],
      '/acl/policy/ro': { Name: 'ro', Rules: 'namespace "*" { policy = "read" }' },
    });
    const info = await described;
    expect(info).toMatchObject({
      accessor_id: '706887e9',
      name: 'tidemark',
      type: 'client',
      policies: ['ro'],
      roles: ['readers'],
      is_management: false,
      rights: { ro: 'namespace "*" { policy = "read" }' },
      expires_at: '2026-11-23T00:29:24.577706912Z',
    });
    expect(JSON.stringify(info)).not.toContain('aaaa-bbbb');
  });

  test('has the policies of every page of their list', async () => {
    const { described } = await describeAt('scheduler', {
      '/acl/token/self': token,
      '/acl/policies': [200, '[{"Name":"all"}]', { 'x-nomad-nexttoken': 'less' }],
      '/acl/policies?next_token=less': [{ Name: 'less' }],
      '/acl/policy/all': { Name: 'all', Rules: 'namespace "*" { policy = "read" }' },
      '/acl/policy/less': { Name: 'less', Rules: 'namespace "x" { policy = "deny" }' },
    });
    expect(await described).toMatchObject({ rights: { less: expect.anything() }, sees_every_namespace: false });
  });

  test('has unknown rights where it has more policies than anybody has', async () => {
    const policies = Array.from({ length: 65 }, (_, index) => ({ Name: `p${index}` }));
    const { described, server } = await describeAt('scheduler', {
      '/acl/token/self': token,
      '/acl/policies': policies,
    });
    expect(await described).toMatchObject({ rights: null, sees_every_namespace: null });
    expect(server.requests).toHaveLength(2);
  });

  test('has unknown rights where one of its policies has no name: that may deny what another one grants', async () => {
    const { described } = await describeAt('scheduler', {
      '/acl/token/self': token,
      '/acl/policies': [{ Name: 'all' }, { Name: null }],
      '/acl/policy/all': { Name: 'all', Rules: 'namespace "*" { policy = "read" }' },
    });
    expect(await described).toMatchObject({ rights: null, sees_every_namespace: null });
  });

  test('is a management token by its type; its policies are not read', async () => {
    const management = { ...token, Type: 'management', Policies: null, Roles: null, ExpirationTime: null };
    const { described, server } = await describeAt('scheduler', { '/acl/token/self': management });
    expect(await described).toMatchObject({ is_management: true, policies: [], roles: [], expires_at: null });
    expect(server.requests).toHaveLength(1);
  });

  test('is not described where its type is not known: it may be one that may do everything', async () => {
    const { described } = await describeAt('scheduler', { '/acl/token/self': { ...token, Type: 'Management' } });
    await expect(described).rejects.toMatchObject({
      failure: 'malformed',
      serviceMessage: 'expected a description of the token with `Type` as client or management',
    });
  });

  // Nomad before 1.10.1 answers 404.
  test('is anonymous where Nomad shows what requests without one may do', async () => {
    const { described } = await describeAt(
      'scheduler',
      {
        '/acl/token/self': { ...token, AccessorID: 'anonymous', Name: 'Anonymous Token', Policies: ['anonymous'] },
        '/acl/policies': [],
      },
      { token: undefined },
    );
    expect(await described).toMatchObject({ type: 'anonymous', is_management: false, policies: ['anonymous'] });
  });

  test.each([403, 404])('that is unknown is an error, not an anonymous token (%d)', async (status) => {
    const { described } = await describeAt('scheduler', { '/acl/token/self': [status, 'ACL token not found'] });
    await expect(described).rejects.toMatchObject({ failure: 'unauthorized' });
  });

  test.each([
    [403, 'Permission denied'],
    [500, 'rpc error: acl token lookup failed: missing secret id'], // Nomad before 1.10.1
  ] as const)('is anonymous if none is set (%d %s)', async (status, text) => {
    const { described } = await describeAt('scheduler', { '/acl/token/self': [status, text] }, { token: undefined });
    expect(await described).toMatchObject({ type: 'anonymous', is_management: false });
  });

  test('is not checked where ACLs are disabled', async () => {
    const { described } = await describeAt('scheduler', { '/acl/token/self': [400, 'ACL support disabled'] });
    expect(await described).toMatchObject({ type: 'acl-disabled', is_management: null });
  });
});

describe('a token of the mesh', () => {
  const token = {
    AccessorID: '20f9e8d8',
    SecretID: '00000000-aaaa-bbbb-cccc-000000000001',
    Description: 'tidemark',
    Policies: [{ ID: '1', Name: 'leaves' }],
    ServiceIdentities: [{ ServiceName: 'web' }],
    Local: false,
    CreateTime: '2026-11-22T00:26:13Z',
  };

  test('has its policies, and identities in extra', async () => {
    const { described } = await describeAt('mesh', { '/acl/token/self': token });
    const info = await described;
    expect(info).toMatchObject({
      name: 'tidemark',
      type: 'client',
      policies: ['leaves'],
      is_management: false,
      extra: { Local: false, ServiceIdentities: [{ ServiceName: 'web' }] },
    });
    expect(JSON.stringify(info)).not.toContain('aaaa-bbbb');
  });

  test('is a management token with the policy global-management', async () => {
    const management = { ...token, Policies: [{ ID: '1', Name: 'global-management' }] };
    const { described } = await describeAt('mesh', { '/acl/token/self': management });
    expect(await described).toMatchObject({ type: 'management', is_management: true });
  });

  test('is one with that policy under another name, since a policy may be renamed', async () => {
    const policy = { ID: '00000000-0000-0000-0000-000000000001', Name: 'admins' };
    const { described } = await describeAt('mesh', { '/acl/token/self': { ...token, Policies: [policy] } });
    expect(await described).toMatchObject({ type: 'management', is_management: true, policies: ['admins'] });
  });

  describe('with roles', () => {
    const withRoles = {
      ...token,
      Roles: [
        { ID: 'r1', Name: 'readers' },
        { ID: 'r2', Name: 'admins' },
      ],
    };
    const readers = { ID: 'r1', Name: 'readers', Policies: [{ ID: '1', Name: 'leaves' }] };
    const admins = { ID: 'r2', Name: 'admins', Policies: [{ ID: '2', Name: 'global-management' }] };
    const denied: Answer = [403, "Permission denied: token with AccessorID '20f9e8d8' lacks permission 'acl:read'"];

    test.each<[string, Responses, boolean | null]>([
      ['may do everything if one of them has the policy', { '/acl/role/r1': readers, '/acl/role/r2': admins }, true],
      ['may not if none of them has it', { '/acl/role/r1': readers, '/acl/role/r2': readers }, false],
      [
        'may not if it may not read them, which that policy permits',
        { '/acl/role/r1': denied, '/acl/role/r2': denied },
        false,
      ],
      [
        'is not known to where one of them is not shown',
        { '/acl/role/r1': readers, '/acl/role/r2': [404, 'ACL not found'] },
        null,
      ],
    ])('%s', async (_, roles, isManagement) => {
      const { described } = await describeAt('mesh', { '/acl/token/self': withRoles, ...roles });
      const type = isManagement === null ? null : isManagement ? 'management' : 'client';
      expect(await described).toMatchObject({ type, is_management: isManagement, roles: ['admins', 'readers'] });
    });
  });

  test('is anonymous where Consul says so', async () => {
    const anonymous = { ...token, AccessorID: '00000000-0000-0000-0000-000000000002', Policies: null };
    const { described } = await describeAt('mesh', { '/acl/token/self': anonymous }, { token: undefined });
    expect(await described).toMatchObject({ type: 'anonymous', policies: [] });
  });
});

describe('a token of the platform', () => {
  const account = (username: string) => ({
    data: { id: 'user-1', type: 'users', attributes: { username, email: 'a@b.example', 'is-service-account': true } },
  });
  const entitlements = { data: { id: 'org-1', type: 'entitlement-sets', attributes: { agents: true } } };

  test.each([
    ['api-org-acme-1', 'organization', true],
    ['api-team_12', 'team', null],
    ['ada', 'user', null],
  ])('of the account %s has the type %s', async (username, type, isManagement) => {
    const { described } = await describeAt('platform', {
      '/account/details': account(username),
      '/organizations/acme/entitlement-set': entitlements,
    });
    const info = await described;
    expect(info).toMatchObject({ accessor_id: 'user-1', name: username, type, is_management: isManagement });
    expect(info.rights).toEqual({ agents: true });
    expect(JSON.stringify(info)).not.toContain('@');
  });

  // Since November 2023, beside a name that says nothing, or what a user has chosen.
  test.each([
    ['organizations', 'svc-1', 'organization', true],
    ['teams', 'svc-2', 'team', null],
    ['users', 'api-org-ada', 'user', null],
    ['projects', 'api-team_12', 'team', null],
  ])('of the authenticated resource %s has, as %s, the type %s', async (resource, username, type, isManagement) => {
    const { data } = account(username);
    const relationships = { 'authenticated-resource': { data: { id: 'x-1', type: resource } } };
    const { described } = await describeAt('platform', { '/account/details': { data: { ...data, relationships } } });
    expect(await described).toMatchObject({ type, is_management: isManagement });
  });

  test('has no rights where the entitlements are not shown', async () => {
    const { described } = await describeAt('platform', { '/account/details': account('ada') });
    expect((await described).rights).toBeNull();
  });

  test('that is refused is an error', async () => {
    const refusal = [401, '{"errors":[{"status":"401","title":"unauthorized"}]}'] as const;
    const { described } = await describeAt('platform', { '/account/details': refusal });
    await expect(described).rejects.toMatchObject({ failure: 'unauthorized' });
  });
});

describe('an answer that does not describe a token', () => {
  const lookup = (fields: object) => ({ '/auth/token/lookup-self': { data: { policies: ['tidemark'], ...fields } } });
  const self = (fields: object) => ({ '/acl/token/self': { AccessorID: '706887e9', Type: 'client', ...fields } });

  test.each<[string, TargetKind, Responses, string]>([
    ['an error document', 'mesh', { '/acl/token/self': { error: 'x' } }, '`AccessorID`'],
    ['an error document', 'scheduler', { '/acl/token/self': { error: 'x' } }, '`AccessorID`'],
    ['no type', 'scheduler', { '/acl/token/self': { AccessorID: '706887e9' } }, '`Type`'],
    [
      'a type that is no text',
      'scheduler',
      { '/acl/token/self': { AccessorID: '706887e9', Type: ['management'] } },
      '`Type`',
    ],
    ['an error document', 'secrets', { '/auth/token/lookup-self': { data: { errors: ['x'] } } }, '`policies`'],
    ['an error document', 'platform', { '/account/details': { data: { errors: ['x'] } } }, '`id`'],
    ['policies of another form', 'secrets', lookup({ policies: 'root' }), 'names in `policies`'],
    [
      'policies of another form',
      'mesh',
      self({ Policies: [{ PolicyName: 'global-management' }] }),
      'names in `Policies`',
    ],
    [
      'no capabilities',
      'secrets',
      { ...lookup({}), '/sys/capabilities-self': { error: 'x' } },
      'what it may do on paths',
    ],
    ['an end in seconds', 'secrets', lookup({ expire_time: 1795307172 }), 'a time in `expire_time`'],
    ['an end of another form', 'scheduler', self({ ExpirationTime: 'in an hour' }), 'a time in `ExpirationTime`'],
  ])('(%s of the %s) is an error, not a token without rights and without an end', async (_, kind, responses, told) => {
    const { described } = await describeAt(kind, responses);
    await expect(described).rejects.toMatchObject({
      failure: 'malformed',
      message: expect.stringContaining(`expected a description of the token with ${told}`),
    });
  });

  test('of an account without a name leaves open what it is', async () => {
    const { described } = await describeAt('platform', {
      '/account/details': { data: { id: 'user-1', attributes: {} } },
    });
    expect(await described).toMatchObject({ name: null, type: null, is_management: null });
  });
});
