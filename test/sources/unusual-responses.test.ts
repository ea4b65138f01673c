import { describe, expect, test } from 'vitest';
import type { Flavor } from '../../sandbox/types.ts';
import { testProject } from '../helpers/test-project.ts';
import { readRecorded } from '../recorded/recorded.ts';

/** A number in a body, which `JSON.stringify` cannot write. */
const HUGE = 'the number 99999999999999999999999999';

/** A project whose sandbox returns these bodies by path. */
function answering(bodies: Readonly<Record<string, unknown>>, flavor: Flavor = 'spec') {
  const write = (body: unknown) => JSON.stringify(body).replaceAll(/"the number (\d+)"/gu, '$1');
  return testProject({
    workspaces: 2,
    flavor,
    faultHook: ({ path }) =>
      path in bodies
        ? { status: 200, headers: { 'content-type': 'application/json' }, body: write(bodies[path]) }
        : undefined,
  });
}

test('a token is described with integers of any size', async () => {
  const data = { policies: ['default'], explicit_max_ttl: HUGE, meta: { build: HUGE } };
  const place = await answering({ '/v1/auth/token/lookup-self': { data } }, 'hashicorp');
  await place.pull(['--source', 'tokens', '--target', 'vault']);
  const [row] = await place.rows('select extra::varchar as extra from tokens');
  expect(row).toEqual({ extra: `{"explicit_max_ttl":${HUGE.slice(11)},"meta":{"build":${HUGE.slice(11)}}}` });
});

test('a volume without a namespace is loaded', async () => {
  const claim = { ID: 'al-1', NodeID: 'node-1' };
  const place = await answering({
    '/v1/volumes': [{ ID: 'v1' }, { ID: 'v2', Namespace: '' }],
    '/v1/volume/csi/v1': { ID: 'v1', ReadAllocs: null, WriteAllocs: { 'al-1': claim } },
    '/v1/volume/csi/v2': { ID: 'v2', Namespace: '', ReadAllocs: {}, WriteAllocs: {} },
  });
  await place.pull(['--source', 'volumes']);
  await place.pull(['--source', 'volumes']);
  expect(await place.rows('select volume_id, namespace from volumes_history order by 1')).toEqual([
    { volume_id: 'v1', namespace: null },
    { volume_id: 'v2', namespace: null },
  ]);
  expect(await place.rows('select allocation_id, mode, node_id, namespace from volume_allocations')).toEqual([
    { allocation_id: 'al-1', mode: 'write', node_id: 'node-1', namespace: null },
  ]);
});

test('the last ping of an agent has any form of a time; one of the year 1 or 1970 is none', async () => {
  const pings: readonly (readonly [sent: string | null | undefined, loaded: string | null])[] = [
    ['2026-01-02T03:04:05Z', '2026-01-02T03:04:05Z'],
    ['2026-01-02T03:04:05.123456789Z', '2026-01-02T03:04:05.123456Z'],
    ['2026-01-02T03:04:05.5+01:30', '2026-01-02T01:34:05.5Z'],
    ['2099-01-01T00:00:00Z', '2099-01-01T00:00:00Z'], // the rules call it unknown
    [null, null],
    [undefined, null],
    ['', null],
    ['0001-01-01T00:00:00Z', null],
    ['1970-01-01T00:00:00.000Z', null],
  ];
  const agents = pings.map(([sent], index) => ({ id: `agent-${index}`, attributes: { 'last-ping-at': sent } }));
  const place = await answering({
    '/api/v2/organizations/acme/agent-pools': { data: [{ id: 'apool-1', attributes: { name: 'p' } }] },
    '/api/v2/agent-pools/apool-1/agents': { data: agents },
  });
  await place.pull(['--source', 'agents']);
  const rows = await place.rows('select last_ping_at from agents order by agent_id');
  expect(rows.map(({ last_ping_at }) => last_ping_at)).toEqual(pings.map(([, loaded]) => loaded));
});

