import { beforeAll, describe, expect, test } from 'vitest';
import { createFindingsWarehouse, type FindingsWarehouse } from '../helpers/findings-warehouse.ts';
import { claim, external, listing, volume } from '../helpers/storage-rows.ts';
import { cleanAtEnd } from '../helpers/temp.ts';

const atEnd = cleanAtEnd();
const NOW = '2026-11-20T02:15:00Z';

test('volume-unschedulable: critical where something claims it, grouped by plugin', async () => {
  const warehouse = await createFindingsWarehouse();
  await warehouse.pull(NOW, 'nomad', 'volumes', {
    volumes: [
      volume('fine'),
      volume('idle', { schedulable: false, nodes_healthy: 0, nodes_expected: 3 }),
      volume('claimed', { schedulable: false, current_writers: 1 }),
      volume('unreported', { schedulable: null }),
    ],
  });
  await warehouse.evaluate(NOW);
  expect(await warehouse.seen('volume-unschedulable')).toEqual({
    found: ['default/claimed', 'default/idle'],
    unknown: ['default/unreported'],
  });
  expect(await warehouse.findings('volume-unschedulable')).toMatchObject([
    { severity: 'critical', group_key: 'plugin ebs' },
    {
      severity: 'warning',
      title: 'Volume default/volume idle cannot be scheduled (plugin ebs: ?/? controllers and 0/3 nodes healthy)',
    },
  ]);
});

test('lost-volume-claim: claimed, and every claiming allocation has finished', async () => {
  const warehouse = await createFindingsWarehouse();
  await warehouse.pull(NOW, 'nomad', 'volumes', {
    volumes: [
      ...['lost', 'both', 'running', 'half', 'pending', 'forgotten', 'unclaimed', 'shared', 'odd', 'away'].map((id) =>
        volume(id),
      ),
      volume('counted', { current_writers: 1 }),
    ],
    volume_allocations: [
      claim('lost', 'a1', 'lost'),
      claim('both', 'a2', 'complete', { mode: 'read', node_id: null }),
      claim('both', 'a2', 'complete'),
      claim('both', 'a3', 'failed', { node_id: 'node-of-a2' }),
      claim('running', 'a4', 'running'),
      claim('half', 'a5', 'failed'),
      claim('half', 'a6', 'running'),
      claim('pending', 'a7', 'pending'),
      claim('forgotten', 'a8', 'complete'),
      claim('forgotten', 'a9', null, { node_id: null }),
      claim('shared', 'b1', 'complete', { namespace: 'elsewhere' }),
      claim('odd', 'b2', 'LOST'),
      claim('away', 'b3', 'unknown'),
    ],
  });
  await warehouse.pull(NOW, 'other', 'volumes', {
    volumes: [volume('lost', { namespace: null })],
    volume_allocations: [claim('lost', 'a1', 'running', { namespace: null }), claim('unclaimed', 'a4', 'lost')],
  });
  await warehouse.evaluate(NOW);
  expect(await warehouse.seen('lost-volume-claim')).toEqual({
    found: ['default/both', 'default/lost'],
    unknown: ['default/counted', 'default/forgotten', 'default/odd'],
  });
  expect((await warehouse.findings('lost-volume-claim'))[0]).toMatchObject({
    title: 'Volume default/volume both is claimed only by 2 finished allocations',
    detail: {
      volume_id: 'both',
      namespace: 'default',
      plugin_id: 'ebs',
      nodes: ['node-of-a2'],
      allocations: ['a2', 'a3'],
    },
  });
});

describe('volumes and their storage provider', () => {
  let warehouse: FindingsWarehouse;

  beforeAll(async () => {
    warehouse = await createFindingsWarehouse({ cleanup: atEnd });
    await warehouse.pull(NOW, 'nomad', 'volumes', {
      volumes: [
        volume('held'),
        volume('missing'),
        volume('missing-uncounted', { current_writers: null }),
        volume('missing-claimed'),
        volume('missing-written', { current_writers: 1 }),
        volume('no-external-id', { external_id: null, plugin_id: 'gce' }),
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
        external('unreported', { is_abnormal: null }),
        external('elsewhere', { plugin_id: 'efs' }),
        external('of-no-external-id', { plugin_id: 'gce' }),
      ],
      external_volume_listings: [
        listing('ebs', true),
        listing('nfs', false),
        listing('efs', true),
        listing('gce', true),
      ],
    });
    await warehouse.pull(NOW, 'other', 'volumes', {
      volumes: [volume('orphan'), volume('missing')],
      volume_allocations: [claim('missing', 'a1', 'running')],
    });
    await warehouse.pull(NOW, 'other', 'external_volumes', {
      external_volumes: [external('orphan'), external('missing')],
      external_volume_listings: [listing('ebs', true)],
    });
    await warehouse.evaluate(NOW);
  });

  test('missing-external-volume: registered, not listed by its plugin, and unclaimed', async () => {
    expect(await warehouse.seen('missing-external-volume')).toEqual({
      found: ['default/missing', 'default/same-id-elsewhere'],
      unknown: ['default/cannot-list', 'default/missing-uncounted', 'default/no-external-id', 'default/not-asked'],
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
      'nomad ebs/ext-unreported',
      'nomad efs/ext-elsewhere',
    ]);
    expect((await warehouse.seen('orphaned-external-volume')).unknown).toContain('gce/ext-of-no-external-id');
    expect(rows[1]?.detail).toMatchObject({
      plugin_id: 'ebs',
      external_id: 'ext-orphan',
      capacity_bytes: 1024,
      published_node_ids: ['i-1'],
    });
  });

  test('abnormal-external-volume: the provider reports that it is abnormal', async () => {
    expect((await warehouse.seen('abnormal-external-volume')).found).toEqual(['ebs/ext-abnormal']);
    expect((await warehouse.seen('abnormal-external-volume')).unknown).toContain('ebs/ext-unreported');
    expect((await warehouse.findings('abnormal-external-volume'))[0]?.title).toBe(
      'Plugin ebs reports that volume ext-abnormal is abnormal: degraded',
    );
  });
});
