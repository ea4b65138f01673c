import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { readPolicy } from '../../src/config/policy.ts';
import { renderPolicy } from '../../src/warehouse/migrate.ts';
import { createFindingsWarehouse, type FindingsWarehouse } from '../helpers/findings-warehouse.ts';

const NOW = '2026-11-20T02:15:00Z';
const LATER = '2026-11-21T02:15:00Z';

async function createWithPolicy(text: string): Promise<FindingsWarehouse> {
  const warehouse = await createFindingsWarehouse();
  const file = join(warehouse.directory, 'versions.yaml');
  await writeFile(file, text);
  await warehouse.database.script(await renderPolicy(warehouse.files, readPolicy(file)));
  return warehouse;
}

const workspaces = (versions: Readonly<Record<string, string | null>>) => ({
  workspaces: Object.entries(versions).map(([name, version]) => ({
    external_id: name,
    workspace_name: name,
    workspace_iac_version: version,
  })),
});

const used = (source: string, version: string | null, ...names: readonly string[]) => ({
  name: source.split('/').at(-1) ?? '',
  source,
  version,
  workspaces: names.join(', '),
  workspace_count: names.length,
});

describe('below-minimum-version', () => {
  const POLICY = `
tools:
  terraform:
    minimum: 1.14.0
    denied:
      - { versions: ">= 1.15.0, < 1.15.2", reason: corrupts state, link: "https://example.com/1" }
      - { versions: 1.15.1, reason: leaks, severity: warning }
      - { versions: 1.16.0, reason: was denied, until: 2026-11-20 }
      - { versions: 1.16.1, reason: is denied, until: 2026-11-21 }
`;

  test('finds denied and low versions, and no others, in the order of semantic versions', async () => {
    const warehouse = await createWithPolicy(POLICY);
    const versions = {
      ...{
        old: '1.9.8',
        rc: '1.14.0-rc1',
        same: '1.14.0',
        v: 'v1.14',
        build: '1.14.0+ent',
        part: '1.13',
        twice: '1.15.1',
      },
      ...{
        from: '1.15.0',
        to: '1.15.2',
        ahead: '1.15.2-beta1',
        ended: '1.16.0',
        last: '1.16.1',
        text: '~> 1.9',
        none: null,
      },
    };
    await warehouse.pull(NOW, 'acme', 'workspaces', workspaces(versions));
    await warehouse.evaluate(NOW);
    expect(await warehouse.seen('below-minimum-version')).toEqual({
      found: ['ahead', 'from', 'last', 'old', 'part', 'rc', 'twice'],
      unknown: ['none', 'text'],
    });
    const findings = await warehouse.findings('below-minimum-version');
    expect(findings.find(({ subject_id }) => subject_id === 'twice')).toMatchObject({
      title: 'Workspace twice is set to terraform 1.15.1, which the policy denies: corrupts state',
      severity: 'critical',
      group_key: 'terraform 1.15.1',
    });
    expect(findings.find(({ subject_id }) => subject_id === 'from')?.detail).toMatchObject({
      policy: '>= 1.15.0, < 1.15.2',
      reason: 'corrupts state',
      link: 'https://example.com/1',
    });
    expect(findings.find(({ subject_id }) => subject_id === 'old')).toMatchObject({
      title: 'Workspace old is set to terraform 1.9.8, below the minimum 1.14.0',
      severity: 'warning',
    });
  });

  test('a policy for OpenTofu says nothing of Terraform', async () => {
    const warehouse = await createWithPolicy('tools: { opentofu: { minimum: 1.10.0 } }');
    await warehouse.pull(NOW, 'acme', 'workspaces', workspaces({ old: '1.9.8', none: null }));
    await warehouse.evaluate(NOW);
    expect(await warehouse.seen('below-minimum-version')).toEqual({ found: [], unknown: [] });
  });

  const OPENTOFU = 'opentofu: { minimum: 1.10.0, recommended: 1.11.0 }';
  const TERRAFORM = 'terraform: { minimum: 1.8.0, recommended: 1.9.0 }';
  const EITHER = 'terraform or opentofu';
  test.each([
    [
      'of OpenTofu',
      OPENTOFU,
      [
        ['opentofu', 'below minimum'],
        ['opentofu', 'unknown'],
        ['terraform', 'not covered'],
      ],
      'not covered',
    ],
    [
      'of both tools',
      `${OPENTOFU}, ${TERRAFORM}`,
      [
        [EITHER, 'unknown'],
        [EITHER, 'unknown'],
        ['terraform', 'below minimum'],
      ],
      'allowed',
    ],
  ])(
    'where a platform does not say what it runs, a policy %s decides for it what it can',
    async (_, policy, other, hcp) => {
      const warehouse = await createWithPolicy(`tools: { ${policy} }`);
      const server = (product: string | null) => ({ servers: [{ kind: 'platform', product, version: null }] });
      await warehouse.pull(NOW, 'other', 'servers', server(null));
      await warehouse.pull(NOW, 'other', 'workspaces', workspaces({ new: '1.9.8', none: null, old: '1.5.7' }));
      await warehouse.pull(NOW, 'hcp', 'servers', server('hcp-terraform'));
      await warehouse.pull(NOW, 'hcp', 'workspaces', workspaces({ hcp: '1.9.8' }));
      for (const target of ['other', 'hcp']) await warehouse.pull(NOW, target, 'tf_versions');
      await warehouse.evaluate(NOW);
      const judged = await warehouse.database.rows(
        "select target, name, verdict from versions_in_use where kind = 'tool' order by target desc, version desc nulls last",
      );
      const [new_, old, none, ...rest] = judged.map(({ name, verdict }) => [name, verdict]);
      expect([new_, none, old]).toEqual(other);
      expect(rest).toEqual([['terraform', hcp]]);
      const outdated = await warehouse.seen('outdated-version');
      expect(outdated.unknown.includes('new')).toBe(policy !== OPENTOFU);
    },
  );

  test('a platform that could not be asked what it is runs what it said last', async () => {
    const warehouse = await createFindingsWarehouse();
    const tools = async (at: string, product: string | null, note: string | null) => {
      await warehouse.pull(at, 'hcp', 'servers', { servers: [{ kind: 'platform', product, version: null, note }] });
      await warehouse.pull(at, 'hcp', 'workspaces', workspaces({ one: '1.9.8' }));
      return warehouse.database.rows("select name from versions_in_use where kind = 'tool'");
    };
    const note = 'its version is not known: /ping answered 404';
    expect(await tools(NOW, null, note)).toEqual([{ name: EITHER }]);
    expect(await tools(LATER, 'hcp-terraform', null)).toEqual([{ name: 'terraform' }]);
    expect(await tools('2026-11-22T02:15:00Z', null, note)).toEqual([{ name: 'terraform' }]);
    expect(await tools('2026-11-23T02:15:00Z', null, null)).toEqual([{ name: EITHER }]);
  });

  test('a finding stays where its source failed, and where the version can no longer be read', async () => {
    const warehouse = await createWithPolicy(POLICY);
    await warehouse.pull(NOW, 'acme', 'workspaces', workspaces({ old: '1.9.8', other: '1.9.8' }));
    await warehouse.evaluate(NOW);
    await warehouse.pull(LATER, 'acme', 'workspaces', workspaces({ old: null, other: '1.14.0' }));
    await warehouse.evaluate(LATER);
    expect(await warehouse.findings('below-minimum-version')).toMatchObject([
      { subject_id: 'old', state: 'open', unassessed_since: expect.anything() },
      { subject_id: 'other', state: 'resolved' },
    ]);
    const after = '2026-11-22T02:15:00Z';
    await warehouse.fail(after, 'acme', 'workspaces');
    await warehouse.evaluate(after);
    expect((await warehouse.findings('below-minimum-version'))[0]).toMatchObject({ subject_id: 'old', state: 'open' });
  });
});