describe('an answer without the maps that are rows fails its source, and ends no row:', () => {
  const claim = { 'al-1': { ID: 'al-1' } };

  test.each([
    {},
    { ReadAllocs: {} },
    { ReadAllocs: null, WriteAllocs: null },
    { ReadAllocs: {}, WriteAllocs: [claim['al-1']] },
  ])('a volume with %o', async (maps) => {
    const bodies: Record<string, unknown> = {
      '/v1/volumes': [{ ID: 'v1' }],
      '/v1/volume/csi/v1': { ID: 'v1', ReadAllocs: {}, WriteAllocs: claim },
    };
    const place = await answering(bodies);
    await place.pull(['--source', 'volumes']);
    bodies['/v1/volume/csi/v1'] = { ID: 'v1', ...maps };
    const { stderr } = await place.pull(['--source', 'volumes'], 3);
    expect(stderr).toContain('with maps in `ReadAllocs` and `WriteAllocs`, got another or incomplete JSON object');
    expect(await place.rows('select allocation_id from volume_allocations')).toEqual([{ allocation_id: 'al-1' }]);
  });

  test.each([
    { ReadAllocs: {}, WriteAllocs: { value: claim } },
    { ReadAllocs: { value: {} }, WriteAllocs: claim },
  ])('a volume whose claims are of other allocations than their names: %o', async (maps) => {
    const bodies: Record<string, unknown> = {
      '/v1/volumes': [{ ID: 'v1' }],
      '/v1/volume/csi/v1': { ID: 'v1', ReadAllocs: {}, WriteAllocs: claim },
    };
    const place = await answering(bodies);
    await place.pull(['--source', 'volumes']);
    bodies['/v1/volume/csi/v1'] = { ID: 'v1', ...maps };
    const { stderr } = await place.pull(['--source', 'volumes'], 3);
    expect(stderr).toContain('volumes: a claim of v1 is not of the allocation value');
    expect(await place.rows('select allocation_id from volume_allocations')).toEqual([{ allocation_id: 'al-1' }]);
  });

  test.each([{}, { versions: null }, { keys: ['1'] }, { keys: null, versions: '1' }])('a key with %o', async (maps) => {
    const key = (fields: object) => ({ data: { name: 'k', type: 'rsa-2048', latest_version: 1, ...fields } });
    const bodies: Record<string, unknown> = {
      '/v1/keymgmt/key': { data: { keys: ['k'] } },
      '/v1/keymgmt/key/k': key({ keys: { 1: {} } }),
    };
    const place = await answering(bodies);
    await place.pull(['--source', 'keys']);
    bodies['/v1/keymgmt/key/k'] = key(maps);
    const { stderr } = await place.pull(['--source', 'keys'], 3);
    expect(stderr).toContain('with maps in `keys` or `versions`, got another or incomplete JSON object');
    expect(await place.rows('select version::int as version from key_versions')).toEqual([{ version: 1 }]);
  });
});

test('a volume whose ID no path can have is loaded as it is listed, and the others are read', async () => {
  const place = await answering({
    '/v1/volumes': [{ ID: '..', Name: 'odd' }, { ID: 'v1' }],
    '/v1/volume/csi/v1': { ID: 'v1', Version: '7', ReadAllocs: {}, WriteAllocs: {} },
  });
  await place.pull(['--source', 'volumes']);
  expect(await place.rows('select volume_id, name, provider_version from volumes order by 1')).toEqual([
    { volume_id: '..', name: 'odd', provider_version: null },
    { volume_id: 'v1', name: null, provider_version: '7' },
  ]);
  expect(await place.rows("select note from pulls where source = 'volumes'")).toEqual([
    { note: '1 volume not read, first ..: no path can have such an ID' },
  ]);
});

test.each([
  ['external_volumes', '/v1/volumes/external', { Volumes: [{ ExternalID: 'e1' }, null] }],
  ['volume_snapshots', '/v1/volumes/snapshot', { Snapshots: [{ ID: 's1' }, { PluginID: 'ab' }] }],
])('an item without an ID fails its source, and is no row without one: %s', async (source, path, list) => {
  const place = await answering({ '/v1/volumes': [{ ID: 'v1', PluginID: 'ab' }], [path]: list });
  const { stderr } = await place.pull(['--source', source], 3);
  expect(stderr).toContain('.list: row 2 has no ID');
});

test('metrics with something else than a list fail their source', async () => {
  const place = await answering({ '/v1/metrics': { Gauges: [{ Name: 'g', Value: 1 }], Counters: 'none today' } });
  await place.pull(['--source', 'autoscaler_metrics'], 3);
  expect(await place.rows('select error from pulls')).toEqual([
    { error: expect.stringMatching(/^autoscaler_metrics: the response has no Counters:/u) },
  ]);
});

test('a metric without a name fails its source', async () => {
  const place = await answering({ '/v1/metrics': { Gauges: [{ Name: 'g', Value: 1 }, { Value: 2 }] } });
  const { stderr } = await place.pull(['--source', 'autoscaler_metrics'], 3);
  expect(stderr).toContain('Gauges: row 2 has no Name');
});

test('an empty text instead of a time is loaded as null', async () => {
  const place = await answering({
    '/v1/agent/connect/ca/roots': {
      Roots: [
        { ID: 'r1', NotBefore: '', NotAfter: '2026-12-01T00:00:00Z', RootCert: 'unreadable', IntermediateCerts: null },
      ],
    },
  });
  await place.pull(['--source', 'ca_roots']);
  expect(await place.rows('select not_before, not_after::varchar as not_after from ca_roots')).toEqual([
    { not_before: null, not_after: '2026-12-01 00:00:00+00' },
  ]);
});

test.each([
  ['the response has no IntermediateCerts', { RootCert: 'x', IntermediateCerts: {} }],
  ['the response has no IntermediateCerts', { RootCert: 'x' }],
  ['row 1 has no RootCert', { RootCert: null, IntermediateCerts: null }],
])('a CA root whose certificates are not shown fails the source: %s', async (problem, fields) => {
  const place = await answering({ '/v1/agent/connect/ca/roots': { Roots: [{ ID: 'r1', ...fields }] } });
  const { stderr } = await place.pull(['--source', 'ca_roots'], 3);
  expect(stderr).toContain(`ca_roots: ${problem}`);
});

