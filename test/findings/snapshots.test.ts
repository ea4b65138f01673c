import { beforeAll, describe, expect, test } from 'vitest';
import { createFindingsWarehouse, type FindingsWarehouse, type Rows } from '../helpers/findings-warehouse.ts';
import { external, listing, snapshot, volume } from '../helpers/storage-rows.ts';
import { cleanAtEnd } from '../helpers/temp.ts';

const atEnd = cleanAtEnd();
const NOW = '2026-11-20T02:15:00Z';
const NEXT = '2026-11-21T02:15:00Z';
const DAYS_7 = '2026-11-13T02:15:00Z';
const OVER_7 = '2026-11-13T02:14:59Z';
const DAYS_90 = '2026-08-22T02:15:00Z';
const OVER_90 = '2026-08-22T02:14:59Z';

test('a plugin that can no longer list, or is no longer queried, resolves nothing', async () => {
  const warehouse = await createFindingsWarehouse();
  const pull = async (at: string, plugins: Rows, held: Rows, snapshots: Rows, target = 'nomad') => {
    await warehouse.pull(at, target, 'volumes', { volumes: [volume('known', { plugin_id: 'zfs' })] });
    await warehouse.pull(at, target, 'external_volumes', {
      external_volumes: held,
      external_volume_listings: plugins,
    });
    await warehouse.pull(at, target, 'volume_snapshots', {
      volume_snapshots: snapshots,
      volume_snapshot_listings: plugins,
    });
    await warehouse.evaluate(at);
  };
  const efs = { plugin_id: 'efs', is_abnormal: true };
  const held = [external('a', { is_abnormal: true }), external('b', efs), external('gone', { is_abnormal: true })];
  const snapshots = [
    snapshot('s1', 'a', OVER_90),
    snapshot('s2', 'b', OVER_90, { plugin_id: 'efs' }),
    snapshot('s3', 'a', OVER_90),
  ];
  await pull(NOW, [listing('efs', true)], held.slice(1, 2), snapshots.slice(1, 2), 'other');
  await pull(NOW, [listing('ebs', true), listing('efs', true)], held, snapshots);

  await pull(NEXT, [listing('ebs', false)], [], []);
  for (const rule of ['orphaned-external-volume', 'abnormal-external-volume', 'stale-snapshot']) {
    const rows = await warehouse.findings(rule, 'nomad');
    const states = rows.map(({ state, unassessed_since }) => [state, unassessed_since]);
    expect(states, rule).toEqual(Array(3).fill(['open', NEXT]));
  }

  const later = '2026-11-22T02:15:00Z';
  await pull(later, [listing('efs', true)], [], [], 'other');
  await pull(later, [listing('ebs', true), listing('efs', false)], held.slice(0, 1), snapshots.slice(0, 1));
  for (const rule of ['orphaned-external-volume', 'abnormal-external-volume', 'stale-snapshot']) {
    expect(await warehouse.findings(rule, 'other')).toMatchObject([{ state: 'resolved' }]);
    expect(
      (await warehouse.findings(rule, 'nomad')).map(({ state, unassessed_since }) => [state, unassessed_since]),
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
    warehouse = await createFindingsWarehouse({ cleanup: atEnd });
    await warehouse.pull(NOW, 'nomad', 'volumes', {
      volumes: [
        ...[
          'edge',
          'late',
          'never',
          'not-ready',
          'undated',
          'readiness-unreported',
          'old-and-undated-unready',
          'to-come',
        ].map((id) => volume(id)),
        volume('no-external-id', { external_id: null }),
        volume('cannot-list', { plugin_id: 'nfs' }),
        volume('covered', { plugin_id: 'zfs' }),
        volume('perhaps-covered', { plugin_id: 'zfs' }),
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
        snapshot('s-to-come', 'to-come', '9999-12-31T00:00:00Z'),
        snapshot('s-readiness', 'readiness-unreported', NOW, { is_ready: null }),
        snapshot('s-undated-unready', 'old-and-undated-unready', null, { is_ready: false }),
        snapshot('s-old-edge', 'edge', DAYS_90),
        snapshot('s-old', 'edge', OVER_90),
        snapshot('s-gone', 'nowhere', NOW),
        snapshot('s-unregistered', 'unregistered', NOW),
        snapshot('s-sourceless', null, NOW, { is_ready: false }),
        snapshot('s-sourceless-zfs', null, NOW, { plugin_id: 'zfs' }),
        snapshot('s-sourceless-old', null, OVER_7, { plugin_id: 'efs' }),
        snapshot('s-covered', 'covered', NOW, { plugin_id: 'zfs' }),
        snapshot('s-nfs', 'nowhere', NOW, { plugin_id: 'nfs' }),
        snapshot('s-nfs-old', 'nowhere', OVER_90, { plugin_id: 'nfs' }),
      ],
      volume_snapshot_listings: [
        listing('ebs', true),
        listing('efs', true),
        listing('nfs', false),
        listing('zfs', true),
      ],
    });
    await warehouse.pull(NOW, 'other', 'volumes', { volumes: [volume('nowhere')] });
    await warehouse.pull(NOW, 'other', 'external_volumes', { external_volume_listings: [listing('ebs', true)] });
    await warehouse.pull(NOW, 'other', 'volume_snapshots', {
      volume_snapshots: [snapshot('s-gone', 'nowhere', NOW)],
      volume_snapshot_listings: [listing('ebs', true)],
    });
    await warehouse.evaluate(NOW);
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
      unknown: [
        'default/cannot-list',
        'default/no-external-id',
        'default/perhaps-covered',
        'default/readiness-unreported',
        'default/to-come',
        'default/undated',
      ],
    });
    expect((await warehouse.findings('unprotected-volume')).slice(0, 2)).toMatchObject([
      {
        title: 'Volume default/volume late has had no ready snapshot since 2026-11-13',
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
    const said = `select subject_name, title from candidates where rule = 'stale-snapshot' and unknown`;
    expect(await warehouse.database.rows(said)).toEqual(
      expect.arrayContaining([
        { subject_name: 's-undated', title: 'its age is not reported' },
        { subject_name: 's-sourceless', title: 'whether its volume exists is not reported' },
      ]),
    );
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
