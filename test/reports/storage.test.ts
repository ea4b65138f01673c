import { describe, expect, it } from 'vitest';
import { createReportWarehouse, type PulledTables } from '../helpers/report-warehouse.ts';

const AS_OF = '2026-11-20T02:15:00Z';
const GIB = 1024 ** 3;

const volume = (id: string, more: object = {}) => ({
  volume_id: id,
  namespace: 'default',
  name: id,
  external_id: `ext-${id}`,
  plugin_id: 'csi',
  schedulable: true,
  current_readers: 0,
  current_writers: 0,
  controllers_healthy: 1,
  controllers_expected: 1,
  nodes_healthy: 2,
  nodes_expected: 2,
  ...more,
});
const external = (id: string, more: object = {}) => ({
  plugin_id: 'csi',
  external_id: `ext-${id}`,
  capacity_bytes: GIB,
  is_abnormal: false,
  ...more,
});
const snapshot = (id: string, volumeId: string, created_at: string | null, more: object = {}) => ({
  plugin_id: 'csi',
  snapshot_id: id,
  external_source_volume_id: `ext-${volumeId}`,
  size_bytes: 1000,
  created_at,
  is_ready: true,
  ...more,
});
const claim = (id: string, allocation: string, client_status: string | null) => ({
  volume_id: id,
  namespace: 'default',
  allocation_id: allocation,
  mode: 'write',
  node_id: `node-${allocation}`,
  job_id: 'job',
  client_status,
});
const listing = { plugin_id: 'csi', supported: true };
const pick = (rows: unknown, field = 'volume') => (rows as Record<string, unknown>[]).map((row) => row[field]);

const pull = async (tables: PulledTables) => {
  const warehouse = await createReportWarehouse();
  await warehouse.pull(AS_OF, { external_volume_listings: [listing], volume_snapshot_listings: [listing], ...tables });
  return warehouse.data('storage', AS_OF);
};