test.each([
  [
    'keys',
    {
      '/v1/keymgmt/key': { data: { keys: ['own'] } },
      '/v1/keymgmt/key/own': { data: { name: 'other', versions: {} } },
    },
  ],
  [
    'keys',
    {
      '/v1/keymgmt/key': { data: { keys: ['own'] } },
      '/v1/keymgmt/key/own': { data: { name: ['own'], versions: {} } },
    },
  ],
  [
    'volumes',
    {
      '/v1/volumes': [{ ID: 'own', Namespace: 'a' }],
      '/v1/volume/csi/own': { ID: 'own', Namespace: 'b', ReadAllocs: {}, WriteAllocs: {} },
    },
  ],
  ['leaf_certificates', { '/v1/agent/connect/ca/leaf/web': { Service: 'api', ValidBefore: '2026-12-01T00:00:00Z' } }],
])('an answer about another item fails the source: %s', async (source, answers) => {
  const place = await answering(answers);
  const { stderr } = await place.pull(['--source', source], 3);
  expect(stderr).toMatch(/the response for (?:own|a\/own|web) describes another item/);
});

test.each([
  ['r2', false, [null, null]],
  [undefined, undefined, [null, null]],
  ['r1', undefined, [true, false]],
])('whether CA roots are active is unknown where the service says so of none: %s, %s', async (id, Active, expected) => {
  const root = { Active, RootCert: 'x', IntermediateCerts: null };
  const Roots = [
    { ID: 'r1', ...root },
    { ID: 'r3', ...root },
  ];
  const place = await answering({ '/v1/agent/connect/ca/roots': { ActiveRootID: id, Roots } });
  await place.pull(['--source', 'ca_roots']);
  expect((await place.rows('from ca_roots order by root_id')).map(({ active }) => active)).toEqual(expected);
});

test('whether a CA root is active is unknown where the service names it as the active one, and says that it is not', async () => {
  const root = { RootCert: 'x', IntermediateCerts: null };
  const Roots = ['r1', 'r2', 'r3'].map((ID) => ({ ...root, ID, Active: ID === 'r1' }));
  const place = await answering({ '/v1/agent/connect/ca/roots': { ActiveRootID: 'r3', Roots } });
  await place.pull(['--source', 'ca_roots']);
  expect((await place.rows('from ca_roots order by root_id')).map(({ active }) => active)).toEqual([true, false, null]);
});

test('the validity of a CA root is that of its certificate, whatever the service says of it', async () => {
  const { Roots } = JSON.parse(readRecorded('consul/roots').body) as { Roots: readonly object[] };
  const place = await answering({
    '/v1/agent/connect/ca/roots': {
      Roots: [
        { ...Roots[0], ID: 'read', NotBefore: '2020-01-01T00:00:00Z', NotAfter: '9999-12-31T23:59:59Z' },
        { ...Roots[0], ID: 'unreadable', RootCert: 'none', NotAfter: '2026-12-01T00:00:00Z' },
      ],
    },
  });
  await place.pull(['--source', 'ca_roots']);
  const columns = 'root_id, not_before::varchar as not_before, not_after::varchar as not_after';
  expect(await place.rows(`select ${columns} from ca_roots order by 1`)).toEqual([
    { root_id: 'read', not_before: '2026-11-22 00:26:13+00', not_after: '2036-11-19 00:26:13+00' },
    { root_id: 'unreadable', not_before: '2026-11-22 00:26:13+00', not_after: '2026-12-01 00:00:00+00' },
  ]);
});

test.each([
  [{ ActiveRootID: 'z-new' }, {}],
  [{}, { Active: true }],
])('an intermediate that two CA roots name is of the active one: %j, %j', async (answer, active) => {
  const { Roots } = JSON.parse(readRecorded('consul/roots').body) as { Roots: readonly { RootCert: string }[] };
  const shared = { RootCert: 'unreadable', IntermediateCerts: [Roots[0]!.RootCert] };
  const place = await answering({
    '/v1/agent/connect/ca/roots': {
      ...answer,
      Roots: [
        { ...shared, ID: 'a-old' },
        { ...shared, ...active, ID: 'z-new' },
      ],
    },
  });
  await place.pull(['--source', 'ca_roots']);
  const rows = await place.rows('select root_id from authority_certificates where subject is not null');
  expect(rows).toEqual([{ root_id: 'z-new' }]);
});

test.each([
  ['is garbled', { RootCert: 'garbled' }],
  ['is no text', { IntermediateCerts: [null] }],
  ['is an empty text', { IntermediateCerts: [''] }],
  ['is a number beyond 2^53', { IntermediateCerts: [HUGE] }],
])('what was read of the certificates of a root stays where one of them %s', async (_, fields) => {
  const { Roots } = JSON.parse(readRecorded('consul/roots').body) as { Roots: readonly object[] };
  const answers = { '/v1/agent/connect/ca/roots': { Roots } };
  const place = await answering(answers);
  await place.pull(['--source', 'ca_roots']);
  const read = () =>
    place.rows(
      'select fingerprint, subject, not_after from authority_certificates union all select root_id, name, not_after from ca_roots',
    );
  const before = await read();
  answers['/v1/agent/connect/ca/roots'] = { Roots: [{ ...Roots[0], NotAfter: '9999-12-31T23:59:59Z', ...fields }] };
  const { stderr } = await place.pull(['--source', 'ca_roots'], 1);
  expect(stderr).toContain('its certificates can no longer be read');
  expect(await read()).toEqual(before);
});

