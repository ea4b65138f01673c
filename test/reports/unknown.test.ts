import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { renderReports } from '../../src/tell/reports/index.ts';
import { createMailWarehouse } from '../helpers/mail-warehouse.ts';
import {
  createReportWarehouse,
  type PulledTables,
  type ReportWarehouse,
  workspace,
} from '../helpers/report-warehouse.ts';

const NIGHT = '2026-11-01T02:15:00Z';
const NOTHING = 'Nothing is known: no source of this report was ever pulled completely';

async function render(warehouse: ReportWarehouse, names: readonly string[]) {
  const options = warehouse.options(NIGHT, { names });
  await renderReports(options);
  return async (file: string) => readFile(join(options.out, file), 'utf8');
}

test('a first night on which every source fails is no clean estate: no report has a number, a headline or an empty table', async () => {
  const warehouse = await createReportWarehouse();
  await warehouse.pull(NIGHT, { workspaces: 'failed', agents: 'failed', agent_pools: 'failed', keys: 'failed' });
  const read = await render(warehouse, ['overview', 'drift', 'keys', 'agent-health', 'cost', 'storage']);
  for (const name of ['drift', 'keys', 'agent-health', 'cost', 'storage']) {
    const { summary, state } = JSON.parse(await read(`${name}.json`));
    expect(summary.headline, name).toBe(NOTHING);
    expect(
      Object.values(summary).filter((value) => typeof value === 'number'),
      name,
    ).toEqual([]);
    expect(state, name).not.toBe('ok');
  }
  const overview = JSON.parse(await read('overview.json'));
  expect(overview.summary).toMatchObject({ drifting: null, failing: null, pools_without_live_agents: null });
  expect(overview.summary.headline).not.toMatch(/drifting|checks|agent/u);
  expect(await read('drift.txt')).toContain('Resolved: not known, never pulled.');
  expect(await read('drift.txt')).not.toContain('No drift was resolved');
});

test('a first night on which every source fails has no empty week, and no link to a table that is not there', async () => {
  const warehouse = await createReportWarehouse();
  await warehouse.pull(NIGHT, { workspaces: 'failed', agents: 'failed', agent_pools: 'failed', keys: 'failed' });
  const names = ['deadlines', 'drift', 'check-failure', 'agent-health', 'cost'];
  const read = await render(warehouse, names);
  expect(JSON.parse(await read('deadlines.json')).weeks).toEqual([]);
  for (const name of names) {
    const page = await read(`${name}.html`);
    const links = [...page.matchAll(/href="#([^"]+)"/gu)].map(([, id]) => id);
    expect(
      links.filter((id) => !page.includes(`id="${id}"`)),
      name,
    ).toEqual([]);
  }
});

test('what a rule does not know of a subject leaves its report unknown, and not ok', async () => {
  const warehouse = await createMailWarehouse();
  const agents = ['a', 'b'].map((id) => ({ agent_id: id, pool_id: 'p', status: 'draining', last_ping_at: NIGHT }));
  const links = [{ pool_id: 'p', workspace_id: 'ws-a', relation: 'attached' }];
  const stored = ['external_volumes', 'volume_snapshots', 'keys', 'kms_providers', 'key_distributions'];
  const empty = [...stored, 'modules', 'providers', 'servers', 'registry_releases'];
  await warehouse.pull(NIGHT, {
    workspaces: [workspace('a', { workspace_iac_version: null })],
    tf_versions: [{ version: '1.10.0', workspaces: 'b' }],
    agent_pools: [{ pool_id: 'p', name: 'p', organization_scoped: false }],
    agent_pool_workspaces: links,
    agents,
    mesh_roles: ['odd', 'even'].map((name) => ({ name, token_type: null, consul_policies: ['web'] })),
    volumes: ['v', 'w'].map((id) => ({ volume_id: id, namespace: 'default', schedulable: null })),
    ...Object.fromEntries(empty.map((table) => [table, []])),
  });
  await warehouse.evaluate(NIGHT);
  const names = ['agent-health', 'keys', 'storage', 'version-sprawl'];
  const options = { ...warehouse.options(NIGHT), names };
  await renderReports(options);
  const states = names.map(async (name) => {
    const { state, finding_counts } = JSON.parse(await readFile(join(options.out, `${name}.json`), 'utf8'));
    return [name, finding_counts?.[0]?.state, state];
  });
  expect(await Promise.all(states)).toEqual(names.map((name) => [name, 'ok', 'unknown']));
  for (const [name, told] of [
    ['agent-health', 'It is unknown whether 2 agents work:'],
    ['keys', 'It is unknown whether 2 roles issue management tokens.'],
    ['storage', 'It is not reported whether 2 volumes can be scheduled,'],
  ] as const) {
    for (const extension of ['html', 'txt'])
      expect(await readFile(join(options.out, `${name}.${extension}`), 'utf8'), name).toContain(told);
  }
});

