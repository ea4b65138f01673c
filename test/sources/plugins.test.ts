import { describe, expect, test } from 'vitest';
import { testProject } from '../helpers/test-project.ts';

const PROVIDER_SIZE = 1003;

/** A storage driver that honours `per_page` and never names a next page. */
function driverWithoutNextPage(flavor: 'spec' | 'hashicorp') {
  return testProject({
    workspaces: 2,
    flavor,
    faultHook: ({ path, query }) => {
      if (path !== '/v1/volumes/external') return undefined;
      const size = Number(query.get('per_page') ?? PROVIDER_SIZE);
      const Volumes = Array.from({ length: Math.min(PROVIDER_SIZE, size) }, (_, n) => ({ ExternalID: `vol-${n}` }));
      const own = ['beefcafe'].includes(query.get('plugin_id') ?? '');
      return json({ NextToken: '', Volumes: own ? Volumes : [] });
    },
  });
}

const json = (body: unknown) => ({
  status: 200,
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify(body),
});

test.each(['spec', 'hashicorp'] as const)(
  'all 1,003 volumes of a driver that names no next page are loaded: flavor %s',
  async (flavor) => {
    const project = await driverWithoutNextPage(flavor);
    await project.pull(['--source', 'external_volumes']);
    expect(await project.rows('select count(*)::int as n from external_volumes')).toEqual([{ n: PROVIDER_SIZE }]);
    const sizes = project.sandbox.log.flatMap(({ path }) => (path.startsWith('/v1/volumes/external') ? [path] : []));
    expect(sizes.length).toBeGreaterThan(0);
    if (flavor === 'hashicorp') expect(sizes.filter((path) => path.includes('per_page'))).toEqual([]);
  },
);

interface Estate {
  /** External volumes by plugin. */
  readonly held: Readonly<Record<string, readonly string[]>>;
  /** Registered volumes as `plugin/external ID`. */
  readonly registered: readonly string[];
  /** Plugins whose own listing fails. */
  failing?: readonly string[];
  /** Whether volumes are listed without a plugin. */
  listsAll?: boolean;
  /** Snapshots by plugin. */
  readonly snapshots?: Readonly<Record<string, readonly object[]>>;
  /** With `hashicorp`, a plugin ID is exact. */
  readonly flavor?: 'spec' | 'hashicorp';
}

/** A service that takes a plugin ID as a prefix, with these volumes and snapshots and no others. */
function prefixProject(estate: Estate) {
  const { held, registered, snapshots = {}, flavor = 'spec' } = estate;
  const isOf = (id: string, asked: string) => (flavor === 'spec' ? id.startsWith(asked) : id === asked);
  const volumes = registered.map((name) => {
    const [PluginID, ExternalID] = name.split('/');
    return { ID: `r-${PluginID}-${ExternalID}`, Namespace: 'default', PluginID, ExternalID };
  });
  return testProject({
    workspaces: 2,
    flavor,
    faultHook: ({ path, query, method }, service) => {
      if (method !== 'GET') return undefined;
      if (path === '/v1/plugins') return json([]);
      if (path === '/v1/volumes') return json(volumes);
      const volume = volumes.find(({ ID }) => path === `/v1/volume/csi/${ID}`);
      if (volume) return json({ ...volume, RequestedCapabilities: [{ AccessMode: 'a', AttachmentMode: 'b' }] });
      const prefix = query.get('plugin_id') ?? '';
      if (!['/v1/volumes/external', '/v1/volumes/snapshot'].includes(path)) return undefined;
      if (prefix === '' && estate.listsAll === false) return service.error(400, 'missing plugin ID');
      if (estate.failing?.includes(prefix)) return service.error(500, 'rpc error: the driver does not respond');
      if (path === '/v1/volumes/snapshot') {
        const Snapshots = Object.entries(snapshots).flatMap(([id, items]) => (isOf(id, prefix) ? items : []));
        return json({ NextToken: '', Snapshots });
      }
      const items = Object.entries(held).flatMap(([id, ids]) => (isOf(id, prefix) ? ids : []));
      return json({ NextToken: '', Volumes: items.map((ExternalID) => ({ ExternalID, IsAbnormal: false })) });
    },
  });
}

