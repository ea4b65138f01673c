import { beforeAll, expect, test } from 'vitest';
import { type Fact, recordFacts } from '../../src/run/lifecycle.ts';
import { createFindingsWarehouse, type FindingsWarehouse, type Rows } from '../helpers/findings-warehouse.ts';
import { cleanAtEnd } from '../helpers/temp.ts';

const NOW = '2026-11-20T02:15:00Z';

function fact(product: string, cycle: string, changes: Partial<Fact> = {}): Fact {
  const nothing = { released_at: null, support_ends_at: null, ended: false, ends_with: null, latest: null };
  return { product, cycle, ...nothing, latest_at: null, data_as_of: '2026-11-01', ...changes };
}

const TERRAFORM = [
  fact('terraform', '1.1', { support_ends_at: '2022-09-21' }),
  fact('terraform', '1.13', { support_ends_at: '2026-04-29', latest: '1.13.5' }),
  fact('terraform', '1.14', { ends_with: '1.16' }),
  fact('terraform', '1.15', { support_ends_at: '2027-06-01' }),
  fact('terraform', '1.17', { support_ends_at: '2026-12-01' }),
  fact('terraform', '1.18', { support_ends_at: '2027-01-31' }),
  fact('terraform', '2', { ended: true }),
];

async function openWith(facts: readonly Fact[]): Promise<FindingsWarehouse> {
  const warehouse = await createFindingsWarehouse({ cleanup });
  await recordFacts(warehouse, facts, 'packaged', new Date(NOW));
  return warehouse;
}

const cleanup = cleanAtEnd();
const found = async ({ findings }: FindingsWarehouse, rule: string) =>
  (await findings(rule)).map(({ subject_id, severity, state, title }) => [subject_id, severity, state, title]);
const server = (product: string | null, version: string | null, note: string | null = null): Rows => [
  { kind: 'secrets', product, version, note },
];

let workspaces: FindingsWarehouse;
let servers: FindingsWarehouse;
beforeAll(async () => {
  workspaces = await openWith(TERRAFORM);
  const versions = [
    '1.1.9',
    '1.13.2',
    '1.14.0-rc1',
    '1.15.2',
    '1.17.0',
    'v1.18.1',
    '2.4.1',
    '1.16.0',
    '1.130.0',
    '~> 1.5',
    null,
  ];
  const rows = versions.map((version) => ({
    external_id: `ws-${version}`,
    workspace_name: `w ${version}`,
    workspace_iac_version: version,
  }));
  await workspaces.pull(NOW, 'acme', 'workspaces', { workspaces: rows });
  await workspaces.evaluate(NOW);

  servers = await openWith([
    fact('vault', '1.20', { support_ends_at: '2025-10-21', latest: '1.20.4' }),
    fact('vault', '2.0'),
    fact('consul', '1.21', { ends_with: '2.1' }),
    fact('consul', '2.1', { released_at: '2026-11-19' }),
    fact('nomad', '1.10', { support_ends_at: '2026-12-19' }),
  ]);
  const answers: Readonly<Record<string, Rows>> = {
    ended: server('vault', '1.20.3'),
    supported: server('vault', '2.0.4'),
    enterprise: server('vault', '1.20.3+ent'),
    unheard: server('consul', null, 'its version is not known: /agent/self answered 403'),
    followed: server('consul', '1.21.4'),
    soon: server('nomad', '1.10.5'),
    newer: server('nomad', '3.0.0'),
    enterprisePlatform: server('terraform-enterprise', '1.1.0'),
    hcp: server('hcp-terraform', null),
    silent: server(null, null),
  };
  for (const [target, rows] of Object.entries(answers)) await servers.pull(NOW, target, 'servers', { servers: rows });
  await servers.evaluate(NOW);
});

test('end-of-life-version: a version whose support has ended or ends soon, by the days left; no other cycle that begins alike', async () => {
  expect(await found(workspaces, 'end-of-life-version')).toEqual([
    ['ws-1.1.9', 'warning', 'open', 'Workspace w 1.1.9 is set to terraform 1.1.9, whose support ended on 2022-09-21'],
    [
      'ws-1.13.2',
      'warning',
      'open',
      'Workspace w 1.13.2 is set to terraform 1.13.2, whose support ended on 2026-04-29',
    ],
    ['ws-1.17.0', 'warning', 'open', 'Workspace w 1.17.0 is set to terraform 1.17.0, whose support ends on 2026-12-01'],
    ['ws-2.4.1', 'warning', 'open', 'Workspace w 2.4.1 is set to terraform 2.4.1, whose support ended'],
    ['ws-v1.18.1', 'info', 'open', 'Workspace w v1.18.1 is set to terraform v1.18.1, whose support ends on 2027-01-31'],
  ]);
});

test('end-of-life-version: a version without facts is unknown and never supported, and one whose end is not known yet is neither', async () => {
  expect((await workspaces.seen('end-of-life-version')).unknown).toEqual([
    'ws-1.130.0',
    'ws-1.16.0',
    'ws-null',
    'ws-~> 1.5',
  ]);
  expect(
    await workspaces.database.rows(
      "select version, support, ends_with, why from version_support where support in ('unknown', 'not known yet') order by version",
    ),
  ).toEqual([
    {
      version: '1.130.0',
      support: 'unknown',
      ends_with: null,
      why: 'nothing is known of the support of terraform 1.130.0',
    },
    { version: '1.14.0-rc1', support: 'not known yet', ends_with: '1.16', why: null },
    {
      version: '1.16.0',
      support: 'unknown',
      ends_with: null,
      why: 'nothing is known of the support of terraform 1.16.0',
    },
    {
      version: '~> 1.5',
      support: 'unknown',
      ends_with: null,
      why: 'nothing is known of the support of terraform ~> 1.5',
    },
    { version: null, support: 'unknown', ends_with: null, why: 'its version is not known' },
  ]);
});