test('the versions of a key are read from `versions` where `keys` is null', async () => {
  const data = { name: 'nulled', type: 'rsa-2048', latest_version: 1, keys: null, versions: { 1: {} } };
  const place = await answering({
    '/v1/keymgmt/key': { data: { keys: ['nulled'] } },
    '/v1/keymgmt/key/nulled': { data },
  });
  await place.pull(['--source', 'keys']);
  expect(await place.rows('select key_name, version::int as version from key_versions')).toEqual([
    { key_name: 'nulled', version: 1 },
  ]);
});

test('the validity of a leaf is that of its certificate, whatever the service says of it', async () => {
  const leaf = JSON.parse(readRecorded('consul/leaf').body) as object;
  const place = await answering({
    '/v1/agent/connect/ca/leaf/web': {
      ...leaf,
      ValidAfter: '2026-11-29T00:00:00Z',
      ValidBefore: '9999-12-31T23:59:59Z',
    },
    '/v1/agent/connect/ca/leaf/api': { ...leaf, Service: 'api', CertPEM: 'none', ValidBefore: '2026-12-01T00:00:00Z' },
  });
  await place.pull(['--source', 'leaf_certificates']);
  const columns = 'service, valid_after::varchar as valid_after, valid_before::varchar as valid_before';
  expect(
    await place.rows(`select ${columns} from leaf_certificates where service in ('api', 'web') order by 1`),
  ).toEqual([
    { service: 'api', valid_after: '2026-11-22 00:28:25+00', valid_before: '2026-12-01 00:00:00+00' },
    { service: 'web', valid_after: '2026-11-22 00:28:25+00', valid_before: '2026-11-25 00:28:25+00' },
  ]);
});

test('if a plugin no longer exists, the volumes of other plugins are loaded and its own are unknown', async () => {
  const place = await testProject({
    workspaces: 2,
    faultHook: ({ path, query }, service) =>
      path === '/v1/volumes/external' && query.get('plugin_id') === 'gone'
        ? service.error(500, 'no such plugin')
        : undefined,
  });
  const { volumes } = place.sandbox.services.scheduler.state;
  const [first] = volumes;
  volumes.set(first![0], { ...first![1], pluginId: 'gone' });
  await place.pull(['--source', 'external_volumes'], 1);
  expect(await place.rows("select supported, error from external_volume_listings where plugin_id = 'gone'")).toEqual([
    { supported: null, error: 'no such plugin' },
  ]);
  expect((await place.rows('from external_volumes')).length).toBeGreaterThan(0);
});

test('a response without the requested list is an error, not an empty list', async () => {
  const place = await answering({
    '/api/v2/organizations/acme/agent-pools': { data: { id: 'apool-1', type: 'agent-pools' } },
    '/v1/volumes/external': { NextToken: '' },
  });
  const { pulls } = (await place.pull(['--source', 'agents', '--source', 'external_volumes'], 3)).json<{
    pulls: { source: string; status: string }[];
  }>();
  expect(pulls.map(({ source, status }) => `${source} ${status}`)).toEqual([
    'agents failed',
    'external_volumes failed',
  ]);
});

test.each([null, []])('rows without attributes are not rows whose attributes are null: %j', async (attributes) => {
  const place = await answering({
    '/api/v2/organizations/acme/agent-pools': { data: [{ id: 'apool-1', type: 'agent-pools', attributes }] },
  });
  const { stderr } = await place.pull(['--source', 'agent_pools'], 3);
  expect(stderr).toContain('platform.agent-pools.list: row 1 has no attributes');
});

test.each([
  ['workspaces', 'external_id', 7],
  ['workspaces', 'external_id', { id: 'ws-1' }],
  ['tf_versions', 'version', 1.5],
  ['providers', 'source', ['hashicorp/aws']],
  ['modules', 'version', true],
])('a row of %s whose %s is no text fails its source: %j', async (view, column, value) => {
  const attributes = { [column.replace('_', '-')]: value };
  const place = await answering({
    '/api/v2/organizations/acme/explorer': { data: [{ id: 'row-1', attributes }] },
  });
  await place.configure(({ targets }) => {
    for (const target of targets) if (target.kind === 'platform') target.explorer = 'json';
  });
  const { stderr } = await place.pull(['--source', view], 3);
  expect(stderr).toContain(`${view}: the ${column} of a row is no text`);
});

