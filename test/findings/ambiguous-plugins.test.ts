import { expect, test } from 'vitest';
import { createFindingsWarehouse } from '../helpers/findings-warehouse.ts';
import { external, listing, snapshot, volume } from '../helpers/storage-rows.ts';

/** What is known about a volume or a snapshot while its plugin is not certain: a plugin ID may be a prefix of another. */

const NOW = '2026-11-20T02:15:00Z';
const OLD = '2020-01-01T00:00:00Z';

async function evaluate() {
  const warehouse = await createFindingsWarehouse();
  await warehouse.pull(NOW, 'nomad', 'volumes', {
    volumes: [
      volume('certain', { plugin_id: 'ab' }),
      volume('ambiguous', { plugin_id: 'ab' }),
      volume('under-longer', { plugin_id: 'ab' }),
      volume('under-none', { plugin_id: 'ab' }),
      volume('missing', { plugin_id: 'ab' }),
    ],
  });
  await warehouse.pull(NOW, 'nomad', 'external_volumes', {
    external_volumes: [
      external('certain', { plugin_id: 'ab' }),
      external('ambiguous', { plugin_id: 'ab', is_ambiguous: true }),
      external('under-longer', { plugin_id: 'ab12' }),
      external('under-none', { plugin_id: null }),
      external('o-certain', { plugin_id: 'ab12' }),
      external('o-ambiguous', { plugin_id: 'ab', is_ambiguous: true }),
      external('o-unnamed', { plugin_id: null }),
    ],
    external_volume_listings: [listing('ab', true), listing('ab12', true), listing('*', true)],
  });
  await warehouse.pull(NOW, 'nomad', 'volume_snapshots', {
    volume_snapshots: [
      snapshot('s-certain', 'certain', OLD, { plugin_id: 'ab' }),
      snapshot('s-ambiguous', 'ambiguous', OLD, { plugin_id: 'ab', is_ambiguous: true }),
      snapshot('fresh-ambiguous', 'missing', NOW, { plugin_id: 'ab', is_ambiguous: true }),
      snapshot('fresh-under-longer', 'o-certain', NOW, { plugin_id: 'ab' }),
      snapshot('fresh-under-none', 'o-unnamed', NOW, { plugin_id: 'ab' }),
      snapshot('fresh-gone', 'nowhere', NOW, { plugin_id: 'ab' }),
    ],
    volume_snapshot_listings: [listing('ab', true), listing('ab12', true)],
  });
  await warehouse.evaluate(NOW);
  return warehouse;
}

test('a volume that may be the one of another plugin is neither missing nor known to exist', async () => {
  const warehouse = await evaluate();
  expect(await warehouse.seen('missing-external-volume')).toEqual({
    found: ['default/missing'],
    unknown: ['default/ambiguous', 'default/under-longer', 'default/under-none'],
  });
});

test('an external volume is no orphan while its plugin is uncertain, or while a shorter ID has it registered', async () => {
  const warehouse = await evaluate();
  expect(await warehouse.seen('orphaned-external-volume')).toEqual({
    found: ['ab12/ext-o-certain', 'ext-o-unnamed'],
    unknown: ['ab/ext-o-ambiguous'],
  });
});

test('a snapshot of an uncertain plugin, or of a volume that may be of another one, is not stale, and protects no volume', async () => {
  const warehouse = await evaluate();
  const stale = await warehouse.seen('stale-snapshot');
  expect(stale.found).toEqual(['ab/fresh-gone', 'ab/s-certain']);
  expect(stale.unknown).toContain('ab/s-ambiguous');
  const unprotected = await warehouse.seen('unprotected-volume');
  expect(unprotected.unknown).toContain('default/missing');
});

test('a volume whose plugin is not reported may be one that a plugin lists', async () => {
  const warehouse = await createFindingsWarehouse();
  const volumes = [volume('listed', { plugin_id: null }), volume('other', { plugin_id: null })];
  await warehouse.pull(NOW, 'nomad', 'volumes', { volumes });
  await warehouse.pull(NOW, 'nomad', 'external_volumes', {
    external_volumes: [external('listed', { plugin_id: 'ab' })],
    external_volume_listings: [listing('ab', true)],
  });
  expect((await warehouse.evaluate(NOW)).failed).toEqual([]);
  const unknown = ['default/listed', 'default/other'];
  expect(await warehouse.seen('missing-external-volume')).toEqual({ found: [], unknown });
});