test('a night after a failed pull knows of no change, and says so of each table of changes', async () => {
  const warehouse = await createReportWarehouse();
  await warehouse.pull('2026-10-30T02:15:00Z', { workspaces: [workspace('a', { drifted: true })] });
  await warehouse.pull('2026-10-31T02:15:00Z', { workspaces: [workspace('a')] });
  await warehouse.pull(NIGHT, { workspaces: 'failed' });
  const read = await render(warehouse, ['drift', 'check-failure']);
  for (const name of ['drift', 'check-failure']) {
    for (const title of ['New and returned', 'Resolved', 'Deleted'])
      expect(await read(`${name}.html`), name).toContain(`${title}: not known.`);
  }
});

test('a table whose number is not known is not said to be empty', async () => {
  const warehouse = await createReportWarehouse();
  const keys = { keys: [{ name: 'signing' }], key_distributions: [{ provider_name: 'kms', key_name: 'signing' }] };
  await warehouse.pull('2026-10-31T02:15:00Z', {
    ...keys,
    volumes: [],
    external_volumes: [],
    agent_pools: [{ pool_id: 'p', name: 'p' }],
    agents: [],
  });
  await warehouse.pull(NIGHT, {
    key_distributions: 'failed',
    volumes: [],
    external_volumes: 'failed',
    agent_pools: [{ pool_id: 'p', name: 'p' }],
    agents: 'failed',
  });
  const read = await render(warehouse, ['keys', 'storage', 'agent-health']);
  const unknown = {
    keys: ['In no provider'],
    storage: ['Registered but missing', 'Orphaned'],
    'agent-health': ['Pools without a live agent'],
  };
  for (const [name, titles] of Object.entries(unknown)) {
    for (const title of titles) {
      expect(await read(`${name}.html`), title).toContain(`${title}: not known.`);
      expect(await read(`${name}.txt`), title).toContain(`${title}: not known.`);
    }
  }
  expect(await read('keys.html')).not.toContain('Every part of the sources is known');
});