describe.each([
  [
    'below-minimum-provider',
    'provider',
    'providers',
    'registry.terraform.io/hashicorp/aws',
    'registry.opentofu.org/hashicorp/aws',
  ],
  ['below-minimum-module', 'module', 'modules', 'app.terraform.io/acme/vpc/aws', 'registry.terraform.io/acme/vpc/aws'],
])('%s', (rule, kind, table, source, other) => {
  const POLICY = `
${table}:
  ${source}:
    minimum: 5.0.0
    recommended: 6.0.0
    denied: [{ versions: "= 5.1.0", reason: broken }]
`.replace('"= 5.1.0"', '5.1.0');

  test.each([2, null])('a workspace that is not named while %s are counted is unknown', async (workspace_count) => {
    const warehouse = await createWithPolicy(POLICY);
    await warehouse.pull(NOW, 'acme', table, {
      [table]: [used(source, '4.9.0', 'named', 'left-out'), used(source, '4.8.0', 'moved')],
    });
    await warehouse.evaluate(NOW);
    await warehouse.pull(LATER, 'acme', table, {
      [table]: [{ ...used(source, '4.9.0', 'named'), workspace_count }],
    });
    await warehouse.evaluate(LATER);
    const rows = await warehouse.findings(rule);
    expect(
      rows.map(({ subject_name, state, unassessed_since }) => [subject_name, state, unassessed_since !== null]),
    ).toEqual([
      ['left-out', 'open', true],
      ['moved', 'open', true],
      ['named', 'open', false],
    ]);
  });

  test('finds uses by the full address of the source', async () => {
    const warehouse = await createWithPolicy(POLICY);
    await warehouse.pull(NOW, 'acme', table, {
      [table]: [
        used(source, '4.9.0', 'low', 'both'),
        used(source, '5.1.0', 'denied', 'both'),
        used(source, '5.0.0', 'fine'),
        used(source, null, 'unversioned'),
        used(other, '4.9.0', 'elsewhere'),
      ],
    });
    await warehouse.evaluate(NOW);
    const name = source.split('/').at(-1);
    expect(await warehouse.seen(rule)).toEqual({
      found: [`both ${name} ${source}`, `denied ${name} ${source}`, `low ${name} ${source}`],
      unknown: [`unversioned ${name} ${source}`],
    });
    expect(await warehouse.findings(rule)).toMatchObject([
      { title: `Workspace both uses ${kind} ${source} 5.1.0, which the policy denies: broken`, severity: 'critical' },
      { title: `Workspace denied uses ${kind} ${source} 5.1.0, which the policy denies: broken`, severity: 'critical' },
      { title: `Workspace low uses ${kind} ${source} 4.9.0, below the minimum 5.0.0`, severity: 'warning' },
    ]);
  });

  test(`${kind}-sprawl asks for the recommended version, and for the newest in use only without a policy`, async () => {
    const warehouse = await createWithPolicy(POLICY);
    await warehouse.pull(NOW, 'acme', table, {
      [table]: [
        used(source, '4.9.0', 'low'),
        used(source, '5.2.0', 'older'),
        used(source, '6.1.0', 'fine'),
        used(source, '7.0.0', 'newest'),
        used(other, '1.0.0', 'behind'),
        used(other, '1.1.0', 'ahead'),
      ],
    });
    await warehouse.evaluate(NOW);
    expect(await warehouse.findings(`${kind}-sprawl`)).toMatchObject([
      { title: expect.stringMatching(/^Workspace behind .* 1\.0\.0; the newest in use is 1\.1\.0$/u) },
      { title: expect.stringMatching(/^Workspace older .* 5\.2\.0; 6\.0\.0 is recommended$/u) },
    ]);
  });
});

