import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type FindingsWarehouse, findingsWarehouse, type Rows } from '../helpers/findings.ts';

const NOW = '2026-11-20T02:15:00Z';
const NEXT = '2026-11-21T02:15:00Z';
const DAYS_7 = '2026-11-13T02:15:00Z';
const OVER_7 = '2026-11-13T02:14:59Z';
const DAYS_90 = '2026-08-22T02:15:00Z';
const OVER_90 = '2026-08-22T02:14:59Z';

const volume = (id: string, fields: Rows[number] = {}): Rows[number] => ({
  volume_id: id,
  external_id: `ext-${id}`,
  namespace: 'default',
  name: `volume ${id}`,
  plugin_id: 'ebs',
  schedulable: true,
  current_readers: 0,
  current_writers: 0,
  ...fields,
});
const claim = (
  volumeId: string,
  allocation: string,
  status: string | null,
  fields: Rows[number] = {},
): Rows[number] => ({
  volume_id: volumeId,
  namespace: 'default',
  allocation_id: allocation,
  mode: 'write',
  node_id: `node-of-${allocation}`,
  job_id: 'job',
  client_status: status,
  ...fields,
});
const external = (id: string, fields: Rows[number] = {}): Rows[number] => ({
  plugin_id: 'ebs',
  external_id: `ext-${id}`,
  is_abnormal: false,
  ...fields,
});
const snapshot = (id: string, of: string | null, created: string | null, fields: Rows[number] = {}): Rows[number] => ({
  plugin_id: 'ebs',
  snapshot_id: id,
  external_source_volume_id: of === null ? null : `ext-${of}`,
  created_at: created,
  is_ready: true,
  ...fields,
});
const listing = (plugin: string, supported: boolean): Rows[number] => ({ plugin_id: plugin, supported });

test('volume-unschedulable: critical where something claims it, grouped by plugin', async () => {
  const warehouse = await findingsWarehouse();
  await warehouse.pull(NOW, 'nomad', 'volumes', {
    volumes: [
      volume('fine'),
      volume('idle', { schedulable: false, nodes_healthy: 0, nodes_expected: 3 }),
      volume('claimed', { schedulable: false, current_writers: 1 }),
      volume('untold', { schedulable: null }),
    ],
  });
  await warehouse.find(NOW);
  expect(await warehouse.seen('volume-unschedulable')).toEqual({
    found: ['default/claimed', 'default/idle'],
    unknown: ['default/untold'],
  });
  expect(await warehouse.findings('volume-unschedulable')).toMatchObject([
    { severity: 'critical', group_key: 'plugin ebs' },
    {
      severity: 'warning',
      title: 'Volume default/volume idle cannot be scheduled (plugin ebs: ?/? controllers and 0/3 nodes healthy)',
    },
  ]);
});

test('lost-volume-claim: claimed, and every claiming allocation has ended', async () => {
  const warehouse = await findingsWarehouse();
  await warehouse.pull(NOW, 'nomad', 'volumes', {
    volumes: ['lost', 'both', 'running', 'half', 'pending', 'forgotten', 'unclaimed', 'shared'].map((id) => volume(id)),
    volume_allocations: [
      claim('lost', 'a1', 'lost'),
      claim('both', 'a2', 'complete', { mode: 'read' }),
      claim('both', 'a2', 'complete'),
      claim('both', 'a3', 'failed', { node_id: 'node-of-a2' }),
      claim('running', 'a4', 'running'),
      claim('half', 'a5', 'failed'),
      claim('half', 'a6', 'running'),
      claim('pending', 'a7', 'pending'),
      claim('forgotten', 'a8', 'complete'),
      claim('forgotten', 'a9', null, { node_id: null }),
      claim('shared', 'b1', 'complete', { namespace: 'elsewhere' }),
    ],
  });
  await warehouse.pull(NOW, 'other', 'volumes', {
    volumes: [volume('lost', { namespace: null })],
    volume_allocations: [claim('lost', 'a1', 'running', { namespace: null })],
  });
  await warehouse.find(NOW);
  expect(await warehouse.seen('lost-volume-claim')).toEqual({
    found: ['default/both', 'default/lost'],
    unknown: ['default/forgotten'],
  });
  expect((await warehouse.findings('lost-volume-claim'))[0]).toMatchObject({
    title: 'Volume default/volume both is claimed by 2 ended allocations only',
    detail: {
      volume_id: 'both',
      namespace: 'default',
      plugin_id: 'ebs',
      nodes: ['node-of-a2'],
      allocations: ['a2', 'a3'],
    },
  });
});