const ROWS = 'select plugin_id, external_id, is_ambiguous from external_volumes order by 2, 1';
const scheduler = ['--source', 'volumes', '--source', 'external_volumes', '--source', 'volume_snapshots'];

describe('where a plugin ID is a prefix', () => {
  test('a volume belongs to the plugin with the longest ID that lists it, or to none that a registered volume names', async () => {
    const project = await prefixProject({
      held: { ab: ['v1'], ab12: ['v2'], ef: ['v9'] },
      registered: ['ab/v1', 'ab12/v2'],
    });
    await project.pull(['--source', 'external_volumes']);
    expect(await project.rows(ROWS)).toEqual([
      { plugin_id: 'ab', external_id: 'v1', is_ambiguous: null },
      { plugin_id: 'ab12', external_id: 'v2', is_ambiguous: null },
      { plugin_id: null, external_id: 'v9', is_ambiguous: null },
    ]);
  });

  test('volumes of a plugin with a longer ID that cannot be listed are ambiguous, and the others are loaded', async () => {
    const project = await prefixProject({
      held: { ab: ['v1'], ab12: ['v2'], cd: ['v3'] },
      registered: ['ab/v1', 'ab12/v2', 'cd/v3'],
      failing: ['ab12'],
    });
    await project.pull(['--source', 'external_volumes'], 1);
    expect(await project.rows(ROWS)).toEqual([
      { plugin_id: 'ab', external_id: 'v1', is_ambiguous: true },
      { plugin_id: 'ab', external_id: 'v2', is_ambiguous: true },
      { plugin_id: 'cd', external_id: 'v3', is_ambiguous: null },
    ]);
    expect(await project.rows("select note from pulls where source = 'external_volumes'")).toEqual([
      { note: 'plugin ab12 is unknown: rpc error: the driver does not respond' },
    ]);
  });

  test('where a plugin ID is exact, no volume is ambiguous', async () => {
    const project = await prefixProject({
      held: { ab: ['v1'] },
      registered: ['ab/v1', 'ab12/v2'],
      failing: ['ab12'],
      flavor: 'hashicorp',
    });
    await project.pull(['--source', 'external_volumes'], 1);
    expect(await project.rows(ROWS)).toEqual([{ plugin_id: 'ab', external_id: 'v1', is_ambiguous: null }]);
  });

  test('a snapshot that names no plugin is ambiguous while one with a longer ID cannot be listed, else of the longest ID', async () => {
    const estate: Estate = {
      held: {},
      registered: ['ab/v1', 'ab12/v2', 'cd/v3'],
      snapshots: {
        ab: [{ ID: 's1' }, { ID: 's2', PluginID: 'ab' }],
        ab12: [{ ID: 's3', PluginID: '' }],
        cd: [{ ID: 's4' }],
      },
      failing: ['ab12'],
    };
    const project = await prefixProject(estate);
    const read = () => project.rows('select plugin_id, snapshot_id, is_ambiguous from volume_snapshots order by 2');
    await project.pull(['--source', 'volume_snapshots'], 1);
    const known = [
      { plugin_id: 'ab', snapshot_id: 's2', is_ambiguous: null },
      { plugin_id: 'cd', snapshot_id: 's4', is_ambiguous: null },
    ];
    const [s1, s3] = ['s1', 's3'].map((snapshot_id) => ({ plugin_id: 'ab', snapshot_id, is_ambiguous: true }));
    expect(await read()).toEqual([s1, known[0], s3, known[1]]);
    estate.failing = [];
    project.sandbox.tick();
    await project.pull(['--source', 'volume_snapshots']);
    expect(await read()).toEqual([
      { ...s1, is_ambiguous: null },
      known[0],
      { ...s3, plugin_id: 'ab12', is_ambiguous: null },
      known[1],
    ]);
  });

  test('the volume of a snapshot is what the provider calls it, and not its ID in the service', async () => {
    const project = await prefixProject({
      held: { ab: ['v1'] },
      registered: ['ab/v1'],
      snapshots: { ab: [{ ID: 's1', SourceVolumeID: 'r-ab-v1' }] },
    });
    await project.pull(['--source', 'volume_snapshots']);
    expect(await project.rows('select external_source_volume_id from volume_snapshots')).toEqual([
      { external_source_volume_id: null },
    ]);
  });

  test('a service that does not list without a plugin is no failure, and the pull has a note', async () => {
    const project = await prefixProject({ held: { ab: ['v1'] }, registered: ['ab/v1'], listsAll: false });
    await project.pull(['--source', 'external_volumes']);
    expect(await project.rows("select status, note from pulls where source = 'external_volumes'")).toEqual([
      { status: 'complete', note: 'plugins that no registered volume names are unknown: missing plugin ID' },
    ]);
  });

  test('a service that no longer lists without a plugin leaves what it had listed', async () => {
    const estate: Estate = { held: { ab: ['v1'], ef: ['v9'] }, registered: ['ab/v1'] };
    const project = await prefixProject(estate);
    await project.pull(['--source', 'external_volumes']);
    estate.listsAll = false;
    project.sandbox.tick();
    await project.pull(['--source', 'external_volumes'], 1);
    expect((await project.rows(ROWS)).map(({ external_id }) => external_id)).toEqual(['v1', 'v9']);
  });
});