describe('the storage report', () => {
  it('knows of a snapshot whose plugin, time or readiness is not known neither that it protects nor that it is stale', async () => {
    const OLD = '2020-01-01T00:00:00Z';
    const data = await pull({
      volumes: [volume('ambiguous'), volume('untimed'), volume('unready'), volume('certain')],
      external_volumes: [external('longer', { plugin_id: 'csi-2' })],
      volume_snapshots: [
        snapshot('a', 'ambiguous', AS_OF, { is_ambiguous: true }),
        snapshot('b', 'untimed', null),
        snapshot('c', 'unready', AS_OF, { is_ready: null }),
        snapshot('d', 'certain', AS_OF),
        snapshot('old', 'certain', OLD, { is_ambiguous: true }),
        snapshot('of-longer', 'longer', AS_OF),
      ],
    });
    expect(data.protection).toMatchObject([{ volumes: 4, unprotected: 0, unknown: 3 }]);
    expect([data.unprotected, data.stale_snapshots]).toEqual([[], []]);
    expect(data.summary).toMatchObject({
      unprotected: 0,
      protection_unknown: 3,
      stale_snapshots: 0,
      age_unknown: 1,
      stale_unknown: 2,
    });
  });

  it('is not clean where a snapshot names no volume, or one of a plugin that does not list its volumes', async () => {
    const nfs = { plugin_id: 'nfs' };
    const data = await pull({
      volumes: [volume('a'), volume('b', nfs)],
      external_volumes: [external('a')],
      volume_snapshot_listings: [listing, { ...listing, ...nfs }],
      external_volume_listings: [listing, { supported: false, ...nfs }],
      volume_snapshots: [
        snapshot('sourceless', 'a', AS_OF, { external_source_volume_id: null }),
        snapshot('elsewhere', 'x', AS_OF, nfs),
        snapshot('certain', 'b', AS_OF, nfs),
      ],
    });
    expect(data.summary).toMatchObject({ stale_snapshots: 0, age_unknown: 0, stale_unknown: 2 });
  });

  it('has no number of what no plugin can list', async () => {
    const mute = [{ plugin_id: 'csi', supported: false }];
    const lists = { external_volume_listings: mute, volume_snapshot_listings: mute };
    const { summary } = await pull({ volumes: [volume('a')], external_volumes: [], volume_snapshots: [], ...lists });
    const unknown =
      'external_volumes capacity_bytes abnormal orphaned missing unprotected snapshots snapshot_bytes stale_snapshots';
    for (const name of unknown.split(' ')) expect(summary, name).toMatchObject({ [name]: null });
    expect(summary).toMatchObject({ volumes: 1, protection_unknown: 1 });
  });

  it('counts volumes of which the service does not report what decides', async () => {
    const data = await pull({
      volumes: [
        volume('untold', { schedulable: null }),
        volume('claimed', { current_readers: 1 }),
        volume('may-have-ended'),
        volume('runs'),
      ],
      external_volumes: [external('untold', { is_abnormal: null }), external('runs')],
      volume_allocations: [claim('may-have-ended', 'a', null), claim('runs', 'b', null), claim('runs', 'c', 'running')],
    });
    expect(data.summary).toMatchObject({ unschedulable: 0, lost_claims: 0, not_reported: 3 });
    expect(data.summary).toMatchObject({ abnormal: 0, abnormal_unknown: 1 });
  });

  it('distinguishes volumes that cannot be scheduled from unhealthy ones', async () => {
    const data = await pull({
      volumes: [
        volume('ok'),
        volume('off', { schedulable: false }),
        volume('weak', { nodes_healthy: 1 }),
        volume('untold', { schedulable: null }),
      ],
    });
    expect(data.summary).toMatchObject({ volumes: 4, unschedulable: 1, unhealthy: 1 });
    expect(pick(data.unschedulable)).toEqual(['default/off', 'default/weak']);
  });

  it('counts a claim as lost only if every claiming allocation has finished', async () => {
    const data = await pull({
      volumes: ['dead', 'half', 'untold', 'partly', 'free'].map((id) => volume(id)),
      volume_allocations: [
        claim('dead', 'a', 'complete'),
        claim('dead', 'b', 'lost'),
        claim('half', 'c', 'failed'),
        claim('half', 'd', 'running'),
        claim('untold', 'e', null),
        claim('partly', 'f', 'lost'),
        claim('partly', 'g', null),
      ],
    });
    expect(data.summary).toMatchObject({ lost_claims: 1 });
    expect(data.lost_claims).toMatchObject([{ volume: 'default/dead', allocations: 2, nodes: ['node-a', 'node-b'] }]);
  });

  it('counts as missing what is not in the provider and unclaimed, and as orphaned what is not registered', async () => {
    const data = await pull({
      volumes: [
        volume('there'),
        volume('missing'),
        volume('missing-uncounted', { current_readers: null }),
        volume('in-use', { current_writers: 1 }),
        volume('elsewhere', { plugin_id: 'mute' }),
      ],
      external_volumes: [
        external('there'),
        external('orphan', { capacity_bytes: 5 * GIB, is_abnormal: true, status: 'degraded' }),
      ],
      external_volume_listings: [listing, { plugin_id: 'mute', supported: false }],
    });
    expect(data.summary).toMatchObject({
      missing: 1,
      not_reported: 2, // `in-use` as well, whose claims are not listed
      orphaned: 1,
      orphaned_bytes: 5 * GIB,
      capacity_bytes: 6 * GIB,
      abnormal: 1,
    });
    expect(pick(data.missing)).toEqual(['default/missing']);
    expect(data.orphaned).toMatchObject([{ external_id: 'ext-orphan' }]);
    expect(data.abnormal).toMatchObject([{ external_id: 'ext-orphan', provider_says: 'degraded' }]);
    expect(data.plugins).toMatchObject([
      { plugin_id: 'csi', volumes: 4, external_volumes: 2, lists_volumes: true },
      { plugin_id: 'mute', volumes: 1, external_volumes: null, lists_volumes: false },
    ]);
  });

  it('does not count as orphaned what a registered volume may be that does not report its external volume', async () => {
    const data = await pull({
      volumes: [volume('unreported', { external_id: null })],
      external_volumes: [external('its-own'), external('orphan', { plugin_id: 'other' })],
      external_volume_listings: [listing, { plugin_id: 'other', supported: true }],
    });
    expect(data.summary).toMatchObject({ orphaned: 1, protection_unknown: 1 });
    expect(data.orphaned).toMatchObject([{ external_id: 'ext-orphan' }]);
  });

  it('counts a ready snapshot within snapshotDays as protection; unknown if the plugin cannot list', async () => {
    const data = await pull({
      volumes: [
        volume('edge'),
        volume('late'),
        volume('unready'),
        volume('never'),
        volume('mute', { plugin_id: 'mute' }),
      ],
      volume_snapshots: [
        snapshot('s1', 'edge', '2026-11-13T02:15:00Z'),
        snapshot('s2', 'late', '2026-11-13T02:14:59Z'),
        snapshot('s3', 'unready', '2026-11-19T00:00:00Z', { is_ready: false }),
      ],
    });
    expect(data.summary).toMatchObject({ unprotected: 3, protection_unknown: 1, snapshots: 3, snapshot_bytes: 3000 });
    expect(pick(data.unprotected)).toEqual(['default/never', 'default/unready', 'default/late']);
  });

  it('does not know a size that no volume or snapshot reports', async () => {
    const data = await pull({
      volumes: [volume('a')],
      external_volumes: [external('orphan', { capacity_bytes: null })],
      volume_snapshots: [snapshot('old', 'gone', '2026-08-01T00:00:00Z', { size_bytes: null })],
    });
    const sizes = { capacity_bytes: null, snapshot_bytes: null };
    expect(data.summary).toMatchObject({ ...sizes, orphaned: 1, orphaned_bytes: null, stale_snapshot_bytes: null });
    expect(data.plugins).toMatchObject([{ external_volumes: 1, snapshots: 1, ...sizes }]);
  });

  it('counts a snapshot as stale that is too old, or whose volume no longer exists', async () => {
    const data = await pull({
      volumes: [volume('a')],
      external_volumes: [external('b')],
      volume_snapshots: [
        snapshot('young', 'a', '2026-11-19T00:00:00Z'),
        snapshot('of-external', 'b', '2026-11-19T00:00:00Z'),
        snapshot('old', 'a', '2026-08-01T00:00:00Z'),
        snapshot('of-gone', 'c', '2026-11-19T00:00:00Z'),
        snapshot('mute', 'c', '2026-11-19T00:00:00Z', { plugin_id: 'mute' }),
        snapshot('untold', 'a', null),
      ],
    });
    expect(data.summary).toMatchObject({ stale_snapshots: 2, stale_snapshot_bytes: 2000 });
    expect(pick(data.stale_snapshots, 'snapshot_id')).toEqual(['old', 'of-gone']);
    expect(pick(data.stale_snapshots, 'reason')).toEqual(['old', 'its volume no longer exists']);
  });

  it('distinguishes volumes of two namespaces with the same ID', async () => {
    const data = await pull({
      volumes: [volume('a'), volume('a', { namespace: 'other', external_id: 'ext-other' })],
      volume_allocations: [claim('a', 'x', 'complete')],
    });
    expect(pick(data.lost_claims)).toEqual(['default/a']);
  });
});