describe('volumes and what their provider holds', () => {
  let warehouse: FindingsWarehouse;

  beforeAll(async () => {
    warehouse = await findingsWarehouse({ cleanup: afterAll });
    await warehouse.pull(NOW, 'nomad', 'volumes', {
      volumes: [
        volume('held'),
        volume('missing'),
        volume('missing-claimed'),
        volume('missing-written', { current_writers: 1 }),
        volume('no-external-id', { external_id: null }),
        volume('cannot-list', { plugin_id: 'nfs' }),
        volume('not-asked', { plugin_id: 'zfs' }),
        volume('same-id-elsewhere', { external_id: 'ext-elsewhere' }),
      ],
      volume_allocations: [claim('missing-claimed', 'a1', 'running')],
    });
    await warehouse.pull(NOW, 'nomad', 'external_volumes', {
      external_volumes: [
        external('held'),
        external('orphan', { capacity_bytes: 1024, published_node_ids: ['i-1'] }),
        external('abnormal', { is_abnormal: true, status: 'degraded' }),
        external('untold', { is_abnormal: null }),
        external('elsewhere', { plugin_id: 'efs' }),
      ],
      external_volume_listings: [listing('ebs', true), listing('nfs', false), listing('efs', true)],
    });
    await warehouse.pull(NOW, 'other', 'volumes', { volumes: [volume('orphan'), volume('missing')] });
    await warehouse.pull(NOW, 'other', 'external_volumes', {
      external_volumes: [external('orphan'), external('missing')],
      external_volume_listings: [listing('ebs', true)],
    });
    await warehouse.find(NOW);
  });

  test('missing-external-volume: registered, listed by its plugin as not there, and unclaimed', async () => {
    expect(await warehouse.seen('missing-external-volume')).toEqual({
      found: ['default/missing', 'default/same-id-elsewhere'],
      unknown: ['default/cannot-list', 'default/no-external-id', 'default/not-asked'],
    });
    expect(await warehouse.findings('missing-external-volume', 'other')).toEqual([]);
    expect((await warehouse.findings('missing-external-volume'))[0]?.detail).toEqual({
      volume_id: 'missing',
      namespace: 'default',
      plugin_id: 'ebs',
      external_id: 'ext-missing',
    });
  });

  test('orphaned-external-volume: in the provider, not registered', async () => {
    const rows = await warehouse.findings('orphaned-external-volume');
    expect(rows.map(({ target, subject_id }) => `${target} ${subject_id}`)).toEqual([
      'nomad ebs/ext-abnormal',
      'nomad ebs/ext-orphan',
      'nomad ebs/ext-untold',
      'nomad efs/ext-elsewhere',
    ]);
    expect(rows[1]?.detail).toMatchObject({
      plugin_id: 'ebs',
      external_id: 'ext-orphan',
      capacity_bytes: 1024,
      published_node_ids: ['i-1'],
    });
  });

  test('abnormal-external-volume: the provider reports trouble', async () => {
    expect((await warehouse.seen('abnormal-external-volume')).found).toEqual(['ebs/ext-abnormal']);
    expect((await warehouse.seen('abnormal-external-volume')).unknown).toContain('ebs/ext-untold');
    expect((await warehouse.findings('abnormal-external-volume'))[0]?.title).toBe(
      'Plugin ebs reports trouble with volume ext-abnormal: degraded',
    );
  });
});

test('a plugin that cannot list any more, or is not asked any more, resolves nothing', async () => {
  const warehouse = await findingsWarehouse();
  const pull = async (at: string, plugins: Rows, held: Rows, snapshots: Rows) => {
    await warehouse.pull(at, 'nomad', 'volumes', { volumes: [volume('known', { plugin_id: 'zfs' })] });
    await warehouse.pull(at, 'nomad', 'external_volumes', {
      external_volumes: held,
      external_volume_listings: plugins,
    });
    await warehouse.pull(at, 'nomad', 'volume_snapshots', {
      volume_snapshots: snapshots,
      volume_snapshot_listings: plugins,
    });
    await warehouse.find(at);
  };
  const efs = { plugin_id: 'efs', is_abnormal: true };
  const held = [external('a', { is_abnormal: true }), external('b', efs), external('gone', { is_abnormal: true })];
  const snapshots = [
    snapshot('s1', 'a', OVER_90),
    snapshot('s2', 'b', OVER_90, { plugin_id: 'efs' }),
    snapshot('s3', 'a', OVER_90),
  ];
  await pull(NOW, [listing('ebs', true), listing('efs', true)], held, snapshots);

  await pull(NEXT, [listing('ebs', false)], [], []);
  for (const rule of ['orphaned-external-volume', 'abnormal-external-volume', 'stale-snapshot']) {
    const states = (await warehouse.findings(rule)).map(({ state, unassessed_since }) => [state, unassessed_since]);
    expect(states, rule).toEqual(Array(3).fill(['open', NEXT]));
  }

  const later = '2026-11-22T02:15:00Z';
  await pull(later, [listing('ebs', true), listing('efs', false)], held.slice(0, 1), snapshots.slice(0, 1));
  for (const rule of ['orphaned-external-volume', 'abnormal-external-volume', 'stale-snapshot']) {
    expect(
      (await warehouse.findings(rule)).map(({ state, unassessed_since }) => [state, unassessed_since]),
      rule,
    ).toEqual([
      ['open', null],
      ['resolved', null],
      ['open', NEXT],
    ]);
  }
});