test('what is deleted between two pages of a plugin hides nothing else; a plugin whose items never rest is unknown', async () => {
  const held: Record<string, string[]> = { ab: ['v1', 'v2', 'v3', 'v4', 'v5'], cd: ['w1', 'w2', 'w3'] };
  const project = await testProject({
    workspaces: 2,
    flavor: 'hashicorp',
    faultHook: ({ path, query }) => {
      if (path === '/v1/volumes') return json([]);
      if (path === '/v1/plugins') return json(Object.keys(held).map((ID) => ({ ID, ControllersHealthy: 1 })));
      if (path !== '/v1/volumes/external') return undefined;
      const id = query.get('plugin_id') ?? '';
      const items = held[id] ?? [];
      const first = Number(query.get('next_token') ?? 0);
      const next = first + 2 < items.length ? String(first + 2) : '';
      const Volumes = items.slice(first, first + 2).map((ExternalID) => ({ ExternalID }));
      if (first === 0 && (id === 'cd' || items.length === 5)) items.push(`${items.shift()}+`);
      if (id === 'ab' && items.length === 5) items.pop();
      return json({ NextToken: next, Volumes });
    },
  });
  await project.pull(['--source', 'external_volumes'], 1);
  expect(await project.rows('select external_id as id from external_volumes order by 1')).toEqual(
    ['v2', 'v3', 'v4', 'v5'].map((id) => ({ id })),
  );
  expect(await project.rows("select note from pulls where source = 'external_volumes'")).toEqual([
    { note: 'plugin cd is unknown: its items changed while they were listed, 3 times in a row' },
  ]);
});

test('one plugin with a name that is not hexadecimal does not fail the others at a service that obeys the rule', async () => {
  const project = await testProject({ workspaces: 2 });
  await project.pull(scheduler);
  const listings = "select plugin_id, supported from external_volume_listings where plugin_id <> '*' order by 1";
  expect(await project.rows(listings)).toEqual([
    { plugin_id: 'beefcafe', supported: true },
    { plugin_id: 'ce9400', supported: true },
    { plugin_id: 'eb50', supported: true },
    { plugin_id: 'legacy-nfs', supported: false },
  ]);
  expect(await project.rows("select note from pulls where source = 'volume_snapshots'")).toEqual([
    { note: 'plugin legacy-nfs is unknown: plugin_id must have an even number of hexadecimal characters' },
  ]);
});

