import { beforeAll, describe, expect, test } from 'vitest';
import { createFindingsWarehouse, type FindingsWarehouse, type Rows } from '../helpers/findings-warehouse.ts';
import { cleanAtEnd } from '../helpers/temp.ts';

const NOW = '2026-11-20T02:15:00Z';
const LATER = '2026-11-21T02:15:00Z';
const HOST = 'registry.terraform.io';
const AWS = `${HOST}/hashicorp/aws`;
const VPC = `${HOST}/terraform-aws-modules/vpc/aws`;

const used = (source: string, version: string | null, workspaces: string, more: Rows[number] = {}): Rows[number] => ({
  name: source.split('/').at(-1) ?? '',
  source,
  version,
  workspace_count: workspaces.split(', ').length,
  workspaces,
  ...more,
});
const release = (source: string, version: string, more: Rows[number] = {}): Rows[number] => ({
  source,
  version,
  unlisted: false,
  ...more,
});

const PROVIDERS = [
  used(AWS, '5.0.0', 'withdrawn-a, withdrawn-b'),
  used(AWS, '5.1.0', 'listed'),
  used(AWS, '5.2.0', 'not-asked'),
  used(AWS, 'latest', 'no-version'),
  used('aws', '5.0.0', 'short-name'),
  used('registry.example/hashicorp/aws', '5.0.0', 'other-host'),
];
const MODULES = [
  used(VPC, '1.0.0', 'deprecated'),
  used(VPC, '2.0.0', 'fine'),
  used(VPC, '3.0.0', 'not-listed'),
  used(VPC, '1.0.0', 'private', { name: 'mine', registry_type: 'private' }),
  used('vpc/aws', '1.0.0', 'short-name'),
];
const RELEASES = [
  release(AWS, '5.0.0', { unlisted: true }),
  release(AWS, '5.1.0'),
  release(AWS, 'latest', { unlisted: null }),
  release(VPC, '1.0.0', { deprecated: true, warning: 'use another one' }),
  release(VPC, '2.0.0', { deprecated: false }),
  release(VPC, '3.0.0', { unlisted: true }),
];

const RULES = ['withdrawn-provider-version', 'deprecated-module'];

async function night(warehouse: FindingsWarehouse, at: string, releases: Rows | 'failed' | undefined) {
  await warehouse.pull(at, 'acme', 'providers', { providers: PROVIDERS });
  await warehouse.pull(at, 'acme', 'modules', { modules: MODULES });
  if (releases === 'failed') await warehouse.fail(at, 'registry', 'registry_releases');
  else if (releases) await warehouse.pull(at, 'registry', 'registry_releases', { registry_releases: releases });
  return warehouse.evaluate(at);
}

const open = async (warehouse: FindingsWarehouse) =>
  (await Promise.all(RULES.map((rule) => warehouse.findings(rule)))).flat().filter(({ state }) => state !== 'resolved');
const unassessed = (warehouse: FindingsWarehouse) =>
  warehouse.database.rows(
    `select rule, target, reason from unassessed_rules where ended_at is null and list_contains($rules::varchar[], rule) order by rule`,
    { rules: RULES },
  );

describe('after a night with a registry', () => {
  const atEnd = cleanAtEnd();
  let warehouse: FindingsWarehouse;
  beforeAll(async () => {
    warehouse = await createFindingsWarehouse({ cleanup: atEnd });
    expect(await night(warehouse, NOW, RELEASES)).toMatchObject({ failed: [] });
  });

  test('withdrawn-provider-version finds what the registry does not list, by full address, and calls the rest of its host unknown', async () => {
    expect(await warehouse.seen('withdrawn-provider-version')).toEqual({
      found: [`withdrawn-a ${AWS} 5.0.0`, `withdrawn-b ${AWS} 5.0.0`],
      unknown: [`no-version ${AWS} latest`, `not-asked ${AWS} 5.2.0`],
    });
    expect((await warehouse.findings('withdrawn-provider-version'))[0]).toMatchObject({
      target: 'acme',
      severity: 'warning',
      subject_type: 'workspace',
      title: 'Workspace withdrawn-a uses provider aws 5.0.0, which the registry has withdrawn',
    });
  });

  test('deprecated-module finds what the registry calls deprecated, and no private module', async () => {
    expect(await warehouse.seen('deprecated-module')).toEqual({
      found: [`deprecated ${VPC} 1.0.0`],
      unknown: [`not-listed ${VPC} 3.0.0`],
    });
    expect(await warehouse.findings('deprecated-module')).toMatchObject([
      { title: 'Workspace deprecated uses module aws 1.0.0, which is deprecated: use another one' },
    ]);
  });
});

const NOTHING_WRONG = RELEASES.map((row) => ({ ...row, unlisted: false, deprecated: false }));