/** Nights of one target, each with what it pulled; the numbers, tables and headline of a report that knows a part of its sources. */
const PARTLY_PULLED: readonly (readonly [string, readonly PulledTables[], string, object])[] = [
  [
    'keys',
    [{ keys: 'failed', mesh_roles: [{ name: 'web', token_type: 'client', consul_policies: ['web'] }] }],
    'It is not known whether keys are overdue for rotation; 0 roles issue management tokens',
    { keys: null, overdue: null, too_many_versions: null, versions_enabled: null, deletion_allowed: null, roles: 1 },
  ],
  [
    'keys',
    [{ keys: [], mesh_roles: 'failed' }],
    '0 of 0 keys are overdue for rotation; the roles for management tokens are not known',
    { keys: 0, providers: null, management_roles: null, roles: null },
  ],
  [
    'certificates',
    [
      {
        ca_roots: [{ root_id: 'r', active: true }],
        authority_certificates: [{ root_id: 'r', kind: 'root', fingerprint: 'f' }],
      },
    ],
    'None of 1 active root and 0 intermediates is known to expire soon; the leaf certificates are not known',
    {
      roots: 1,
      expiry_unknown: 1,
      leaves: null,
      leaves_expired: null,
      leaves_expiring: null,
      chain: [{ leaf_count: null }],
    },
  ],
  [
    'certificates',
    [{ ca_roots: 'failed', leaf_certificates: [] }],
    'None of 0 leaf certificates is known to expire soon; the CA roots are not known',
    { leaves: 0, roots: null, roots_expired: null, intermediates_expiring: null },
  ],
  [
    'storage',
    [{ volumes: 'failed', external_volumes: [], volume_snapshots: 'failed' }],
    '? volumes, ? unprotected, ? missing in the provider, ? in the provider and not registered',
    {
      volumes: null,
      unschedulable: null,
      lost_claims: null,
      external_volumes: 0,
      snapshots: null,
      stale_snapshots: null,
    },
  ],
  [
    'agent-health',
    [{ agent_pools: [{ pool_id: 'p' }] }, { agent_pools: [{ pool_id: 'p' }] }],
    '? of 1 pool has no live agent; the agents are not known',
    {
      pools: 1,
      pools_before: 1,
      agents: null,
      silent_agents: null,
      agents_before: null,
      pools_without_live_agents_before: null,
    },
  ],
  [
    'agent-health',
    [{ agent_pools: 'failed', agents: [] }],
    'The agent pools are not known; 0 of 0 agents are silent',
    { pools: null, pools_without_live_agents: null, stranded_workspaces: null, agents: 0 },
  ],
  [
    'version-sprawl',
    [{ tf_versions: [{ version: '1.9.8' }], workspaces: 'failed' }],
    '1 version in use',
    {
      versions: 1,
      workspaces: null,
      workspaces_behind: null,
      denied: null,
      ended: null,
      withdrawn: null,
      versions_in_use: [{ workspaces: null, workspaces_before: null }],
    },
  ],
  [
    'version-sprawl',
    [{ workspaces: [workspace('a')] }, { workspaces: [workspace('a')] }],
    '0 of 1 workspace is older than 1.9.8; 1 version in use',
    { versions: 1, versions_before: 1, workspaces_behind: 0, workspaces_behind_before: 0, providers_spread: null },
  ],
  [
    'version-sprawl',
    [{ tf_versions: [], workspaces: [workspace('a', { workspace_iac_version: null })] }],
    'No version of Terraform or OpenTofu is known to be in use; the version of 1 workspace is not known',
    { workspaces: 1, not_comparable: 1, workspaces_behind: null, behind_major: null, workspaces_on_prereleases: null },
  ],
];

const key = (name: string) => ({ name, latest_version: 1 });