test('the volumes of a plugin that cannot be listed stay as they are, and those of the others are loaded', async () => {
  const failing: string[] = [];
  const held = { ab: ['v1', 'v2', 'v3', 'v4', 'v5'], cd: ['w1'] };
  const project = await prefixProject({ held, registered: ['ab/v1', 'cd/w1'], failing, listsAll: false });
  await project.pull(['--source', 'external_volumes']);
  failing.push('ab');
  held.cd.push('w2');
  const { stdout } = await project.pull(['--source', 'external_volumes'], 1);
  expect(JSON.parse(stdout)).toMatchObject({
    status: 'incomplete',
    pulls: [{ status: 'partial', rows: 7, inserted: 1, changed: 0, deleted: 0 }],
  });
  expect((await project.rows(ROWS)).map(({ external_id }) => external_id)).toEqual([...held.ab, 'w1', 'w2']);
  expect(await project.rows('select count(*)::int as versions from external_volumes_history')).toEqual([
    { versions: 7 },
  ]);
  failing.pop();
  await project.pull(['--source', 'external_volumes']);
  held.ab = [];
  expect((await project.pull(['--source', 'external_volumes'], 1)).stdout).toContain('quarantined'); // a plugin that lists nothing any more is another matter
});

test('a volume that another plugin lists is not new while the plugin that has it cannot be listed', async () => {
  const failing: string[] = [];
  const held = { ab: ['v1'], ab12: ['v2'] };
  const project = await prefixProject({ held, registered: ['ab/v1', 'ab12/v2'], failing });
  await project.pull(['--source', 'external_volumes']);
  failing.push('ab12');
  const { stdout } = await project.pull(['--source', 'external_volumes'], 1);
  expect(JSON.parse(stdout).pulls).toMatchObject([{ status: 'partial', rows: 2, inserted: 0, deleted: 0 }]);
  expect((await project.rows(ROWS)).map(({ plugin_id }) => plugin_id)).toEqual(['ab', 'ab12']);
});

test('if no plugin can be listed, the source fails', async () => {
  const project = await prefixProject({ held: {}, registered: ['ab/v1', 'cd/v2'], failing: ['ab', 'cd'] });
  const { stdout } = await project.pull(['--source', 'external_volumes'], 3);
  expect(stdout).toContain('the driver does not respond');
});

test('a namespace whose volumes may not be read is unknown, and the others are loaded', async () => {
  const denied: string[] = [];
  let refusals = 0;
  const project = await testProject({
    workspaces: 2,
    faultHook: ({ path, query }, service) => {
      if (!path.startsWith('/v1/volume/csi/') || !denied.includes(query.get('namespace') ?? 'default'))
        return undefined;
      refusals++;
      return service.error(403, 'Permission denied');
    },
  });
  await project.pull(['--source', 'volumes']);
  const before = await project.rows('select * from volumes_history order by all');
  const [counts] = await project.rows(
    "select count(*)::int as n, count(*) filter (namespace = 'prod')::int as prod from volumes",
  );
  denied.push('prod');
  for (const [, volume] of project.sandbox.services.scheduler.state.volumes) volume.nodesExpected += 1;
  const { stdout } = await project.pull(['--source', 'volumes'], 1);
  expect(JSON.parse(stdout).pulls).toMatchObject([{ status: 'partial', rows: counts?.n }]);
  expect(stdout).toMatch(/namespace prod is unknown: volume \S+ in namespace prod: Permission denied/);
  expect(refusals).toBeLessThan(20);
  const prod = await project.rows("select * from volumes_history where namespace = 'prod' order by all");
  expect(prod).toEqual(before.filter(({ namespace }) => namespace === 'prod'));
  expect(await project.rows('select part, value, source from unknown_parts')).toEqual([
    { part: 'namespace', value: 'prod', source: 'volumes' },
  ]);
  const { stdout: checks } = await project.tidemark(['doctor', '--json']);
  expect(checks).toContain('partial: namespace prod is unknown: Permission denied');
});

test('a token that may read no volume at all fails the source', async () => {
  const project = await testProject({
    workspaces: 2,
    faultHook: ({ path }, service) =>
      path.startsWith('/v1/volume/csi/') ? service.error(403, 'Permission denied') : undefined,
  });
  const { stdout } = await project.pull(['--source', 'volumes'], 3);
  expect(stdout).toContain(': Permission denied');
  expect(await project.rows("select status from pulls where source = 'volumes'")).toEqual([{ status: 'failed' }]);
});

