import { copyFile, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { QueryProcess } from '../../src/ask/query/query-process.ts';
import { fillSavedQuery, findSavedQuery, loadSavedQueries } from '../../src/ask/query/saved.ts';
import { parseParam } from '../../src/cli/define.ts';
import { loadConfig } from '../../src/config/config.ts';
import { PACKAGE_ROOT } from '../../src/core/paths.ts';
import { Redactor } from '../../src/core/redact/redactor.ts';
import { cli } from '../helpers/cli.ts';
import { prepareOnce } from '../helpers/prepared.ts';
import { createReportWarehouse, type ReportWarehouse } from '../helpers/report-warehouse.ts';
import { tempFolder } from '../helpers/temp.ts';

const FIRST = '2026-11-02T02:00:00Z';
const SECOND = '2026-11-09T02:00:00Z';
const THIRD = '2026-11-16T02:00:00Z';

const workspace = (name: string, fields: object = {}) => ({
  external_id: `ws-${name}`,
  workspace_name: name,
  project_name: 'payments',
  workspace_created_at: '2024-01-01T00:00:00Z',
  current_run_applied_at: '2026-11-01T00:00:00Z',
  drifted: false,
  ...fields,
});

/** Three weekly pulls. `blue` drifts for a week, `old` was never applied, `gone` goes away, `late` appears. */
const LATE = {
  workspace_updated_at: '2026-11-15T00:00:00Z',
  module_count: 0,
  current_run_status: 'errored',
  resources_drifted: 3,
  resources_undrifted: 9,
};

const BLUE = { resources_drifted: 0, resources_undrifted: 12 };
/** As the explorer answers it. */
const UNASSESSED = { drifted: null, resources_drifted: 0, resources_undrifted: 8 };

async function pullThreeWeeks({ pull }: ReportWarehouse): Promise<void> {
  const old = workspace('old', { current_run_applied_at: null, ...UNASSESSED, current_rum_count: 7 });
  await pull(FIRST, {
    workspaces: [workspace('blue', BLUE), old, workspace('gone')],
    tf_versions: [{ version: '1.5.7', workspaces: 'blue, old' }],
    providers: [{ name: 'aws', version: '1.5.7', workspaces: 'blue' }],
    modules: [
      { name: 'vpc', source: 's', version: '1', registry_type: 'public', workspaces: 'blue, old', workspace_count: 2 },
      { name: 'own', source: 's', version: '1', registry_type: 'private', workspaces: 'blue', workspace_count: 1 },
      { name: 'new', source: 's', version: '1', workspaces: 'old', workspace_count: 1 },
    ],
    keys: [{ name: 'k1', type: 'rsa-2048' }, { name: 'lonely' }],
    kms_providers: [{ name: 'main', provider: 'awskms' }],
    key_distributions: [{ provider_name: 'main', key_name: 'k1', protection: 'hsm' }],
    agent_pools: [
      { pool_id: 'apool-1', name: 'builders' },
      { pool_id: 'apool-2', name: 'none' },
    ],
    agents: [
      { agent_id: 'agent-1', pool_id: 'apool-1', last_ping_at: '2026-11-02T01:59:00Z' },
      { agent_id: 'agent-2', pool_id: 'apool-1', last_ping_at: '2026-11-01T00:00:00Z' },
    ],
    volumes: [
      { volume_id: 'v1', namespace: 'default', name: 'kept', plugin_id: 'p', external_id: 'e1' },
      { volume_id: 'v2', namespace: 'default', name: 'bare', plugin_id: 'p', external_id: 'e2' },
    ],
    volume_snapshots: [
      {
        plugin_id: 'p',
        snapshot_id: 's',
        external_source_volume_id: 'e1',
        is_ready: true,
        created_at: '2026-11-15T00:00:00Z',
      },
    ],
    ca_roots: [
      { root_id: 'r1', name: 'active root', active: true, not_after: '2026-12-01T00:00:00Z' },
      { root_id: 'r2', name: 'old root', active: false, not_after: '2026-11-20T00:00:00Z' },
    ],
    leaf_certificates: [{ service: 'web', namespace: 'default', valid_before: '2027-11-16T00:00:00Z' }],
  });
  await pull(SECOND, { workspaces: [workspace('blue', { ...BLUE, drifted: true }), old] });
  await pull(THIRD, {
    workspaces: [workspace('blue', BLUE), old, workspace('late', { ...LATE, tags: 'team:web, managed' })],
    agents: 'failed',
  });
}

/** A warehouse file after the three weeks, with a finding and an action. */
const prepareWeeks = () =>
  prepareOnce('saved-queries', async (created) => {
    const warehouse = await createReportWarehouse();
    await pullThreeWeeks(warehouse);
    await warehouse.database.run(`
    insert into findings by name select
      'f1' as finding_id, 'acme' as target, 'drifted-workspace' as rule, 'warning' as severity, 'workspace' as subject_type, 'ws-blue' as subject_id,
      'blue' as subject_name, 'blue has drifted' as title, 'open' as state, timestamptz '${FIRST}' as first_seen, timestamptz '${THIRD}' as last_seen,
      2 as times_reopened, timestamptz '${SECOND}' as opened_at`);
    await warehouse.database.run(`
    insert into actions by name select
      'acme' as target, 'plan-1' as plan_id, 'a1' as action_id, 'drop-dead-views' as playbook, 'deleteView' as operation, 'f1' as finding_id,
      'applied' as status, timestamptz '${SECOND}' as started_at, timestamptz '${SECOND}' as finished_at`);
    await warehouse.database.run('checkpoint');
    await copyFile(warehouse.file, join(created, 'warehouse.duckdb'));
  });

async function project() {
  const folder = await tempFolder();
  await mkdir(join(folder, 'data'), { recursive: true });
  await copyFile(join(await prepareWeeks(), 'warehouse.duckdb'), join(folder, 'data', 'warehouse.duckdb'));
  await writeFile(
    join(folder, 'tidemark.yaml'),
    `targets: [{ name: acme, kind: platform, url: "https://tidemark.test", organization: acme, token: "\${TIDEMARK_TEST_TOKEN}" }]\nsubjectPages: 0\n`,
  );
  const run = (...words: string[]) => cli(['sql', ...words], { cwd: folder });
  return {
    folder,
    run,
    rows: async (...words: string[]) => (await run('--json', '--saved', ...words)).json<Record<string, unknown>[]>(),
  };
}

/** Each saved query with parameters, and what its first rows contain. */
const CASES: Readonly<Record<string, { readonly words?: readonly string[]; readonly rows: readonly object[] }>> = {
  'actions-taken': { words: ['since=2026-11-01'], rows: [{ action_id: 'a1', playbook: 'drop-dead-views' }] },
  'agents-by-pool': {
    rows: [
      { pool: 'none', agents: 0, alive: 0 },
      { pool: 'builders', agents: 2, alive: 1 },
    ],
  },
  changes: {
    words: ['since=2026-11-03'],
    rows: [
      { changed_at: THIRD, change: 'changed', name: 'blue' },
      { changed_at: THIRD, change: 'new', name: 'late' },
      { changed_at: SECOND, change: 'changed', name: 'blue' },
      { changed_at: SECOND, change: 'gone', name: 'gone' },
    ],
  },
  'drift-duration': {
    words: ['since=2026-11-01'],
    rows: [{ project_name: 'payments', periods: 1, current_periods: 0, longest_days: 7 }],
  },
  'drift-share': {
    rows: [{ project_name: 'payments', workspaces: 3, not_reported: 2, resources_assessed: 12, drifted_percent: 0 }],
  },
  'expiring-certificates': { rows: [{ kind: 'CA root', name: 'active root', days_left: 15 }] },
  'idle-workspaces': { words: ['days=365'], rows: [{ workspace_name: 'old', resources: 7 }] },
  'keys-by-provider': {
    rows: [
      { provider_name: 'main', provider_kind: 'awskms', key_name: 'k1' },
      { provider_name: null, key_name: 'lonely' },
    ],
  },
  'latest-updated': { words: ['since=2026-11-01'], rows: [{ workspace_name: 'late' }] },
  'module-registries': {
    words: ['since=2026-11-01'],
    rows: [{ pulled_at: FIRST, modules: 3, public_modules: 1, not_known: 1, private_percent: null }],
  },
  'oldest-findings': { words: ['severity=warning'], rows: [{ subject: 'blue', days: 7 }] },
  'pull-costs': {
    words: ['days=7'],
    rows: [
      { source: 'agents', pulls: 1, complete: 0 },
      { source: 'workspaces', pulls: 2, complete: 2 },
    ],
  },
  'public-modules': {
    rows: [
      { name: 'vpc', workspaces: 'blue, old' },
      { name: 'new', registry_type: null },
    ],
  },
  'runs-by-status': {
    rows: [
      { current_run_status: '(none)', workspaces: 2 },
      { current_run_status: 'errored', share_percent: 33.3 },
    ],
  },
  'unassessed-workspaces': { rows: [{ workspace_name: 'old' }, { workspace_name: 'late' }] },
  'unknown-sources': { words: ['hours=100000'], rows: [{ source: 'agents', status: 'failed', complete_at: FIRST }] },
  'unprotected-volumes': { rows: [{ name: 'bare', last_snapshot_at: null }] },
  'unstable-findings': { words: ['times=2'], rows: [{ subject: 'blue', times_reopened: 2 }] },
  'version-users': {
    words: ['version=1.5.7', 'name=terraform'],
    rows: [{ workspace_name: 'blue', project_name: 'payments' }, { workspace_name: 'old' }],
  },
  'workspaces-without-modules': { rows: [{ workspace_name: 'late', project_name: 'payments' }] },
  'workspace-history': {
    words: ['workspace=ws-blue'],
    rows: [{ drifted: false, valid_to: SECOND }, { drifted: true }, { drifted: false, valid_to: null }],
  },
  'workspaces-by-tag': { words: ['tag=team'], rows: [{ tag: 'team:web', workspace_name: 'late' }] },
};

/** One process runs them all, as in the shell. */
test('each saved query answers its question, and runs with its defaults', async () => {
  const { folder } = await project();
  const saved = loadSavedQueries([PACKAGE_ROOT]);
  const { data, directory, sql } = loadConfig(
    join(folder, 'tidemark.yaml'),
    { TIDEMARK_TEST_TOKEN: 'x' },
    new Redactor(),
  );
  const config = { data, directory, sql };
  const queries = new QueryProcess(config, process.env);
  onTestFinished(() => queries.close());
  const rows = async (name: string, words: readonly string[]) => {
    const params = words.reduce((values, word) => parseParam(word, values), {});
    let json = '';
    const text = async (part: string) => {
      json += part;
    };
    const request = { config, ...fillSavedQuery(findSavedQuery(saved, name), params), format: 'json' } as const;
    await queries.run(request, text, new AbortController().signal);
    return JSON.parse(json) as unknown[];
  };
  for (const [name, { words = [], rows: expected }] of Object.entries(CASES)) {
    expect(await rows(name, words), name).toMatchObject(expected);
    const required = words.filter((word) => /^(?:version|workspace)=/u.test(word));
    if (required.length < words.length) await rows(name, required);
  }
});

test('an empty saved query is named', async () => {
  const folder = await tempFolder();
  await mkdir(join(folder, 'queries', 'saved'), { recursive: true });
  for (const text of ['', '-- title: nothing yet\n', '\n;\n']) {
    await writeFile(join(folder, 'queries', 'saved', 'own.sql'), text);
    const problem = { code: 'DATA', message: 'queries/saved/own.sql has no query' };
    expect(() => findSavedQuery(loadSavedQueries([folder]), 'own'), text).toThrow(expect.objectContaining(problem));
  }
});

test('an unknown line of a header is named, with the nearest that there is', async () => {
  const folder = await tempFolder();
  await mkdir(join(folder, 'queries', 'saved'), { recursive: true });
  await writeFile(join(folder, 'queries', 'saved', 'own.sql'), '-- title: Own\n-- params: days integer\nselect 1');
  const message = 'queries/saved/own.sql: unknown header line `-- params: …`: did you mean param?';
  expect(() => findSavedQuery(loadSavedQueries([folder]), 'own')).toThrow(message);
});

test('drift that is not assessed has not ended, and drift that its count contradicts is not assessed', async () => {
  const { pull, database } = await createReportWarehouse();
  await pull(FIRST, { workspaces: [workspace('blue', { drifted: true }), workspace('red', { drifted: true })] });
  const contradicts = { drifted: false, resources_drifted: 1 };
  await pull(SECOND, { workspaces: [workspace('blue', { drifted: null }), workspace('red', contradicts)] });
  await pull(THIRD, { workspaces: [workspace('blue', { drifted: true }), workspace('red', contradicts)] });
  const read = async (name: string) => readFile(join(PACKAGE_ROOT, 'queries', 'saved', `${name}.sql`), 'utf8');
  expect(await database.rows(await read('drift-duration'), { since: FIRST })).toMatchObject([
    { periods: 2, current_periods: 2, longest_days: 14 },
  ]);
  expect(await database.rows(await read('unassessed-workspaces'))).toMatchObject([{ workspace_name: 'red' }]);
});

test('drift goes on where its workspace is moved to another project, or its project gets another name', async () => {
  const { pull, database } = await createReportWarehouse();
  const drifting = (project_name: string) => [workspace('blue', { drifted: true, project_name })];
  await pull(FIRST, { workspaces: drifting('payments') });
  await pull(SECOND, { workspaces: drifting('billing') });
  await pull(THIRD, { workspaces: drifting('billing') });
  const sql = await readFile(join(PACKAGE_ROOT, 'queries', 'saved', 'drift-duration.sql'), 'utf8');
  expect(await database.rows(sql, { since: FIRST })).toMatchObject([
    { project_name: 'billing', periods: 1, current_periods: 1, longest_days: 14 },
  ]);
});

test('what the configuration leaves out is not unknown', async () => {
  const { pull, database } = await createReportWarehouse();
  await pull(FIRST, { workspaces: [workspace('blue')], agents: 'failed', keys: [] });
  await pull(THIRD, { workspaces: 'left-out', agents: 'left-out' });
  const sql = await readFile(join(PACKAGE_ROOT, 'queries', 'saved', 'unknown-sources.sql'), 'utf8');
  expect(await database.rows(sql, { hours: 36 })).toMatchObject([{ source: 'keys', status: 'complete' }]);
});

test('a workspace whose current run is a plan was last applied by an earlier run', async () => {
  const { pull, database } = await createReportWarehouse();
  const never = workspace('never', { current_run_applied_at: null });
  await pull(FIRST, { workspaces: [workspace('blue'), never] });
  await pull(SECOND, { workspaces: [workspace('blue', { current_run_applied_at: null }), never] });
  const sql = await readFile(join(PACKAGE_ROOT, 'queries', 'saved', 'idle-workspaces.sql'), 'utf8');
  expect(await database.rows(sql, { days: 7 })).toMatchObject([
    { workspace_name: 'never', current_run_applied_at: null },
    { workspace_name: 'blue', current_run_applied_at: '2026-11-01T00:00:00Z', idle_days: 8 },
  ]);
  expect(await database.rows(sql, { days: 365 })).toMatchObject([{ workspace_name: 'never' }]);
});

test('what is not known of agents, snapshots and roots is not taken for good', async () => {
  const { pull, database } = await createReportWarehouse();
  const read = async (name: string, params: Record<string, number>) =>
    database.rows(await readFile(join(PACKAGE_ROOT, 'queries', 'saved', `${name}.sql`), 'utf8'), params);
  const volume = (id: string) => ({ volume_id: id, namespace: 'default', name: id, plugin_id: 'p', external_id: id });
  const snapshot = (id: string, fields: object = {}) => ({
    plugin_id: 'p',
    snapshot_id: `of ${id}`,
    external_source_volume_id: id,
    is_ready: true,
    created_at: '2026-11-01T00:00:00Z',
    ...fields,
  });
  await pull(FIRST, {
    agent_pools: [{ pool_id: 'apool-1', name: 'builders' }],
    agents: [{ agent_id: 'agent-1', pool_id: 'apool-1', last_ping_at: '2099-01-01T00:00:00Z' }],
    volumes: ['kept', 'of-another-plugin', 'to-come', 'ambiguous'].map(volume),
    volume_snapshots: [
      snapshot('kept'),
      snapshot('of-another-plugin', { plugin_id: 'q' }),
      snapshot('to-come', { created_at: '2099-01-01T00:00:00Z' }),
      snapshot('ambiguous', { is_ambiguous: true }),
    ],
    ca_roots: [{ root_id: 'r1', name: 'may be active', active: null, not_after: '2026-11-20T00:00:00Z' }],
  });
  expect(await read('agents-by-pool', { minutes: 10 })).toMatchObject([{ agents: 1, alive: 0 }]);
  expect((await read('unprotected-volumes', { days: 7 })).map(({ name }) => name)).toEqual([
    'ambiguous',
    'of-another-plugin',
    'to-come',
  ]);
  expect(await read('expiring-certificates', { days: 30 })).toMatchObject([{ name: 'may be active' }]);
  const lists = { agent_pools: [{ pool_id: 'apool-1', name: 'builders' }] };
  await pull(FIRST, { ...lists, agents: 'failed' }, 'other');
  await pull(FIRST, { ...lists, agents: [{ agent_id: 'a', pool_id: 'apool-1', last_ping_at: FIRST }] }, 'stale');
  await pull(SECOND, { ...lists, agents: 'failed' }, 'stale');
  const unlisted = JSON.stringify([{ column: 'pool_id', value: 'apool-1', reason: 'refused' }]);
  await pull(FIRST, { ...lists, agents: [{ agent_id: 'b', pool_id: 'apool-1', last_ping_at: FIRST }] }, 'part');
  await database.run(
    `update pulls set status = 'partial', unknown_parts = '${unlisted}' where target = 'part' and source = 'agents'`,
  );
  expect(await read('agents-by-pool', { minutes: 10 })).toMatchObject([
    { target: 'acme', alive: 0 },
    { target: 'stale', agents: 1, alive: 1 },
    { target: 'other', agents: null, alive: null },
    { target: 'part', agents: null, alive: null },
  ]);
});

test('every shipped query has a title, a description and a case here', async () => {
  const queries = [...loadSavedQueries([PACKAGE_ROOT]).values()];
  expect(queries.map(({ name }) => name)).toEqual(Object.keys(CASES).sort());
  for (const { name, title, description } of queries) {
    expect(title, name).not.toBe(name);
    expect(description, name).toMatch(/\.$/u);
  }
});

describe('parameters', () => {
  test('are checked before the query runs', async () => {
    const { run } = await project();
    for (const [words, message] of [
      [['idle-workspaces', 'days=soon'], 'days=soon is not a whole number such as 30'],
      [['idle-workspaces', 'months=1'], 'idle-workspaces has no parameter months\n  its parameters are days=INTEGER'],
      [['version-users'], 'version-users needs version=VALUE'],
      [['changes', 'since=yesterday'], 'since=yesterday is not a time such as'],
      [['changes', 'since'], 'since is not NAME=VALUE'],
      [['idle-workspace'], 'unknown saved query idle-workspace'],
    ] as const) {
      expect(await run('--saved', ...words)).toMatchObject({ exit: 2, stderr: expect.stringContaining(message) });
    }
  });

  test('are values, never SQL', async () => {
    const { rows } = await project();
    expect(await rows('workspace-history', `workspace=' or true --`)).toEqual([]);
  });
});

test('a value that is given has the type of its parameter, as its default has', async () => {
  const { folder, rows } = await project();
  await mkdir(join(folder, 'queries', 'saved'), { recursive: true });
  await writeFile(
    join(folder, 'queries', 'saved', 'typed.sql'),
    `-- param: low integer = 9
-- param: high integer = 10
-- param: share number = 1.5
-- param: all boolean = false
-- param: since timestamp = timestamptz '2026-11-02'
select $low < $high as ordered, $low + 1 as next, to_days($low) = interval 9 days as days, $share * 2 as twice, not $all as some,
  $since - interval 1 day as before
limit $low
`,
  );
  const expected = [{ ordered: true, next: 10, days: true, twice: 3, some: true, before: '2026-11-01T00:00:00Z' }];
  expect(await rows('typed')).toEqual(expected);
  expect(await rows('typed', 'low=9', 'high=10', 'share=1.5', 'all=false', 'since=2026-11-02')).toEqual(expected);
  expect(await rows('typed', 'high=99999999999999999999')).toEqual(expected);
});

test('a file beside the configuration adds a query, and a broken header names its line', async () => {
  const { folder, run, rows } = await project();
  await mkdir(join(folder, 'queries', 'saved'), { recursive: true });
  const file = join(folder, 'queries', 'saved', 'mine.sql');
  await writeFile(file, '-- title: Mine\n-- param: n integer = 40 + 2\nselect $n::int as n\n');
  expect(await rows('mine')).toEqual([{ n: 42 }]);
  expect((await run('--list')).stdout).toMatch(/mine +Mine +n\n/u);
  await writeFile(file, '-- param: n integer = 44 - 2 - how many\nselect $n::int as n\n');
  expect(await rows('mine'), 'a default may subtract').toEqual([{ n: 42 }]);
  await writeFile(file, '\n-- title: Mine\r\n-- param: n integer = 42\r\nselect\n-- param: n as text\n$n::int as n\n');
  expect(await rows('mine'), 'a comment of the query is no header').toEqual([{ n: 42 }]);
  // Every object of JavaScript has `constructor`.
  for (const type of ['int32', 'constructor']) {
    await writeFile(file, `-- param: n ${type}\nselect 1\n`);
    expect(await run('--saved', 'mine', 'n=1')).toMatchObject({
      exit: 4,
      stderr: expect.stringContaining(`queries/saved/mine.sql: \`-- param: n ${type}\``),
    });
  }
});

test('commands that only read the warehouse need no token; others name the variable', async () => {
  const { folder } = await project();
  for (const words of [
    ['sql', 'select 1'],
    ['status'],
    ['findings'],
    ['tables'],
    ['report', 'drift'],
    ['export', '--out', 'exported'],
  ]) {
    expect(await cli(words, { cwd: folder }), words.join(' ')).toMatchObject({ exit: 0 });
  }
  const pull = await cli(['pull'], { cwd: folder });
  expect(pull).toMatchObject({ exit: 2, stderr: expect.stringContaining('TIDEMARK_TEST_TOKEN is not set') });
});
