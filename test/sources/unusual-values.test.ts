import { expect, test } from 'vitest';
import { answering, HUGE } from './answering.ts';

test('a token is described with integers of any size', async () => {
  const data = { policies: ['default'], explicit_max_ttl: HUGE, meta: { build: HUGE } };
  const place = await answering({ '/v1/auth/token/lookup-self': { data } }, 'hashicorp');
  await place.pull(['--source', 'tokens', '--target', 'vault']);
  const [row] = await place.rows('select extra::varchar as extra from tokens');
  expect(row).toEqual({ extra: `{"explicit_max_ttl":${HUGE.slice(11)},"meta":{"build":${HUGE.slice(11)}}}` });
});

const FUTURE = '2099-01-01T00:00:00Z';

test('the last ping of an agent and the time of a snapshot have any form of a time; one of the year 1 or 1970 is none', async () => {
  const pings: readonly (readonly [sent: string | null | undefined, loaded: string | null])[] = [
    ['2026-01-02T03:04:05Z', '2026-01-02T03:04:05Z'],
    ['2026-01-02T03:04:05.123456789Z', '2026-01-02T03:04:05.123456Z'],
    ['2026-01-02T03:04:05.5+01:30', '2026-01-02T01:34:05.5Z'],
    [FUTURE, FUTURE], // the rules call it unknown; a snapshot was not taken then
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
    '/v1/volumes': [{ ID: 'v1', PluginID: 'ab' }],
    '/v1/volumes/snapshot': { Snapshots: pings.map(([CreateTime], index) => ({ ID: `s${index}`, CreateTime })) },
  });
  await place.pull(['--source', 'agents', '--source', 'volume_snapshots']);
  const rows = [
    ...(await place.rows('select last_ping_at as time from agents order by agent_id')),
    ...(await place.rows('select created_at as time from volume_snapshots order by snapshot_id')),
  ];
  const loaded = pings.map(([, time]) => time);
  expect(rows.map(({ time }) => time)).toEqual([...loaded, ...loaded.map((time) => (time === FUTURE ? null : time))]);
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

test('the versions of a key are read from `versions` where `keys` is null; that its newest one is 0 cannot be', async () => {
  const data = { name: 'nulled', type: 'rsa-2048', latest_version: 0, keys: null, versions: { 1: {} } };
  const place = await answering({
    '/v1/keymgmt/key': { data: { keys: ['nulled'] } },
    '/v1/keymgmt/key/nulled': { data },
  });
  await place.pull(['--source', 'keys']);
  expect(await place.rows('select key_name, version::int as version from key_versions')).toEqual([
    { key_name: 'nulled', version: 1 },
  ]);
  expect(await place.rows('select latest_version from keys')).toEqual([{ latest_version: null }]);
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
      { ID: 'v2', CurrentReaders: 1, ResourceExhausted: '2026-10-01 02:15:00' },
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
  expect(second).toMatchObject({ current_readers: '1', capacity_bytes: '1024', resource_exhausted: '1790820900' });
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

test('the purpose of a key in a provider may be a list, or a text with commas; its order has no meaning', async () => {
  const at = (name: string) => `/v1/keymgmt/kms/cloud/key/${name}`;
  const bodies: Record<string, unknown> = {
    '/v1/keymgmt/kms': { data: { keys: ['cloud'] } },
    '/v1/keymgmt/kms/cloud/key': { data: { keys: ['list', 'none', 'text'] } },
    [at('list')]: { data: { name: 'a', purpose: ['encrypt', 'decrypt'] } },
    [at('none')]: { data: { name: 'b', purpose: '' } },
    [at('text')]: { data: { name: 'c', purpose: 'encrypt, decrypt' } },
  };
  const place = await answering(bodies);
  await place.pull(['--source', 'key_distributions']);
  bodies[at('list')] = { data: { name: 'a', purpose: ['decrypt', 'encrypt'] } };
  await place.pull(['--source', 'key_distributions']);
  expect(await place.rows('select key_name, purpose from key_distributions_history order by 1')).toEqual([
    { key_name: 'list', purpose: ['decrypt', 'encrypt'] },
    { key_name: 'none', purpose: null },
    { key_name: 'text', purpose: ['decrypt', 'encrypt'] },
  ]);
});

test('the nodes that an external volume is attached to have no order', async () => {
  const list = (...nodes: readonly string[]) => ({ Volumes: [{ ExternalID: 'e', PublishedExternalNodeIDs: nodes }] });
  const bodies: Record<string, unknown> = {
    '/v1/volumes': [{ ID: 'v', PluginID: 'ab' }],
    '/v1/volumes/external': list('b', 'a'),
  };
  const place = await answering(bodies);
  await place.pull(['--source', 'external_volumes']);
  bodies['/v1/volumes/external'] = list('a', 'b');
  await place.pull(['--source', 'external_volumes']);
  expect(await place.rows('select published_node_ids as nodes from external_volumes_history')).toEqual([
    { nodes: ['a', 'b'] },
  ]);
});