test.each([
  [
    'volumes',
    '/v1/volumes',
    [{ ID: 'v1', ExternalID: { value: 'vol-1' } }],
    'volumes: the ExternalID of row 1 is no text',
  ],
  ['volumes', '/v1/volumes', [{ ID: 'v1' }, { ID: 'v2', PluginID: 7 }], 'volumes: the PluginID of row 2 is no text'],
  ['volumes', '/v1/volumes', [{ ID: 'v1', Namespace: ['prod'] }], 'volumes: the Namespace of row 1 is no text'],
  ['external_volumes', '/v1/volumes/external', { Volumes: [{ ExternalID: 7 }] }, 'the ExternalID of row 1 is no text'],
  [
    'volume_snapshots',
    '/v1/volumes/snapshot',
    { Snapshots: [{ ID: 's1', ExternalSourceVolumeID: { value: 'vol-1' } }] },
    'the ExternalSourceVolumeID of row 1 is no text',
  ],
  [
    'mesh_roles',
    '/v1/mesh/roles/web-read',
    { data: { token_type: 'client', policy: 'x', policies: [{ Name: 'global-management' }] } },
    'mesh_roles: the policies of the role web-read are no names',
  ],
  [
    'mesh_roles',
    '/v1/mesh/roles/web-read',
    { data: { token_type: 'client', policy: 'x', consul_policies: { 0: 'global-management' } } },
    'mesh_roles: the consul_policies of the role web-read are no names',
  ],
])('%s: what refers to something, and is no text, fails the source: %s %j', async (source, path, body, words) => {
  const bodies: Record<string, unknown> = {};
  const place = await answering(bodies);
  await place.pull(['--source', source]);
  const read = () => place.rows(`from ${source} order by all`);
  const before = await read();
  bodies[path] = body;
  const { stderr } = await place.pull(['--source', source], 3);
  expect(stderr).toContain(words);
  expect(before).not.toEqual([]);
  expect(await read()).toEqual(before);
});

describe('what a pool does not list is unknown, and not gone:', () => {
  const POOLS = '/api/v2/organizations/acme/agent-pools';
  const workspaces = { data: [{ id: 'ws-1', type: 'workspaces' }] };
  const related = { workspaces, 'allowed-workspaces': workspaces, stacks: { data: [{ id: 'st-1', type: 'stacks' }] } };
  const listPools = (relationships: unknown, isScoped: boolean | 'false') => ({
    data: [
      {
        id: 'apool-1',
        attributes: { name: 'one', 'organization-scoped': isScoped === 'false' ? isScoped : !isScoped },
        relationships,
      },
      { id: 'apool-2', attributes: { name: 'two' }, relationships: { ...related, workspaces: { data: [] } } },
    ],
  });
  const all = ['allowed', 'attached', 'stacks'];

  test.each<[relationships: unknown, isScoped: boolean | 'false', left: readonly string[]]>([
    [undefined, false, all],
    [null, false, all],
    [{ ...related, workspaces: { links: { related: '/x' } } }, false, all],
    [{ ...related, workspaces: { data: null } }, false, all],
    [{ ...related, workspaces: { data: [{ id: 7 }] } }, false, all],
    [{ ...related, 'allowed-workspaces': {} }, true, all],
    [{ ...related, 'allowed-workspaces': {} }, 'false', all],
    [{ ...related, 'allowed-workspaces': {} }, false, ['attached', 'stacks']],
    [{ workspaces: { data: [] }, 'allowed-workspaces': { data: [] } }, true, []],
  ])('relationships %j, scoped %s', async (relationships, isScoped, left) => {
    const bodies: Record<string, unknown> = { [POOLS]: listPools(related, isScoped) };
    const place = await answering(bodies);
    await place.pull(['--source', 'agent_pools']);
    bodies[POOLS] = listPools(relationships, isScoped);
    await place.pull(['--source', 'agent_pools']);
    const read = (pool: string) =>
      place.rows(
        `select relation from agent_pool_workspaces where pool_id = $pool
        union all select relationship from agent_pool_relationships where pool_id = $pool order by 1`,
        { pool },
      );
    expect((await read('apool-1')).map(({ relation }) => relation)).toEqual(left);
    expect((await read('apool-2')).map(({ relation }) => relation)).toEqual(['allowed', 'stacks']);
    const unknown = left === all ? [{ value: 'apool-1' }] : [];
    expect(await place.rows('select value from unknown_parts')).toEqual(unknown);
  });
});

test('a pool whose agents are counted and not listed is unknown, and its agents are not gone', async () => {
  const agents: Record<string, unknown> = { data: [{ id: 'agent-1', attributes: { status: 'exited' } }] };
  const pool = { id: 'apool-1', attributes: { name: 'one', 'agent-count': 1 as number | string } };
  const place = await answering({
    '/api/v2/organizations/acme/agent-pools': { data: [pool] },
    '/api/v2/agent-pools/apool-1/agents': agents,
  });
  const read = async () => (await place.rows('select agent_id from agents')).map(({ agent_id }) => agent_id);
  await place.pull(['--source', 'agents']);
  agents.data = [];
  const { stderr } = await place.pull(['--source', 'agents', '--accept-shrink', 'agents'], 1);
  expect(stderr).toContain('pool apool-1 is unknown: the service counts 1 agent and lists none');
  expect(await read()).toEqual(['agent-1']);
  pool.attributes['agent-count'] = '1';
  await place.pull(['--source', 'agents', '--accept-shrink', 'agents'], 1);
  expect(await read()).toEqual(['agent-1']);
  pool.attributes['agent-count'] = 0;
  await place.pull(['--source', 'agents', '--accept-shrink', 'agents']);
  expect(await read()).toEqual([]);
});

