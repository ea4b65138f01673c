import { describe, expect, it } from 'vitest';
import { createReportWarehouse } from '../helpers/report-warehouse.ts';

const FIRST = '2026-11-01T02:15:00Z';
const SECOND = '2026-11-02T02:15:00Z';

const key = (name: string, more: object = {}) => ({
  name,
  type: 'rsa-2048',
  deletion_allowed: false,
  min_enabled_version: 0,
  latest_version: 1,
  ...more,
});
const version = (key_name: string, number: number, creation_time: string | null) => ({
  key_name,
  version: number,
  creation_time,
});
const pick = (rows: unknown, field = 'name') => (rows as Record<string, unknown>[]).map((row) => row[field]);

describe('the keys report', () => {
  it('ages a key by its newest version: overdue after keyRotationDays, not at them, unknown without a time', async () => {
    const warehouse = await createReportWarehouse();
    await warehouse.pull(FIRST, {
      keys: [key('fresh', { latest_version: 2 }), key('edge'), key('old'), key('untold'), key('bare')],
      key_versions: [
        version('fresh', 1, '2020-01-01T00:00:00Z'),
        version('fresh', 2, '2026-10-31T00:00:00Z'),
        version('edge', 1, '2026-08-03T02:15:00Z'),
        version('old', 1, '2026-08-03T02:14:59Z'),
        version('untold', 1, null),
      ],
    });
    const { summary, overdue, keys } = await warehouse.data('keys', FIRST, ['overdue', 'keys']);
    expect(summary).toMatchObject({ keys: 5, overdue: 1, age_unknown: 2 });
    expect(pick(overdue)).toEqual(['old']);
    expect(pick(keys)).toEqual(['bare', 'untold', 'old', 'edge', 'fresh']);
    expect(pick(keys, 'state')).toEqual(['unknown', 'unknown', 'overdue', 'in time', 'in time']);
  });

  it('counts enabled versions: a lowest version of 0 or 1 means all', async () => {
    const warehouse = await createReportWarehouse();
    await warehouse.pull(FIRST, {
      keys: [
        key('all', { latest_version: 4 }),
        key('also-all', { latest_version: 4, min_enabled_version: 1 }),
        key('three', { latest_version: 4, min_enabled_version: 2 }),
        key('all-three', { latest_version: 3 }),
        key('untold', { latest_version: null }),
        key('no-lowest', { latest_version: 4, min_enabled_version: null }),
      ],
    });
    const { summary, too_many_versions } = await warehouse.data('keys', FIRST, ['too_many_versions']);
    expect(summary).toMatchObject({ versions_enabled: 14, too_many_versions: 2, versions_unknown: 2 });
    expect(too_many_versions).toMatchObject([
      { name: 'all', versions_enabled: 4 },
      { name: 'also-all', versions_enabled: 4 },
    ]);
  });

  it('shows the providers of keys, the keys that may be deleted, and roles that issue management tokens', async () => {
    const warehouse = await createReportWarehouse();
    await warehouse.pull(FIRST, {
      keys: [key('held', { deletion_allowed: true }), key('loose'), key('untold', { deletion_allowed: null })],
      kms_providers: [{ name: 'full' }, { name: 'empty' }],
      key_distributions: [{ provider_name: 'full', key_name: 'held' }],
      mesh_roles: [
        { name: 'root', token_type: 'management' },
        { name: 'by-name', token_type: 'client', consul_policies: ['Global-Management'] },
        { name: 'by-id', consul_policies: ['web', '00000000-0000-0000-0000-000000000001'] },
        { name: 'app', token_type: 'client' },
        { name: 'odd', token_type: null },
      ],
    });
    const data = await warehouse.data('keys', FIRST, ['deletion_allowed', 'undistributed', 'providers', 'roles']);
    expect(data.summary).toMatchObject({
      undistributed: 2,
      deletion_allowed: 1,
      providers: 2,
      empty_providers: 1,
      roles: 5,
      management_roles: 3,
      roles_unknown: 2,
    });
    expect(data.deletion_allowed).toMatchObject([{ name: 'held', held_by: ['full'], since: FIRST }]);
    expect(pick(data.undistributed)).toEqual(['loose', 'untold']);
    expect(data.providers).toMatchObject([
      { name: 'empty', keys: 0 },
      { name: 'full', keys: 1 },
    ]);
    expect(pick(data.roles)).toEqual(['by-id', 'by-name', 'root', 'app', 'odd']);
  });

  it('counts the keys that were overdue before: one becomes overdue between pulls and is rotated', async () => {
    const warehouse = await createReportWarehouse();
    const made = '2026-08-03T12:00:00Z';
    await warehouse.pull(FIRST, {
      keys: [key('a'), key('b')],
      key_versions: [version('a', 1, made), version('b', 1, made)],
    });
    await warehouse.pull(SECOND, {
      keys: [key('a'), key('b')],
      key_versions: [version('a', 1, made), version('b', 1, made)],
    });
    await warehouse.pull('2026-11-03T02:15:00Z', {
      keys: [key('a', { latest_version: 2 }), key('b')],
      key_versions: [version('a', 1, made), version('a', 2, SECOND), version('b', 1, made)],
    });
    const { keys: rows, summary } = await warehouse.data('keys', '2026-11-03T02:15:00Z', ['keys']);
    expect(rows).toMatchObject([
      {
        name: 'b',
        age: [
          { kind: 'bad', text: '91 days' },
          { kind: 'limit', value: 90 },
        ],
      },
      { name: 'a', age: [{ kind: 'good' }, { kind: 'limit' }] },
    ]);
    expect(summary).toMatchObject({ overdue: 1, overdue_before: 2 });
  });
});

it('does not count a provider whose keys could not be listed as empty', async () => {
  const warehouse = await createReportWarehouse();
  const at = '2026-11-01T02:15:00Z';
  await warehouse.pull(at, {
    keys: [],
    kms_providers: [{ name: 'refused' }, { name: 'empty' }],
    key_distributions: [],
  });
  await warehouse.database.run(
    "update pulls set status = 'partial', unknown_parts = $part::json where source = 'key_distributions'",
    { part: JSON.stringify([{ column: 'provider_name', value: 'refused', reason: 'refused' }]) },
  );
  const { providers, summary } = await warehouse.data('keys', at, ['providers']);
  expect(summary).toMatchObject({ empty_providers: 1 });
  expect(providers).toMatchObject([
    { name: 'empty', keys: 0 },
    { name: 'refused', keys: null },
  ]);
});

it('does not know which keys and providers are unused while the distributions never completed', async () => {
  const warehouse = await createReportWarehouse();
  const at = '2026-11-20T02:15:00Z';
  await warehouse.pull(at, { keys: [{ name: 'k' }], kms_providers: [{ name: 'aws' }] });
  const { providers, summary, undistributed } = await warehouse.data('keys', at, ['providers', 'undistributed']);
  expect(summary).toMatchObject({ keys: 1, providers: 1, undistributed: null, empty_providers: null });
  expect(undistributed).toEqual([]);
  expect(providers).toMatchObject([{ name: 'aws', keys: null }]);
});