test('product-end-of-life: what ended is critical, also by the release of another cycle', async () => {
  expect(await found(servers, 'product-end-of-life')).toEqual([
    ['ended', 'critical', 'open', 'Server ended has vault 1.20.3, whose support ended on 2025-10-21'],
    ['followed', 'critical', 'open', 'Server followed has consul 1.21.4, whose support ended on 2026-11-19'],
    ['soon', 'warning', 'open', 'Server soon has nomad 1.10.5, whose support ends on 2026-12-19'],
  ]);
});

test('product-end-of-life: unknown where a server was not heard, another edition, and a version without facts; HCP Terraform has no versions', async () => {
  expect((await servers.seen('product-end-of-life')).unknown).toEqual([
    'enterprise',
    'enterprisePlatform',
    'newer',
    'silent',
    'unheard',
  ]);
  const why = await servers.database.rows(
    "select target, why from version_support where support = 'unknown' order by target",
  );
  expect(Object.fromEntries(why.map((row) => [row.target, row.why]))).toEqual({
    enterprise: 'vault 1.20.3+ent is not of the community edition',
    enterprisePlatform: 'nothing is known of the support of terraform-enterprise',
    newer: 'nothing is known of the support of nomad 3.0.0',
    silent: 'it does not tell what it is',
    unheard: 'its version is not known: /agent/self answered 403',
  });
});

test('a finding stays while its version becomes unknown, and resolves with an upgrade', async () => {
  const warehouse = await openWith([fact('vault', '1.20', { support_ends_at: '2025-10-21' }), fact('vault', '2.0')]);
  const night = async (at: string, rows: Rows) => {
    await warehouse.pull(at, 'vault', 'servers', { servers: rows });
    await warehouse.evaluate(at);
    return (await warehouse.findings('product-end-of-life')).map(({ state, unassessed_since }) => [
      state,
      unassessed_since !== null,
    ]);
  };
  expect(await night(NOW, server('vault', '1.20.3'))).toEqual([['open', false]]);
  expect(await night('2026-11-21T02:15:00Z', server('vault', null, 'refused'))).toEqual([['open', true]]);
  expect(await night('2026-11-22T02:15:00Z', server('vault', '2.0.4'))).toEqual([['resolved', false]]);
});

test('end-of-life-version: a platform that does not tell what it is may run either tool', async () => {
  const warehouse = await openWith([
    fact('terraform', '1.5', { support_ends_at: '2024-01-17' }),
    fact('terraform', '1.10', { support_ends_at: '2025-05-14' }),
  ]);
  const rows = ['1.5.7', '1.10.5'].map((version) => ({ external_id: version, workspace_iac_version: version }));
  for (const [target, product] of [
    ['other', null],
    ['fork', 'otf'],
    ['hcp', 'hcp-terraform'],
  ] as const) {
    await warehouse.pull(NOW, target, 'servers', { servers: server(product, null) });
    await warehouse.pull(NOW, target, 'workspaces', { workspaces: rows });
  }
  await warehouse.fail(NOW, 'unheard', 'servers');
  for (const target of ['unheard', 'documented']) await warehouse.pull(NOW, target, 'workspaces', { workspaces: rows });
  await warehouse.evaluate(NOW);
  const names = (await warehouse.findings('end-of-life-version')).map(({ target, subject_id }) => [target, subject_id]);
  expect(names).toEqual([
    ['documented', '1.10.5'],
    ['documented', '1.5.7'],
    ['fork', '1.5.7'],
    ['hcp', '1.10.5'],
    ['hcp', '1.5.7'],
    ['other', '1.5.7'],
    ['unheard', '1.5.7'],
  ]);
  expect((await warehouse.seen('end-of-life-version')).unknown).toEqual(['1.10.5', '1.10.5', '1.10.5']);
});

test('lifecycle-data-stale: facts about versions in use that are older than 120 days; newer ones, and those of unused products are none', async () => {
  const warehouse = await openWith([
    fact('vault', '2.0', { data_as_of: '2026-07-22' }),
    fact('nomad', '1.10', { data_as_of: '2026-07-23' }),
    fact('packer', '1.16', { data_as_of: '2020-01-01' }),
    fact('consul', '1.21', { data_as_of: '2026-07-22' }),
  ]);
  await warehouse.pull(NOW, 'vault', 'servers', { servers: server('vault', '2.0.4') });
  await warehouse.pull(NOW, 'nomad', 'servers', { servers: server('nomad', '1.10.5') });
  await warehouse.pull(NOW, 'newer-than-the-facts', 'servers', { servers: server('consul', '2.5.0') });
  await warehouse.evaluate(NOW);
  expect(await found(warehouse, 'lifecycle-data-stale')).toEqual([
    ['consul', 'warning', 'open', 'What is known of the support of consul is of 2026-07-22'],
    ['vault', 'warning', 'open', 'What is known of the support of vault is of 2026-07-22'],
  ]);
});
