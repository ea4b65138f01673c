import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readPolicy } from '../../src/config/policy.ts';
import { thresholds } from '../../src/config/schema.ts';
import { loadReports } from '../../src/tell/reports/definitions.ts';
import { renderPolicy } from '../../src/warehouse/migrate.ts';
import { createReportWarehouse, type ReportWarehouse, workspace } from '../helpers/report-warehouse.ts';

const NOW = '2026-11-01T02:15:00Z';

const POLICY = `
tools:
  terraform:
    minimum: 1.9.0
    denied: [{ versions: ">= 1.13.0, < 1.13.2", reason: "breaks <b>", link: "https://example.com/1", until: 2027-05-31 }]
providers:
  registry.terraform.io/hashicorp/aws: { recommended: 6.0.0 }
`;

/** Facts as `lifecycle_facts` has them: cycle, end, cycle that ends it. */
const FACTS = [
  ['1.8', '2025-05-14', null],
  ['1.13', '2026-04-29', null],
  ['1.14', '2026-12-31', null],
  ['1.15', null, '1.17'],
] as const;

/** @param policy empty for none */
async function fill(warehouse: ReportWarehouse, { policy = '', facts = true, asOf = '2026-10-20' } = {}) {
  const { database, files, directory } = warehouse;
  if (policy !== '') {
    const file = join(directory, 'versions.yaml');
    await writeFile(file, policy);
    await database.script(await renderPolicy(files, readPolicy(file)));
  }
  for (const [cycle, end, endsWith] of facts ? FACTS : []) {
    await database.run(
      `insert into lifecycle_facts (product, cycle, support_ends_at, ended, ends_with, latest, data_as_of, origin, known_at)
       values ('terraform', $cycle, $end::date, false, $endsWith, $cycle || '.9', $asOf::date, 'packaged', '2026-01-01'::timestamptz)`,
      { cycle, end, endsWith, asOf },
    );
  }
  const on = (id: string, version: string | null) => workspace(id, { workspace_iac_version: version });
  await warehouse.pull(NOW, {
    tf_versions: [],
    workspaces: [
      ...[on('denied', '1.13.1'), on('low', '1.8.5'), on('ended', '1.13.4'), on('soon', '1.14.2')],
      ...[on('good', '1.15.4'), on('new', '1.18.0'), on('text', '~> 1.9'), on('none', null)],
    ],
    providers: [
      {
        name: 'aws',
        source: 'registry.terraform.io/hashicorp/aws',
        version: '5.9.0',
        workspace_count: 1,
        workspaces: 'low',
      },
      {
        name: 'aws',
        source: 'registry.opentofu.org/hashicorp/aws',
        version: '5.9.0',
        workspace_count: 1,
        workspaces: 'low',
      },
    ],
    modules: [],
  });
}

const NAMES = ['said', 'users', 'not_covered'];
const pick = (rows: unknown, ...fields: readonly string[]) =>
  (rows as Record<string, unknown>[]).map((row) => fields.map((field) => row[field]));

test('the report leads with what the policy and the facts about support say, the worst first', async () => {
  const warehouse = await createReportWarehouse();
  await fill(warehouse, { policy: POLICY });
  const { summary, said, users, not_covered } = await warehouse.data('version-sprawl', NOW, NAMES);
  expect(pick(said, 'state', 'name', 'version', 'policy', 'support')).toEqual([
    [
      'denied',
      'terraform',
      '1.13.1',
      'denied >= 1.13.0, < 1.13.2: breaks <b> (until 2027-05-31)',
      'ended on 2026-04-29',
    ],
    ['below minimum', 'terraform', '1.8.5', 'below minimum 1.9.0', 'ended on 2025-05-14'],
    ['ended', 'terraform', '1.13.4', 'allowed', 'ended on 2026-04-29'],
    ['unknown', 'terraform', '~> 1.9', 'unknown', 'nothing is known of its cycle'],
    ['unknown', 'terraform', null, 'unknown', 'nothing is known of its cycle'],
    ['ends soon', 'terraform', '1.14.2', 'allowed', 'until 2026-12-31'],
    ['not known', 'terraform', '1.18.0', 'allowed', 'nothing is known of its cycle'],
    ['below recommended', 'registry.terraform.io/hashicorp/aws', '5.9.0', 'below recommended 6.0.0', null],
    ['no end known', 'terraform', '1.15.4', 'allowed', 'until 1.17 is released'],
  ]);
  expect(pick(users, 'state', 'workspace_name')).toEqual([
    ['denied', 'denied'],
    ['below minimum', 'low'],
    ['ended', 'ended'],
    ['ends soon', 'soon'],
  ]);
  expect(pick(not_covered, 'name')).toEqual([['registry.opentofu.org/hashicorp/aws']]);
  expect(summary).toMatchObject({
    ...{ denied: 1, below_minimum: 1, ended: 3, ends_soon: 1, not_judged: 2, not_covered: 1 },
    headline:
      'Versions in use: 1 denied, 1 below the minimum, 3 without support, 1 with support for at most 90 days; no policy covers 1 name; the versions of 2 workspaces are not known',
  });
});