test('outdated-version asks for the recommended version, then for the newest release, then for the newest in use', async () => {
  const outdated = async (policy: string, hasFacts: boolean) => {
    const warehouse = await createWithPolicy(policy);
    const facts = `insert into lifecycle_facts (product, cycle, ended, latest, data_as_of, origin, known_at)
      values ('terraform', '1.14', false, '1.14.9', '2026-11-01', 'packaged', '2026-11-01'), ('terraform', '1.15', false, '1.15.4', '2026-11-01', 'packaged', '2026-11-01'),
        ('terraform', '1.16', false, '1.16.0-beta1', '2026-11-01', 'packaged', '2026-11-01'), ('vault', '2.0', false, '2.0.1', '2026-11-01', 'packaged', '2026-11-01')`;
    if (hasFacts) await warehouse.database.script(facts);
    await warehouse.pull(NOW, 'acme', 'workspaces', workspaces({ low: '1.13.0', high: '1.14.0', text: 'latest' }));
    await warehouse.pull(NOW, 'acme', 'tf_versions', { tf_versions: [{ version: '1.14.0', workspace_count: 1 }] });
    await warehouse.evaluate(NOW);
    const titles = (await warehouse.findings('outdated-version')).map(({ title }) =>
      String(title).split(', ').slice(1).join(', '),
    );
    return { titles, unknown: (await warehouse.seen('outdated-version')).unknown };
  };
  const unknown = ['text'];
  const policy = 'tools: { terraform: { minimum: 1.12.0, recommended: 1.13.2 } }';
  expect(await outdated(policy, true)).toEqual({
    titles: ['a patch version behind 1.13.2, which is recommended'],
    unknown,
  });
  expect(await outdated('tools: { terraform: { minimum: 1.12.0 } }', true)).toEqual({ titles: [], unknown });
  expect(await outdated('products: { vault: { minimum: 1.12.0 } }', true)).toEqual({
    titles: ['a minor version behind 1.15.4, the newest release', 'a minor version behind 1.15.4, the newest release'],
    unknown,
  });
  expect(await outdated('products: { vault: { minimum: 1.12.0 } }', false)).toEqual({
    titles: ['a minor version behind 1.14.0'],
    unknown,
  });
});