test('a view whose results a gateway blocks fails the source, as a rejection of every view does; one whose query is rejected does not', async () => {
  let [status, body] = [200, '{"data":[{"id":"ws-1","type":"visibility-workspace","attributes":{}}]}'];
  let isRefused: (path: string) => boolean = () => true;
  const place = await testProject({
    workspaces: 2,
    faultHook: ({ path }) => (path.endsWith('/results') && isRefused(path) ? { status, body } : undefined),
  });
  await place.pull(['--source', 'saved_view_rows']);
  const before = await place.rows('select * from saved_view_rows order by all');
  [status, body] = [451, 'blocked'];
  const { stderr } = await place.pull(['--source', 'saved_view_rows'], 3);
  expect(stderr).toContain('451 invalid: blocked');
  status = 422;
  for (body of ['', 'blocked', '{"message":"blocked"}', '{"errors":[]}'])
    expect((await place.pull(['--source', 'saved_view_rows'], 3)).stderr).toContain('422 malformed');
  body = '{"errors":["no such field"]}';
  expect((await place.pull(['--source', 'saved_view_rows'], 3)).stderr).toContain('422 invalid: no such field');
  expect(await place.rows('select * from saved_view_rows order by all')).toEqual(before);
  const [view = {}] = before;
  isRefused = (path) => path.includes(`/${view.view_id}/`);
  await place.pull(['--source', 'saved_view_rows']);
  const failed = "select view_id, status from saved_view_results where error = 'no such field'";
  expect(await place.rows(failed)).toEqual([{ view_id: view.view_id, status: 'failed' }]);
});

test('rules that are no text grant what is not known, not nothing', async () => {
  const place = await answering({
    '/v1/acl/policies': [{ Name: 'anonymous' }, { Name: 'empty' }],
    '/v1/acl/policy/anonymous': { Name: 'anonymous', Rules: { namespace: [{ default: [{ policy: 'write' }] }] } },
    '/v1/acl/policy/empty': { Name: 'empty', Rules: '' },
  });
  await place.pull(['--source', 'acl_policies']);
  expect(await place.rows('select name, grants from acl_policies order by 1')).toEqual([
    { name: 'anonymous', grants: null },
    { name: 'empty', grants: [] },
  ]);
});

test('a time may be a number of any unit, and as Go prints it', async () => {
  const times: readonly (readonly [sent: unknown, loaded: string | null])[] = [
    [1767323045, '2026-01-02T03:04:05Z'],
    ['1767323045', '2026-01-02T03:04:05Z'],
    [1767323045123, '2026-01-02T03:04:05.123Z'],
    [1767323045123456, '2026-01-02T03:04:05.123456Z'],
    ['1767323045123456789', '2026-01-02T03:04:05.123456Z'],
    ['2026-01-02 03:04:05 +0000 UTC', '2026-01-02T03:04:05Z'],
    ['2026-01-02T04:34:05+01:30', '2026-01-02T03:04:05Z'],
    ...[0, -62135596800, '', null, undefined].map((none) => [none, null] as const),
  ];
  const versions = Object.fromEntries(times.map(([sent], index) => [index + 1, { creation_time: sent }]));
  const snapshots = times.map(([sent], index) => ({ ID: `s${index + 10}`, PluginID: 'ab', CreateTime: sent }));
  const place = await answering({
    '/v1/keymgmt/key': { data: { keys: ['k'] } },
    '/v1/keymgmt/key/k': { data: { name: 'k', latest_version: times.length, versions } },
    '/v1/volumes': [{ ID: 'v1', PluginID: 'ab' }],
    '/v1/volumes/snapshot': { Snapshots: snapshots },
  });
  await place.pull(['--source', 'keys', '--source', 'volume_snapshots']);
  const loaded = times.map(([, time]) => time);
  const keys = await place.rows('select creation_time as time from key_versions order by version');
  expect(keys.map(({ time }) => time)).toEqual(loaded);
  const taken = await place.rows('select created_at as time from volume_snapshots order by snapshot_id');
  expect(taken.map(({ time }) => time)).toEqual(loaded);
});

test.each([1e30, '1e400', 'soon', 'infinity', '10000-01-01T00:00:00Z'])(
  'a time that cannot be read, such as %s, fails its source: none may mean "never"',
  async (time) => {
    const agent = { id: 'agent-1', type: 'agents', attributes: { name: 'a', status: 'exited', 'last-ping-at': time } };
    const place = await answering({
      '/api/v2/organizations/acme/agent-pools': { data: [{ id: 'apool-1', attributes: { name: 'p' } }] },
      '/api/v2/agent-pools/apool-1/agents': { data: [agent] },
    });
    await place.pull(['--source', 'agents'], 3);
    expect(await place.rows(`select status from pulls where source = 'agents'`)).toEqual([{ status: 'failed' }]);
  },
);