test('what the registry has withdrawn or calls deprecated is said, with its warning', async () => {
  const warehouse = await createReportWarehouse();
  await fill(warehouse, { facts: false });
  const source = 'registry.terraform.io/hashicorp/aws';
  const module = 'registry.terraform.io/acme/vpc/aws';
  const used = { name: 'vpc', source: module, version: '1.0.0', workspace_count: 2, workspaces: 'a, b' };
  const release = { source, version: '5.9.0', deprecated: null, warning: null, unlisted: true };
  await warehouse.pull(NOW, { modules: [used] });
  await warehouse.pull(
    NOW,
    {
      registry_releases: [
        release,
        { ...release, source: module, version: '1.0.0', deprecated: true, warning: 'moved', unlisted: false },
      ],
    },
    'registry',
  );
  const { summary, said } = await warehouse.data('version-sprawl', NOW, NAMES);
  expect(pick(said, 'state', 'name', 'registry')).toEqual([
    ['withdrawn', source, 'withdrawn'],
    ['deprecated', module, 'deprecated: moved'],
  ]);
  expect(summary).toMatchObject({ withdrawn: 1, deprecated: 1 });
});

test('without a policy, support tells; without both, the newest version in use', async () => {
  const warehouse = await createReportWarehouse();
  await fill(warehouse);
  const { summary, said } = await warehouse.data('version-sprawl', NOW, NAMES);
  expect(pick(said, 'state', 'version')).toEqual([
    ['ended', '1.8.5'],
    ['ended', '1.13.1'],
    ['ended', '1.13.4'],
    ['ends soon', '1.14.2'],
    ['not known', '1.18.0'],
    ['not known', '~> 1.9'],
    ['not known', null],
    ['no end known', '1.15.4'],
  ]);
  expect(summary.headline).toMatch(/^Versions in use: 3 without support, 1 with support/u);

  const bare = await createReportWarehouse();
  await fill(bare, { facts: false });
  const data = await bare.data('version-sprawl', NOW, NAMES);
  expect(data.said).toEqual([]);
  expect(data.summary.headline).toMatch(/^5 of 8 workspaces are older than 1\.18\.0/u);
});

test.each(['version-sprawl', 'deadlines', 'overview'])(
  'facts older than `lifecycleDays` are said on the page %s',
  async (name) => {
    const read = async (asOf: string) => {
      const warehouse = await createReportWarehouse();
      await fill(warehouse, { asOf });
      const { sources } = await warehouse.data(name, NOW, []);
      return sources.filter(({ source }) => source === 'lifecycle');
    };
    const known = { target: 'acme', source: 'lifecycle', status: 'complete' };
    expect(await read('2026-07-04')).toMatchObject([{ ...known, as_of: '2026-07-04T00:00:00Z', stale: false }]);
    expect(await read('2026-07-03')).toMatchObject([
      { ...known, status: 'old', stale: true, error: 'tidemark lifecycle import FILE takes newer facts' },
    ]);
  },
);

test('each page that reads facts names them among its sources', async () => {
  const { files } = await createReportWarehouse();
  const reading = [...loadReports(files).values()].filter(({ summary, datasets }) =>
    [summary, ...datasets].some(({ sql }) =>
      /\b(?:lifecycle|version_support|versions_in_use|deadlines)_at\b/u.test(sql),
    ),
  );
  expect(reading.map(({ name }) => name).sort()).toEqual(['deadlines', 'version-sprawl']);
  expect(reading.filter(({ sources }) => !sources.includes('lifecycle'))).toEqual([]);
});

test('the support that ends soon is that of `supportDays`', async () => {
  const warehouse = await createReportWarehouse();
  await fill(warehouse);
  const data = (supportDays: number) =>
    warehouse.data('version-sprawl', NOW, ['said', 'users'], { thresholds: thresholds.parse({ supportDays }) });
  const soon = await data(59.95); // 2026-12-31 is 59 days and 22 hours away
  expect([soon.summary.ends_soon, soon.summary.headline]).toEqual([
    1,
    expect.stringContaining('1 with support for at most 59.95 days'),
  ]);
  const later = await data(59);
  expect(later.summary.ends_soon).toBe(0);
  expect(pick(later.users, 'state')).not.toContainEqual(['ends soon']);
  expect(pick(later.said, 'state')).toContainEqual(['supported']);
});

test('a provider or module of which no registry was asked says so', async () => {
  const warehouse = await createReportWarehouse();
  await fill(warehouse, { policy: POLICY });
  await warehouse.pull(NOW, { registry_releases: 'failed' }, 'registry');
  const { said, not_covered, sources } = await warehouse.data('version-sprawl', NOW, NAMES);
  expect(pick(said, 'kind', 'registry').filter(([kind]) => kind === 'provider')).toEqual([['provider', 'not asked']]);
  expect(pick(not_covered, 'kind', 'registry')).toEqual([['provider', 'not asked']]);
  expect(sources.filter(({ source }) => source === 'registry_releases')).toMatchObject([
    { target: 'registry', status: 'failed', stale: true },
  ]);
});