test('a source without a host is that of the public registry, for policy and rules', async () => {
  const warehouse = await createWithPolicy(`
providers: { registry.terraform.io/hashicorp/aws: { minimum: 5.0.0 } }
modules: { registry.terraform.io/acme/vpc/aws: { minimum: 5.0.0 } }`);
  const low = (sources: readonly string[]) => sources.map((source, index) => used(source, '4.9.0', `w${index}`));
  await warehouse.pull(NOW, 'acme', 'providers', {
    providers: low(['hashicorp/aws', 'registry.terraform.io/providers/hashicorp/aws', 'aws', 'acme/hashicorp/aws']),
  });
  await warehouse.pull(NOW, 'acme', 'modules', { modules: low(['acme/vpc/aws', 'vpc/aws', './acme/vpc/aws']) });
  await warehouse.evaluate(NOW);
  const subjects = async (rule: string) => (await warehouse.findings(rule)).map(({ subject_name }) => subject_name);
  expect(await subjects('below-minimum-provider')).toEqual(['w0', 'w1']);
  expect(await subjects('below-minimum-module')).toEqual(['w0']);
});

test('the policy of a provider is for its address in any case: registries show `Azure`, and states have `azure`', async () => {
  const warehouse = await createWithPolicy(
    'providers: { registry.terraform.io/Azure/azapi: { minimum: 2.0.0, recommended: 2.5.0 } }',
  );
  await warehouse.pull(NOW, 'acme', 'providers', {
    providers: [used('azure/azapi', '1.15.0', 'lower'), used('Azure/azapi', '2.1.0', 'capital')],
  });
  await warehouse.evaluate(NOW);
  const found = async (rule: string) => (await warehouse.findings(rule)).map(({ subject_name }) => subject_name);
  expect([await found('below-minimum-provider'), await found('provider-sprawl')]).toEqual([['lower'], ['capital']]);
});