test('a number or truth value that cannot be read is unknown, and the rows beside it are loaded', async () => {
  const odd = {
    ...{
      CurrentReaders: '',
      CurrentWriters: 'none',
      Schedulable: '',
      ControllersHealthy: '2',
      ControllerRequired: 'true',
    },
    ...{ CreateIndex: -1, ModifyIndex: 1e30, NodesHealthy: 3, ResourceExhausted: '', PluginID: 'ab' },
    ...{ NodesExpected: '9223372036854775807', ControllersExpected: '-9223372036854775808' }, // rules and reports add and subtract
  };
  const maps = { ReadAllocs: {}, WriteAllocs: { a: { ID: 'a', CreateIndex: '', CreateTime: '' } } };
  const place = await answering({
    '/v1/volumes': [
      { ID: 'v1', ...odd },
      { ID: 'v2', CurrentReaders: 1 },
    ],
    '/v1/volume/csi/v1': { ID: 'v1', Capacity: 'large', ...maps },
    '/v1/volume/csi/v2': { ID: 'v2', Capacity: '1024', ReadAllocs: {}, WriteAllocs: {} },
    '/v1/volumes/external': {
      Volumes: [
        { ExternalID: 'e1', IsAbnormal: '', CapacityBytes: '', PublishedExternalNodeIDs: {} },
        { ExternalID: 'e2', IsAbnormal: 'false', CapacityBytes: '5', PublishedExternalNodeIDs: null },
      ],
    },
  });
  await place.pull(['--source', 'volumes', '--source', 'external_volumes']);
  const columns = `current_readers, current_writers, schedulable, controllers_healthy, controller_required, create_index, modify_index,
    nodes_healthy, resource_exhausted, capacity_bytes, nodes_expected, controllers_expected`;
  const [first, second] = await place.rows(
    `select columns(*)::varchar from (select ${columns} from volumes order by volume_id)`,
  );
  expect(first).toEqual({
    ...{ current_readers: null, current_writers: null, schedulable: null, create_index: null, modify_index: null },
    ...{ controllers_healthy: '2', controller_required: 'true', nodes_healthy: '3', resource_exhausted: null },
    ...{ capacity_bytes: null, nodes_expected: null, controllers_expected: null },
  });
  expect(second).toMatchObject({ current_readers: '1', capacity_bytes: '1024' });
  const external = `select external_id, is_abnormal, capacity_bytes::int as bytes, published_node_ids as nodes from external_volumes
    where plugin_id = 'ab' order by 1`;
  expect(await place.rows(external)).toEqual([
    { external_id: 'e1', is_abnormal: null, bytes: null, nodes: null },
    { external_id: 'e2', is_abnormal: false, bytes: 5, nodes: null },
  ]);
});

test('what a list has twice counts once, and what differs between the two is unknown', async () => {
  const external = (id: string, fields = {}) => ({ ExternalID: id, CapacityBytes: 1, Status: 'in use', ...fields });
  const snapshot = (id: string, fields = {}) => ({ ID: id, PluginID: 'ab', IsReady: true, SizeBytes: 1, ...fields });
  const allocation = { ID: 'a', NodeID: 'n' };
  const other = { ID: 'b', NodeID: 'n', ClientStatus: 'running' };
  const volume = { ID: 'v1', PluginID: 'ab' };
  const root = (ID: string, fields = {}) => ({
    ID,
    RootCert: 'x',
    IntermediateCerts: null,
    SerialNumber: 7,
    ...fields,
  });
  const place = await answering({
    '/v1/volumes': [
      volume,
      volume,
      { ID: 'v2', PluginID: 'ab' },
      { ID: 'v3', PluginID: 'ab', Schedulable: true, CurrentReaders: 1 },
      { ID: 'v3', PluginID: 'ab', Schedulable: false },
    ],
    '/v1/volume/csi/v1': {
      ...volume,
      ReadAllocs: {},
      WriteAllocs: { a: null, b: null },
      Allocations: [allocation, allocation, other, { ...other, ClientStatus: 'lost' }],
    },
    '/v1/volume/csi/v2': { ID: 'v2', ReadAllocs: {}, WriteAllocs: {} },
    '/v1/volume/csi/v3': { ID: 'v3', ExternalID: 'e3', Schedulable: true, ReadAllocs: {}, WriteAllocs: {} },
    '/v1/volumes/external': {
      Volumes: [
        external('same'),
        external('same'),
        external('other'),
        external('other', { Status: 'gone' }),
        external('one'),
      ],
    },
    '/v1/volumes/snapshot': {
      Snapshots: [
        snapshot('same'),
        snapshot('same'),
        snapshot('other'),
        snapshot('other', { IsReady: false }),
        snapshot('one'),
      ],
    },
    '/v1/agent/connect/ca/roots': {
      ActiveRootID: 'r1',
      Roots: [root('r1'), root('r1'), root('r2', { Active: true }), root('r2', { Active: false })],
    },
    '/v1/keymgmt/key': { data: { keys: ['k', 'k'] } },
    '/v1/keymgmt/key/k': { data: { name: 'k', versions: { 1: {} } } },
  });
  await place.configure((config) => {
    for (const target of config.targets) if (target.kind === 'scheduler') target.flavor = 'hashicorp';
  });
  await place.pull(
    ['volumes', 'external_volumes', 'volume_snapshots', 'ca_roots', 'keys'].flatMap((source) => ['--source', source]),
  );
  const ids = async (column: string, table: string) =>
    (await place.rows(`select ${column} as id from ${table} order by 1`)).map(({ id }) => id);
  const volumes =
    'select volume_id as id, external_id as external, schedulable, current_readers as readers from volumes order by 1';
  expect(await place.rows(volumes)).toEqual([
    { id: 'v1', external: null, schedulable: null, readers: null },
    { id: 'v2', external: null, schedulable: null, readers: null },
    { id: 'v3', external: 'e3', schedulable: true, readers: null },
  ]);
  const allocations = 'select allocation_id as id, node_id, client_status from volume_allocations order by 1';
  expect(await place.rows(allocations)).toEqual([
    { id: 'a', node_id: 'n', client_status: null },
    { id: 'b', node_id: null, client_status: null },
  ]);
  expect(
    await place.rows('select root_id as id, active, serial_number::int as serial from ca_roots order by 1'),
  ).toEqual([
    { id: 'r1', active: true, serial: 7 },
    { id: 'r2', active: null, serial: null },
  ]);
  expect(await ids('name', 'keys')).toEqual(['k']);
  expect(
    await place.rows('select external_id as id, status, capacity_bytes::int as bytes from external_volumes order by 1'),
  ).toEqual([
    { id: 'one', status: 'in use', bytes: 1 },
    { id: 'other', status: null, bytes: null },
    { id: 'same', status: 'in use', bytes: 1 },
  ]);
  expect(
    await place.rows('select snapshot_id as id, is_ready, size_bytes::int as bytes from volume_snapshots order by 1'),
  ).toEqual([
    { id: 'one', is_ready: true, bytes: 1 },
    { id: 'other', is_ready: null, bytes: null },
    { id: 'same', is_ready: true, bytes: 1 },
  ]);
});

