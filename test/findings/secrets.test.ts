import { beforeAll, describe, expect, test } from 'vitest';
import { createFindingsWarehouse, type FindingsWarehouse, type Rows } from '../helpers/findings-warehouse.ts';
import { cleanAtEnd } from '../helpers/temp.ts';

const atEnd = cleanAtEnd();
const NOW = '2026-11-20T02:15:00Z';
const DAYS_90 = '2026-08-22T02:15:00Z';
const OLDER = '2026-08-22T02:14:59Z';

const key = (name: string, fields: Rows[number]): Rows[number] => ({
  name,
  type: 'rsa-2048',
  deletion_allowed: false,
  min_enabled_version: 1,
  latest_version: 1,
  ...fields,
});
const version = (name: string, number: number, created: string | null): Rows[number] => ({
  key_name: name,
  version: number,
  creation_time: created,
});

describe('keys', () => {
  let warehouse: FindingsWarehouse;

  beforeAll(async () => {
    warehouse = await createFindingsWarehouse({ cleanup: atEnd });
    await warehouse.pull(NOW, 'vault', 'keys', {
      keys: [
        key('overdue', {}),
        key('edge', {}),
        key('rotated', { latest_version: 2 }),
        key('age-unreported', {}),
        key('no-versions', {}),
        key('newest-unreported', { latest_version: 2 }),
        key('count-unreported', { latest_version: null }),
        key('newest-without-age', { latest_version: null }),
        key('three', { latest_version: 3, min_enabled_version: 0 }),
        key('four', { latest_version: 4, min_enabled_version: 0 }),
        key('four-of-nine', { latest_version: 9, min_enabled_version: 6 }),
        key('three-of-nine', { latest_version: 9, min_enabled_version: 7 }),
        key('four-no-lowest', { latest_version: 4, min_enabled_version: null }),
        key('three-no-lowest', { latest_version: 3, min_enabled_version: null }),
        key('latest-unreported', { latest_version: null }),
        key('retired', { deletion_allowed: true }),
        key('retired-held', { deletion_allowed: true }),
        key('retired-unreported', { deletion_allowed: null }),
      ],
      key_versions: [
        version('overdue', 1, OLDER),
        version('edge', 1, DAYS_90),
        version('rotated', 1, OLDER),
        version('rotated', 2, NOW),
        version('age-unreported', 1, null),
        version('newest-unreported', 1, OLDER),
        version('count-unreported', 1, OLDER),
        version('count-unreported', 2, NOW),
        version('newest-without-age', 1, OLDER),
        version('newest-without-age', 2, null),
        ...['three', 'four', 'four-of-nine', 'three-of-nine', 'four-no-lowest', 'three-no-lowest'].map((name) =>
          version(name, 9, NOW),
        ),
        version('latest-unreported', 9, NOW),
        ...['retired', 'retired-held', 'retired-unreported'].map((name) => version(name, 1, NOW)),
      ],
    });
    await warehouse.pull(NOW, 'vault', 'kms_providers', {
      kms_providers: [
        { name: 'aws', provider: 'awskms', key_collection: 'eu-west-1' },
        { name: 'empty', provider: 'gcpckms' },
      ],
    });
    await warehouse.pull(NOW, 'vault', 'key_distributions', {
      key_distributions: [
        { provider_name: 'aws', key_name: 'retired-held' },
        { provider_name: 'azure', key_name: 'retired-held' },
      ],
    });
    await warehouse.pull(NOW, 'other', 'keys', {
      keys: [key('overdue', {}), key('retired', { deletion_allowed: true })],
      key_versions: [version('overdue', 1, NOW), version('retired', 1, NOW)],
    });
    await warehouse.pull(NOW, 'other', 'kms_providers', { kms_providers: [{ name: 'aws' }] });
    await warehouse.pull(NOW, 'other', 'key_distributions', {
      key_distributions: [{ provider_name: 'azure', key_name: 'retired' }],
    });
    await warehouse.evaluate(NOW);
  });

  test('key-rotation-overdue: the newest version is older than keyRotationDays', async () => {
    expect(await warehouse.seen('key-rotation-overdue')).toEqual({
      found: ['overdue'],
      unknown: ['age-unreported', 'newest-unreported', 'newest-without-age', 'no-versions'],
    });
    expect(await warehouse.findings('key-rotation-overdue')).toMatchObject([
      { target: 'vault', detail: { key_name: 'overdue', rotated_at: '2026-08-22T02:14:59.000Z' } },
    ]);
  });

  test('old-key-version-enabled: more than keyVersionsKept versions are enabled; 0 enables all', async () => {
    expect(await warehouse.seen('old-key-version-enabled')).toEqual({
      found: ['four', 'four-of-nine'],
      unknown: ['count-unreported', 'four-no-lowest', 'latest-unreported', 'newest-without-age'],
    });
    expect((await warehouse.findings('old-key-version-enabled'))[1]).toMatchObject({
      weight: 4,
      detail: { key_name: 'four-of-nine', min_enabled_version: 6, versions_enabled: 4, wanted_min_enabled_version: 7 },
    });
  });

  test('retired-key: it may be deleted, distributed or not', async () => {
    expect(await warehouse.seen('retired-key')).toEqual({
      found: ['retired', 'retired', 'retired-held'],
      unknown: ['retired-unreported'],
    });
    expect((await warehouse.findings('retired-key', 'vault')).map(({ detail }) => detail)).toMatchObject([
      { key_name: 'retired', providers: [] },
      { key_name: 'retired-held', providers: ['aws', 'azure'] },
    ]);
  });

  test('empty-kms-provider: no key of the same target is distributed to it', async () => {
    expect(
      (await warehouse.findings('empty-kms-provider')).map(({ target, subject_id }) => [target, subject_id]),
    ).toEqual([
      ['other', 'aws'],
      ['vault', 'empty'],
    ]);
  });
});