test('below-minimum-product finds servers by their product, a platform and an autoscaler by their kind', async () => {
  const warehouse = await createWithPolicy(`
products:
  vault: { minimum: 1.20.0, denied: [{ versions: 1.20.3, reason: broken }] }
  consul: { minimum: 1.21.0 }
  platform: { minimum: 1.1.0 }`);
  const servers = [
    ['low', 'secrets', 'vault', '1.19.9', null],
    ['denied', 'secrets', 'vault', '1.20.3', null],
    ['fine', 'secrets', 'vault', '1.20.4+ent', null],
    ['bao', 'secrets', 'openbao', '1.0.0', null],
    ['tfe', 'platform', 'terraform-enterprise', '1.0.2', null],
    ['tfe-by-month', 'platform', 'terraform-enterprise', 'v202507-1', null],
    ['silent', 'mesh', 'consul', null, 'the token may not read it'],
  ] as const;
  for (const [target, kind, product, version, note] of servers) {
    await warehouse.pull(NOW, target, 'servers', { servers: [{ kind, product, version, note }] });
  }
  await warehouse.evaluate(NOW);
  expect(await warehouse.seen('below-minimum-product')).toEqual({
    found: ['denied', 'low', 'tfe', 'tfe-by-month'],
    unknown: ['silent'],
  });
  expect((await warehouse.findings('below-minimum-product')).map(({ title }) => title)).toEqual([
    'Server denied has vault 1.20.3, which the policy denies: broken',
    'Server low has vault 1.19.9, below the minimum 1.20.0',
    'Server tfe has terraform-enterprise 1.0.2, below the minimum 1.1.0',
    'Server tfe-by-month has terraform-enterprise v202507-1, below the minimum 1.1.0',
  ]);
});

test('of a denial and a minimum that both match, the one with the worse severity counts', async () => {
  const warehouse = await createWithPolicy(`
tools:
  terraform: { minimum: 1.14.0, severity: critical, denied: [{ versions: 1.13.0, reason: slow, severity: warning }] }
`);
  await warehouse.pull(NOW, 'acme', 'workspaces', workspaces({ both: '1.13.0' }));
  await warehouse.evaluate(NOW);
  expect(await warehouse.findings('below-minimum-version')).toMatchObject([
    { severity: 'critical', detail: { verdict: 'below minimum', policy: '1.14.0' } },
  ]);
});

test.each([
  ['permits it', 'providers: { acme.example/a/b: { minimum: 1.0.0 } }'],
  ['says nothing of the provider any more', 'providers: { acme.example/a/other: { minimum: 1.0.0 } }'],
])('a version of which not every workspace is named is resolved where the policy %s', async (_, policy) => {
  const warehouse = await createWithPolicy('providers: { acme.example/a/b: { minimum: 2.0.0 } }');
  const row = used('acme.example/a/b', '1.5.0', 'web');
  await warehouse.pull(NOW, 'acme', 'providers', { providers: [row] });
  await warehouse.evaluate(NOW);
  const file = join(warehouse.directory, 'versions.yaml');
  const states = async () => (await warehouse.findings('below-minimum-provider')).map(({ state }) => state);
  await warehouse.pull(LATER, 'acme', 'providers', { providers: [{ ...row, workspaces: null, workspace_count: 2 }] });
  await warehouse.evaluate(LATER);
  expect(await states()).toEqual(['open']);
  await writeFile(file, policy);
  await warehouse.database.script(await renderPolicy(warehouse.files, readPolicy(file)));
  await warehouse.evaluate(LATER);
  expect(await states()).toEqual(['resolved']);
});