test('a volume that two pages of a list have counts once', async () => {
  const [first, second, third] = ['v1', 'v2', 'v3'].map((ID) => ({ ID, Namespace: 'default', PluginID: 'ab' }));
  const place = await testProject({
    workspaces: 2,
    faultHook: ({ path, query }) => {
      const json = (body: unknown, headers = {}) => ({ status: 200, headers, body: JSON.stringify(body) });
      const [, id] = /^\/v1\/volume\/csi\/(.*)$/u.exec(path) ?? [];
      if (id !== undefined) return json({ ID: id, Namespace: 'default', ReadAllocs: {}, WriteAllocs: {} });
      if (path !== '/v1/volumes') return undefined;
      return query.has('next_token') ? json([second, third]) : json([first, second], { 'x-nomad-nexttoken': 'v2' });
    },
  });
  await place.pull(['--source', 'volumes']);
  expect(await place.rows('select volume_id as id from volumes order by 1')).toEqual(
    ['v1', 'v2', 'v3'].map((id) => ({ id })),
  );
});

test('a metric without labels, which are null in one sample and empty in another, is one row', async () => {
  const place = await answering({
    '/v1/metrics': {
      Gauges: [
        { Name: 'g', Value: 1, Labels: null },
        { Name: 'g', Value: 1, Labels: {} },
        { Name: 'g', Value: 2, Labels: { a: 'b' } },
        { Name: 'h', Value: '3' },
        { Name: 'i', Value: '' },
      ],
    },
  });
  await place.pull(['--source', 'autoscaler_metrics']);
  expect(await place.rows('select name, labels, value from autoscaler_metrics order by name, value')).toEqual([
    { name: 'g', labels: null, value: 1 },
    { name: 'g', labels: { a: 'b' }, value: 2 },
    { name: 'h', labels: null, value: 3 },
    { name: 'i', labels: null, value: null },
  ]);
});

test('a pool whose relations have another form is unknown, and the others are loaded', async () => {
  const pool = (id: string, relationships: unknown) => ({ id, attributes: { name: id }, relationships });
  const workspaces = { data: [{ id: 'ws-1', type: 'workspaces' }] };
  const place = await answering({
    '/api/v2/organizations/acme/agent-pools': {
      data: [pool('apool-1', []), pool('apool-2', { workspaces: [] }), pool('apool-3', { workspaces })],
    },
  });
  await place.pull(['--source', 'agent_pools']);
  expect(await place.rows('select pool_id, workspace_id from agent_pool_workspaces')).toEqual([
    { pool_id: 'apool-3', workspace_id: 'ws-1' },
  ]);
  const unknown = `select value from unknown_parts where source = 'agent_pools' order by 1`;
  expect((await place.rows(unknown)).map(({ value }) => value)).toEqual(['apool-1', 'apool-2']);
});

test('a relation of a pool counts as one resource only where that has an ID', async () => {
  const pool = (id: string, data: unknown) => ({ id, attributes: { name: id }, relationships: { stacks: { data } } });
  const place = await answering({
    '/api/v2/organizations/acme/agent-pools': {
      data: [pool('apool-1', { id: 'st-1', type: 'stacks' }), pool('apool-2', { value: [] }), pool('apool-3', [])],
    },
  });
  await place.pull(['--source', 'agent_pools']);
  const counts = await place.rows("select relationships ->> 'stacks' as stacks from agent_pools order by pool_id");
  expect(counts.map(({ stacks }) => stacks)).toEqual(['1', null, '0']);
});