describe('snapshots', () => {
  let warehouse: FindingsWarehouse;

  beforeAll(async () => {
    warehouse = await findingsWarehouse({ cleanup: afterAll });
    await warehouse.pull(NOW, 'nomad', 'volumes', {
      volumes: [
        ...['edge', 'late', 'never', 'not-ready', 'undated', 'readiness-untold', 'old-and-undated-unready'].map((id) =>
          volume(id),
        ),
        volume('no-external-id', { external_id: null }),
        volume('cannot-list', { plugin_id: 'nfs' }),
        volume('other-plugin', { external_id: 'ext-edge', plugin_id: 'efs' }),
      ],
    });
    await warehouse.pull(NOW, 'nomad', 'external_volumes', {
      external_volumes: [external('unregistered')],
      external_volume_listings: [listing('ebs', true), listing('nfs', false)],
    });
    await warehouse.pull(NOW, 'nomad', 'volume_snapshots', {
      volume_snapshots: [
        snapshot('s-edge', 'edge', DAYS_7),
        snapshot('s-late', 'late', OVER_7),
        snapshot('s-not-ready', 'not-ready', NOW, { is_ready: false }),
        snapshot('s-undated', 'undated', null),
        snapshot('s-readiness', 'readiness-untold', NOW, { is_ready: null }),
        snapshot('s-undated-unready', 'old-and-undated-unready', null, { is_ready: false }),
        snapshot('s-old-edge', 'edge', DAYS_90),
        snapshot('s-old', 'edge', OVER_90),
        snapshot('s-gone', 'nowhere', NOW),
        snapshot('s-unregistered', 'unregistered', NOW),
        snapshot('s-sourceless', null, NOW),
        snapshot('s-nfs', 'nowhere', NOW, { plugin_id: 'nfs' }),
        snapshot('s-nfs-old', 'nowhere', OVER_90, { plugin_id: 'nfs' }),
      ],
      volume_snapshot_listings: [listing('ebs', true), listing('efs', true), listing('nfs', false)],
    });
    await warehouse.pull(NOW, 'other', 'volumes', { volumes: [volume('nowhere')] });
    await warehouse.pull(NOW, 'other', 'external_volumes', { external_volume_listings: [listing('ebs', true)] });
    await warehouse.pull(NOW, 'other', 'volume_snapshots', {
      volume_snapshots: [snapshot('s-gone', 'nowhere', NOW)],
      volume_snapshot_listings: [listing('ebs', true)],
    });
    await warehouse.find(NOW);
  });

  test('unprotected-volume: no ready snapshot within snapshotDays, where its plugin lists them', async () => {
    expect(await warehouse.seen('unprotected-volume')).toEqual({
      found: [
        'default/late',
        'default/never',
        'default/not-ready',
        'default/old-and-undated-unready',
        'default/other-plugin',
      ],
      unknown: ['default/cannot-list', 'default/no-external-id', 'default/readiness-untold', 'default/undated'],
    });
    expect((await warehouse.findings('unprotected-volume')).slice(0, 2)).toMatchObject([
      {
        title: 'Volume default/volume late was last snapshotted on 2026-11-13',
        detail: { last_snapshot_at: '2026-11-13T02:14:59.000Z' },
      },
      {
        title: 'Volume default/volume never has no ready snapshot',
        detail: { external_id: 'ext-never', last_snapshot_at: null },
      },
    ]);
  });

  test('stale-snapshot: older than staleSnapshotDays, or of a volume known to be gone', async () => {
    const { found, unknown } = await warehouse.seen('stale-snapshot');
    expect(found).toEqual(['ebs/s-gone', 'ebs/s-old', 'nfs/s-nfs-old']);
    expect(unknown).toEqual(expect.arrayContaining(['ebs/s-sourceless', 'ebs/s-undated', 'nfs/s-nfs']));
    expect(
      (await warehouse.findings('stale-snapshot')).map(({ target, detail }) => ({
        target,
        ...(detail as unknown as object),
      })),
    ).toMatchObject([
      { target: 'nomad', snapshot_id: 's-gone', reason: 'volume gone', external_id: 'ext-nowhere' },
      { target: 'nomad', snapshot_id: 's-old', reason: 'old' },
      { target: 'nomad', snapshot_id: 's-nfs-old', reason: 'old' },
    ]);
  });
});
