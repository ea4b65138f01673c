import { describe, expect, test } from 'vitest';
import { answering } from './answering.ts';

describe('an answer without the maps that are rows fails its source, and ends no row:', () => {
  const claim = { 'al-1': { ID: 'al-1' } };

  /** A volume with a claim is answered with other maps. */
  async function expectRefused(maps: object, words: string): Promise<void> {
    const bodies: Record<string, unknown> = {
      '/v1/volumes': [{ ID: 'v1' }],
      '/v1/volume/csi/v1': { ID: 'v1', ReadAllocs: {}, WriteAllocs: claim },
    };
    const place = await answering(bodies);
    await place.pull(['--source', 'volumes']);
    bodies['/v1/volume/csi/v1'] = { ID: 'v1', ...maps };
    const { stderr } = await place.pull(['--source', 'volumes'], 3);
    expect(stderr).toContain(words);
    expect(await place.rows('select allocation_id from volume_allocations')).toEqual([{ allocation_id: 'al-1' }]);
  }

  test.each([
    {},
    { ReadAllocs: {} },
    { ReadAllocs: null, WriteAllocs: null },
    { ReadAllocs: {}, WriteAllocs: [claim['al-1']] },
  ])('a volume with %o', (maps) =>
    expectRefused(maps, 'with maps in `ReadAllocs` and `WriteAllocs`, got another or incomplete JSON object'),
  );

  test.each([
    { ReadAllocs: {}, WriteAllocs: { value: claim } },
    { ReadAllocs: { value: {} }, WriteAllocs: claim },
  ])('a volume whose claims are of other allocations than their names: %o', (maps) =>
    expectRefused(maps, 'volumes: a claim of v1 is not of the allocation value'),
  );

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

test.each([
  ['the response has no IntermediateCerts', { RootCert: 'x', IntermediateCerts: {} }],
  ['the response has no IntermediateCerts', { RootCert: 'x' }],
  ['row 1 has no RootCert', { RootCert: null, IntermediateCerts: null }],
  [
    'the response does not have the root that it names as the active one',
    { RootCert: 'x', IntermediateCerts: null, ActiveRootID: 'r2' },
  ],
])('a CA root that is not shown, or its certificates, fails the source: %s', async (problem, root) => {
  const { ActiveRootID, ...fields } = { ActiveRootID: undefined, ...root };
  const place = await answering({ '/v1/agent/connect/ca/roots': { ActiveRootID, Roots: [{ ID: 'r1', ...fields }] } });
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