test('management-role: a role that issues management tokens, by its type or by the policy global-management', async () => {
  const warehouse = await createFindingsWarehouse();
  await warehouse.pull(NOW, 'vault', 'mesh_roles', {
    mesh_roles: [
      { name: 'admin', token_type: 'management', lease: '1h0m0s' },
      { name: 'app', token_type: 'client', policy: 'a2V5' },
      { name: 'modern', token_type: 'client', consul_policies: ['web', 'global-management'], ttl: '3600' },
      { name: 'modern-by-id', consul_policies: ['00000000-0000-0000-0000-000000000001'] },
      { name: 'modern-app', token_type: 'client', consul_policies: ['web', 'builtin/global-read-only'] },
      { name: 'unreported', token_type: null },
      { name: 'unknown-type', token_type: 'management-v2' },
      { name: 'of-nothing', token_type: 'client', policy: '' },
      { name: 'of-role', token_type: 'client', consul_roles: ['web'] },
      { name: 'of-service', token_type: 'client', service_identities: ['web'] },
    ],
  });
  await warehouse.evaluate(NOW);
  expect(await warehouse.seen('management-role')).toEqual({
    found: ['admin', 'modern', 'modern-by-id'],
    unknown: ['of-nothing', 'unknown-type', 'unreported'],
  });
  expect(await warehouse.findings('management-role')).toMatchObject([
    { severity: 'critical', detail: { role_name: 'admin', lease: '1h0m0s', has_policy: false } },
    { title: 'Mesh role modern issues tokens with the policy global-management', detail: { lease: '3600' } },
    { subject_id: 'modern-by-id' },
  ]);
});

test('management-role: a role whose mount is not known, beside several mounts', async () => {
  const warehouse = await createFindingsWarehouse();
  const roles = [null, 'east', 'west'].map((mount) => ({ name: 'admin', mount, token_type: 'management' }));
  await warehouse.pull(NOW, 'vault', 'mesh_roles', { mesh_roles: roles });
  expect((await warehouse.evaluate(NOW)).failed).toEqual([]);
  expect((await warehouse.findings('management-role')).map(({ title }) => title)).toEqual([
    'Mesh role admin issues management tokens',
    'Mesh role admin of mount east issues management tokens',
    'Mesh role admin of mount west issues management tokens',
  ]);
});