test('findings are resolved by a complete answer, and by no failed one: then the rules are unassessed', async () => {
  const warehouse = await createFindingsWarehouse();
  await night(warehouse, NOW, RELEASES);
  await night(warehouse, LATER, 'failed');
  expect(await open(warehouse)).toHaveLength(3);
  expect(await unassessed(warehouse)).toEqual(
    [...RULES]
      .sort()
      .map((rule) => ({ rule, target: 'acme', reason: 'source registry_releases of registry is failed' })),
  );
  await night(warehouse, '2026-11-22T02:15:00Z', NOTHING_WRONG);
  expect(await open(warehouse)).toEqual([]);
  expect(await unassessed(warehouse)).toEqual([]);
});

test('a finding stays where the version of its workspace is no longer reported, or more workspaces are counted than named', async () => {
  const warehouse = await createFindingsWarehouse();
  await night(warehouse, NOW, RELEASES);
  await warehouse.pull(LATER, 'acme', 'providers', {
    providers: [used(AWS, null, 'withdrawn-a'), used(AWS, '5.1.0', 'withdrawn-b')],
  });
  await warehouse.pull(LATER, 'acme', 'modules', { modules: [used(VPC, '1.0.0', 'other', { workspace_count: 2 })] });
  await warehouse.pull(LATER, 'registry', 'registry_releases', { registry_releases: RELEASES });
  await warehouse.evaluate(LATER);
  expect(
    (await open(warehouse)).map(({ subject_name, unassessed_since }) => [subject_name, unassessed_since !== null]),
  ).toEqual([
    ['withdrawn-a', true],
    ['deprecated', true],
    ['other', false],
  ]);
});

test('a second registry that failed leaves the rules unassessed as well', async () => {
  const warehouse = await createFindingsWarehouse();
  await warehouse.fail(NOW, 'mirror', 'registry_releases');
  await night(warehouse, NOW, RELEASES);
  expect(await open(warehouse)).toEqual([]);
  expect(await unassessed(warehouse)).toMatchObject([
    { reason: 'source registry_releases of mirror is failed' },
    { reason: 'source registry_releases of mirror is failed' },
  ]);
});

test('a version that any registry of the host lists is not withdrawn', async () => {
  const warehouse = await createFindingsWarehouse();
  await warehouse.pull(NOW, 'mirror', 'registry_releases', { registry_releases: [release(AWS, '5.0.0')] });
  await night(warehouse, NOW, RELEASES);
  expect((await warehouse.seen('withdrawn-provider-version')).found).toEqual([]);
});

test('what a registry said that the configuration leaves out neither hides a finding nor makes one', async () => {
  const warehouse = await createFindingsWarehouse();
  const wrong = RELEASES.map((row) => ({
    ...row,
    unlisted: row.unlisted === false,
    deprecated: row.deprecated === false,
  }));
  await warehouse.pull(NOW, 'renamed', 'registry_releases', { registry_releases: wrong });
  await warehouse.database.run(
    `insert into pulls (run_id, target, source, status, started_at, as_of)
     values ('r', 'renamed', 'registry_releases', 'left-out', $at::timestamptz, $at::timestamptz)`,
    { at: LATER },
  );
  await night(warehouse, LATER, RELEASES);
  expect((await open(warehouse)).map(({ subject_name }) => subject_name)).toEqual([
    ...['withdrawn-a', 'withdrawn-b', 'deprecated'],
  ]);
});

test('without a registry, the rules concern no target: nothing is found, and nothing is unassessed', async () => {
  const warehouse = await createFindingsWarehouse();
  await night(warehouse, NOW, undefined);
  expect(await open(warehouse)).toEqual([]);
  expect(await unassessed(warehouse)).toEqual([]);
  expect(
    await warehouse.database.rows('select * from rule_evaluations where list_contains($rules::varchar[], rule)', {
      rules: RULES,
    }),
  ).toEqual([]);
});

test('findings end as left out when no registry is configured any more', async () => {
  const warehouse = await createFindingsWarehouse();
  await night(warehouse, NOW, RELEASES);
  await warehouse.database.run(
    `insert into pulls (run_id, target, source, status, started_at, as_of)
     values ('r', 'registry', 'registry_releases', 'left-out', $at::timestamptz, $at::timestamptz)`,
    { at: LATER },
  );
  await night(warehouse, LATER, undefined);
  expect(await open(warehouse)).toEqual([]);
  const events = await warehouse.database.rows(
    `select distinct reason from finding_events where changed_at = $at::timestamptz and rule = 'withdrawn-provider-version'`,
    { at: LATER },
  );
  expect(events).toEqual([{ reason: 'left out' }]);
});

test('an explorer that failed leaves the rules unassessed in its target', async () => {
  const warehouse = await createFindingsWarehouse();
  await night(warehouse, NOW, RELEASES);
  for (const source of ['providers', 'modules']) await warehouse.fail(LATER, 'acme', source);
  await warehouse.pull(LATER, 'registry', 'registry_releases', { registry_releases: NOTHING_WRONG });
  await warehouse.evaluate(LATER);
  expect(await open(warehouse)).toHaveLength(3);
});