test('an empty node ID is no node', async () => {
  const project = await testProject({
    workspaces: 2,
    faultHook: ({ path, query }) =>
      path === '/v1/volumes/external' && query.get('plugin_id') === 'beefcafe'
        ? json({
            NextToken: '',
            Volumes: [
              { ExternalID: 'v1', PublishedExternalNodeIDs: [''] },
              { ExternalID: 'v2', PublishedExternalNodeIDs: ['', 'node-1'] },
              { ExternalID: 'v3', PublishedExternalNodeIDs: null },
            ],
          })
        : undefined,
  });
  await project.pull(['--source', 'external_volumes']);
  const rows = await project.rows(
    "select external_id, published_node_ids as nodes from external_volumes where plugin_id = 'beefcafe' order by 1",
  );
  expect(rows).toEqual([
    { external_id: 'v1', nodes: [] },
    { external_id: 'v2', nodes: ['node-1'] },
    { external_id: 'v3', nodes: null },
  ]);
});

test('a size of 0, which CSI drivers report for one that they do not know, is unknown', async () => {
  const project = await testProject({
    workspaces: 2,
    flavor: 'hashicorp',
    faultHook: ({ path, query, method }) => {
      if (method !== 'GET') return undefined;
      const isOwn = query.get('plugin_id') === 'beefcafe';
      if (path === '/v1/volumes/external' && isOwn)
        return json({ NextToken: '', Volumes: [{ ExternalID: 'v1', CapacityBytes: 0 }] });
      if (path === '/v1/volumes/snapshot' && isOwn)
        return json({ NextToken: '', Snapshots: [{ ID: 's1', PluginID: 'beefcafe', SizeBytes: 0 }] });
      return undefined;
    },
  });
  await project.pull(['--source', 'external_volumes', '--source', 'volume_snapshots']);
  const size = (table: string, column: string) =>
    project.rows(`select ${column} as size from ${table} where plugin_id = 'beefcafe'`);
  expect(await size('external_volumes', 'capacity_bytes')).toEqual([{ size: null }]);
  expect(await size('volume_snapshots', 'size_bytes')).toEqual([{ size: null }]);
});

test.each([400, 405, 501])('a server without a list of plugins (%i) is read without it', async (status) => {
  const project = await testProject({
    workspaces: 2,
    flavor: 'hashicorp',
    faultHook: ({ path }) => (path === '/v1/plugins' ? { status, body: 'no such endpoint' } : undefined),
  });
  const { stdout } = await project.pull(scheduler, 1); // that a plugin cannot list is not known then
  const pulls: { source: string; status: string }[] = JSON.parse(stdout).pulls;
  expect(pulls.map(({ source, status: state }) => `${source} ${state}`).sort()).toEqual([
    'external_volumes partial',
    'volume_snapshots partial',
    'volumes complete',
  ]);
  expect(
    await project.rows("select source, note from pulls where note like '%no registered volume%' order by 1"),
  ).toEqual(
    ['external_volumes', 'volume_snapshots'].map((source) => ({
      source,
      note: expect.stringMatching(/plugins that no registered volume names are unknown: .*no such endpoint/u),
    })),
  );
});

test('a list of plugins that fails fails no volumes: all are read', async () => {
  let isFailing = false;
  const project = await testProject({
    workspaces: 2,
    flavor: 'hashicorp',
    faultHook: ({ path }) =>
      isFailing && path === '/v1/plugins' ? { status: 500, body: 'Internal error' } : undefined,
  });
  await project.pull(['--source', 'volumes']);
  isFailing = true;
  project.sandbox.log.length = 0;
  const { stdout } = await project.pull(['--source', 'volumes']);
  expect(JSON.parse(stdout).pulls).toMatchObject([{ status: 'complete', changed: 0, deleted: 0 }]);
  const [count] = await project.rows('select count(*)::int as volumes from volumes');
  const isRead = ({ path }: { readonly path: string }) => path.startsWith('/v1/volume/csi/');
  expect(project.sandbox.log.filter(isRead)).toHaveLength(Number(count?.volumes));
  expect((await project.pull(['--source', 'external_volumes'], 3)).stdout).toContain('Internal error');
});