/** As above, of sources that were pulled, and whose rows do not tell it. */
const PARTLY_TOLD: typeof PARTLY_PULLED = [
  [
    'keys',
    [{ keys: [{ name: 'a' }], mesh_roles: [{ name: 'odd', token_type: null, consul_policies: ['web'] }] }],
    'It is not known whether keys are overdue for rotation; the roles for management tokens are not known',
    {
      keys: 1,
      overdue: null,
      too_many_versions: null,
      versions_enabled: null,
      deletion_allowed: null,
      management_roles: null,
    },
  ],
  [
    'keys',
    [
      {
        keys: [key('a'), key('b')],
        key_versions: [{ key_name: 'b', version: 1, creation_time: NIGHT }],
        mesh_roles: [],
      },
    ],
    '0 of 2 keys are overdue for rotation, of 1 it is not known; 0 roles issue management tokens',
    { overdue: 0, age_unknown: 1 },
  ],
  [
    'certificates',
    [{ ca_roots: [{ root_id: 'r', active: true }], leaf_certificates: [{ service: 'web' }] }],
    'None of 1 active root, 0 intermediates and 1 leaf certificate is known to expire soon',
    {
      roots_expiring: null,
      roots_expired: null,
      leaves_expiring: null,
      leaves_expired: null,
      intermediates_expiring: 0,
    },
  ],
  [
    'storage',
    [{ volumes: [{ volume_id: 'v' }], external_volumes: [{ plugin_id: 'p', external_id: 'v' }], volume_snapshots: [] }],
    '1 volume, ? cannot be scheduled',
    { unschedulable: null, unhealthy: null, abnormal: null },
  ],
  [
    'agent-health',
    [
      {
        agent_pools: [{ pool_id: 'p' }],
        agents: [{ agent_id: 'a', pool_id: 'p', status: 'draining', last_ping_at: NIGHT }],
      },
    ],
    '? of 1 pool has no live agent; 0 of 1 agent is silent',
    { pools_without_live_agents: null, unknown_pools: 1, live_agents: null },
  ],
  [
    'check-failure',
    [{ workspaces: [workspace('a', { checks_failed: 1 })] }, { workspaces: [workspace('a', { checks_unknown: 1 })] }],
    '1 of 1 workspace fails its checks; nothing changed',
    { failing: 1, checks_failed: null, by_project: [{ checks_failed: null }] },
  ],
  [
    'drift',
    [
      { workspaces: [workspace('a', { drifted: true }), workspace('b'), workspace('c')] },
      { workspaces: [workspace('a', { drifted: null }), workspace('b', { drifted: null }), workspace('c')] },
    ],
    '1 of 3 workspaces drifts, 1 of them not assessed now; nothing changed; 1 other is not assessed now',
    { drifting: 1, resources_drifted: null, by_project: [{ resources_drifted: null }] },
  ],
  [
    'cost',
    [null, 50].map((resources) => ({ workspaces: [workspace('a'), workspace('b', { current_rum_count: resources })] })),
    '60 resources under management',
    { resources: 60, resources_before: null },
  ],
];

test.each([...PARTLY_PULLED, ...PARTLY_TOLD])(
  'what the report %s does not know has no number beside what it knows: %#',
  async (report, nights, headline, expected) => {
    const warehouse = await createReportWarehouse();
    for (const [index, tables] of nights.entries()) await warehouse.pull(`2026-11-0${index + 1}T02:15:00Z`, tables);
    const { summary, ...data } = await warehouse.data(report, `2026-11-0${nights.length}T02:15:00Z`, [
      'chain',
      'versions',
      'by_project',
    ]);
    expect({ ...data, ...summary, versions_in_use: data.versions }).toMatchObject({ ...expected, headline });
  },
);

test('one target that was pulled is enough to know something', async () => {
  const warehouse = await createReportWarehouse();
  await warehouse.pull(NIGHT, { workspaces: [workspace('a', { drifted: true })] }, 'east');
  await warehouse.pull(NIGHT, { workspaces: 'failed' }, 'west');
  const { summary } = await warehouse.data('drift', NIGHT, []);
  expect(summary).toMatchObject({ drifting: 1, headline: '1 of 1 workspace drifts' });
});

test('of one thing a page says so in the singular', async () => {
  const warehouse = await createReportWarehouse();
  await warehouse.pull(NIGHT, {
    workspaces: [workspace('a', { drifted: true })],
    agent_pools: [{ pool_id: 'p', name: 'p' }],
    agents: [],
  });
  const read = await render(warehouse, ['overview', 'agent-health', 'cost', 'drift']);
  expect(await read('drift.txt')).toMatch(/^1 workspace$/mu);
  expect(await read('overview.txt')).toMatch(/^1 workspace drifting$/mu);
  expect(await read('agent-health.txt')).toMatch(/^1 pool without a live agent$/mu);
  for (const name of ['overview', 'agent-health', 'cost', 'drift']) {
    expect(await read(`${name}.txt`), name).not.toMatch(/\b1 (?:workspaces|pools|agents|roots|versions)\b/u);
  }
});