describe('where a source never completed', () => {
  it('no volume is orphaned, missing or unprotected: the numbers are unknown', async () => {
    const warehouse = await createReportWarehouse();
    await warehouse.pull(AS_OF, {
      external_volumes: [external('a'), external('b')],
      external_volume_listings: [listing],
      volume_snapshots: [snapshot('s', 'gone', AS_OF)],
      volume_snapshot_listings: [listing],
    });
    const { summary, orphaned, plugins, stale_snapshots } = await warehouse.data('storage', AS_OF, [
      'orphaned',
      'plugins',
      'stale_snapshots',
    ]);
    expect(summary).toMatchObject({ external_volumes: 2, orphaned: null, missing: null, unprotected: null });
    expect((summary as { headline: string }).headline).toContain(
      '? unprotected, ? missing in the provider, ? in the provider and not registered',
    );
    expect(orphaned).toEqual([]);
    expect(plugins).toMatchObject([{ plugin_id: 'csi', volumes: null, external_volumes: 2 }]);
    expect(stale_snapshots).toEqual([]);
  });

  it('so they are where the rule is recorded as unassessed', async () => {
    const warehouse = await createReportWarehouse();
    await warehouse.pull(AS_OF, {
      volumes: [volume('a')],
      external_volumes: [external('b')],
      external_volume_listings: [listing],
    });
    expect((await warehouse.data('storage', AS_OF, [])).summary).toMatchObject({ orphaned: 1, missing: 1 });
    await warehouse.database.run(
      `insert into unassessed_rules by name
       select target, 'orphaned-external-volume' as rule, 'warning' as severity, 'why' as reason, $at::timestamptz as since
       from (select distinct target from volumes)`,
      { at: AS_OF },
    );
    expect((await warehouse.data('storage', AS_OF, [])).summary).toMatchObject({ orphaned: null, missing: 1 });
  });
});
