import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { RunResult } from '../../src/run/run.ts';
import { pulledProject, type TestProject } from '../helpers/test-project.ts';
import { readRecorded } from '../recorded/recorded.ts';

interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

const text = (status: number, body: string, headers = {}): Answer => ({
  status,
  headers: { 'content-type': 'text/plain', ...headers },
  body,
});
const json = (body: unknown): Answer => ({
  ...text(200, JSON.stringify(body)),
  headers: { 'content-type': 'application/json' },
});
const recorded = (name: string): Answer => text(500, readRecorded(`nomad-faults/${name}`).body);

const PLUGIN = 'beefcafe';
const UNIMPLEMENTED = recorded('external-plugin-unhealthy');
const LISTS = ['/v1/volumes/external', '/v1/volumes/snapshot'];

/** How a plugin that is down, or what stands before it, answers; and the list of plugins of the moment, if it is another. */
const ANSWERS: [string, Answer, ((plugins: Record<string, unknown>[]) => Answer)?][] = [
  ['is gone', recorded('external-plugin-gone'), (all) => json(all.filter(({ ID }) => ID !== PLUGIN))],
  ['is gone with all others', recorded('external-plugin-gone'), () => json([])],
  [
    'hangs, and its controller is not healthy',
    UNIMPLEMENTED,
    (all) => json(all.map((one) => (one.ID === PLUGIN ? { ...one, ControllersHealthy: 0, NodesHealthy: 0 } : one))),
  ],
  ['says that it cannot list, and the list of plugins is refused', UNIMPLEMENTED, () => text(403, 'Permission denied')],
  ['says that it cannot list, and the list of plugins is empty', UNIMPLEMENTED, () => json([])],
  ['answers 500', text(500, 'rpc error: code = Internal')],
  ['is refused', text(403, 'Permission denied')],
  [
    'shows a login page',
    { ...text(200, '<!doctype html><title>Log in</title>'), headers: { 'content-type': 'text/html' } },
  ],
  ['redirects to a login page', text(302, '', { location: 'https://login.example/' })],
  ['answers with another object', json({ NextToken: '' })],
  ['answers with half a list', { ...json({}), body: '{"Volumes":[{"ExternalID":"v' }],
];

/** A project that pulled every source, whose plugin then answers so. */
async function pulledThen(answer: () => Answer | undefined, plugins?: (all: Record<string, unknown>[]) => Answer) {
  const state = { isDown: false };
  const project: TestProject = await pulledProject({
    flavor: 'hashicorp',
    faultHook: ({ path, query }) => {
      if (!state.isDown) return undefined;
      if (LISTS.includes(path) && query.get('plugin_id') === PLUGIN) return answer();
      if (path === '/v1/plugins' && plugins) return plugins(list);
      return undefined;
    },
  });
  const list = [...project.sandbox.services.scheduler.state.plugins.values()].map(({ id, capabilities }) => ({
    ID: id,
    ControllerRequired: capabilities.length > 0,
    ControllersExpected: capabilities.length > 0 ? 2 : 0,
    ControllersHealthy: capabilities.length > 0 ? 2 : 0,
    NodesHealthy: 3,
  }));
  state.isDown = true;
  return { project, state };
}

const versions = (table: string) =>
  `select * exclude (valid_to) from ${table}_history where plugin_id = '${PLUGIN}' order by all`;
const open =
  "select finding_id, state, unassessed_since is not null as unassessed from findings where rule in ('missing-external-volume', 'orphaned-external-volume', 'unprotected-volume', 'stale-snapshot') order by 1";

describe.each(ANSWERS)('where a plugin %s', (_, answer, plugins) => {
  test('its rows stay as they are, the others are merged, and nothing is said to be clean', async () => {
    const { project, state } = await pulledThen(() => answer, plugins);
    const tables = ['external_volumes', 'volume_snapshots'];
    const before = await Promise.all(tables.map((table) => project.rows(versions(table))));
    expect(before.every(({ length }) => length > 0)).toBe(true);
    const { pulls } = (
      await project.pull(['--source', 'external_volumes', '--source', 'volume_snapshots'], 1)
    ).json<RunResult>();
    expect(pulls.map(({ status, note }) => [status, note])).toEqual(
      tables.map(() => ['partial', expect.stringContaining(`plugin ${PLUGIN} is unknown: `)]),
    );
    expect(await Promise.all(tables.map((table) => project.rows(versions(table))))).toEqual(before);
    expect(
      await project.rows(`select distinct supported from external_volume_listings where plugin_id = '${PLUGIN}'`),
    ).toEqual([{ supported: null }]);
    state.isDown = false;
    await project.pull(['--source', 'external_volumes', '--source', 'volume_snapshots']);
    expect(await Promise.all(tables.map((table) => project.rows(versions(table))))).toEqual(before);
  });
});

test('a plugin that is healthy before and after, and says that it cannot list, is no failure; what it had stays', async () => {
  const { project } = await pulledThen(() => UNIMPLEMENTED);
  const before = await project.rows(versions('external_volumes'));
  const { pulls } = (await project.pull(['--source', 'external_volumes'])).json<RunResult>();
  expect(pulls).toMatchObject([{ status: 'complete', deleted: 0 }]);
  expect(await project.rows(versions('external_volumes'))).toEqual(before);
});

test('a plugin that nothing names any more keeps its rows until a person accepts that they are gone', async () => {
  const { project } = await pulledThen(
    () => recorded('external-plugin-gone'),
    (all) => json(all.filter(({ ID }) => ID !== PLUGIN)),
  );
  const { volumes } = project.sandbox.services.scheduler.state;
  const before = await project.rows(versions('external_volumes'));
  const SOURCE = ['--source', 'external_volumes'];
  const ACCEPT = ['--accept-shrink', 'external_volumes'];
  for (const words of [ACCEPT, SOURCE]) {
    expect((await project.pull(words, 1)).json<RunResult>().pulls).toMatchObject([{ status: 'partial', deleted: 0 }]);
    expect(await project.rows(versions('external_volumes'))).toEqual(before);
    for (const [key, volume] of volumes) if (volume.pluginId === PLUGIN) volumes.delete(key);
  }
  const { pulls } = (await project.pull(ACCEPT)).json<RunResult>();
  expect(pulls).toMatchObject([{ status: 'complete', deleted: before.length }]);
  await project.pull(SOURCE);
});

test('findings of the part are not assessed, and page, mail and SQL show what is not known', async () => {
  const { project } = await pulledThen(() => recorded('external-plugin-gone'));
  const before = await project.rows(open);
  await writeFile(
    join(project.folder, 'jobs', 'nightly.yaml'),
    'pull: [volumes, external_volumes, volume_snapshots]\nreports: [storage, overview]\n',
  ).catch(async () => {
    await mkdir(join(project.folder, 'jobs'));
    await writeFile(
      join(project.folder, 'jobs', 'nightly.yaml'),
      'pull: [volumes, external_volumes, volume_snapshots]\nreports: [storage, overview]\n',
    );
  });
  const run = await project.tidemark(['run', 'nightly', '--json']);
  expect([run.exit, run.stderr]).toEqual([1, expect.any(String)]);
  const after = await project.rows(open);
  expect(after.filter(({ state }) => state === 'resolved')).toEqual([]);
  expect(after.map(({ finding_id }) => finding_id)).toEqual(before.map(({ finding_id }) => finding_id));
  const part = `select count(*)::int as n from findings where detail ->> 'plugin_id' = '${PLUGIN}' and unassessed_since is null and rule in ('missing-external-volume', 'orphaned-external-volume', 'unprotected-volume', 'stale-snapshot') and state <> 'resolved'`;
  expect(await project.rows(part)).toEqual([{ n: 0 }]);
  expect(
    await project.rows(
      'select distinct source, part, value, reason from unknown_parts where not is_unsupported order by 1',
    ),
  ).toEqual([
    { source: 'external_volumes', part: 'plugin_id', value: PLUGIN, reason: 'no such plugin' },
    { source: 'volume_snapshots', part: 'plugin_id', value: PLUGIN, reason: 'no such plugin' },
  ]);
  const page = await readFile(join(project.folder, 'out', 'latest', 'storage.html'), 'utf8').catch(() => '');
  const { stdout } = await project.tidemark(['report', 'storage', '--json']);
  expect(stdout + page).toMatch(/2 parts are not known/u);
  const findings = await project.tidemark(['findings']);
  expect(findings.stdout + findings.stderr).toContain(
    `plugin ${PLUGIN} of external_volumes is unknown: no such plugin`,
  );
});

test('findings of a namespace that may not be read are not assessed, and stay', async () => {
  const state = { isDenied: false };
  const project = await pulledProject({
    flavor: 'hashicorp',
    faultHook: ({ path, query }, service) =>
      state.isDenied && path.startsWith('/v1/volume/csi/') && query.get('namespace') === 'prod'
        ? service.error(403, 'Permission denied')
        : undefined,
  });
  await mkdir(join(project.folder, 'jobs'));
  await writeFile(join(project.folder, 'jobs', 'nightly.yaml'), 'pull: [volumes, external_volumes]\nreports: []\n');
  const unassessed = async (condition: string) => {
    const sql = `select count(*)::int as n, count(unassessed_since)::int as unassessed from findings where detail ->> 'namespace' ${condition} 'prod' and rule in ('volume-unschedulable', 'lost-volume-claim') and state <> 'resolved'`;
    const [row] = await project.rows(sql);
    return row as { readonly n: number; readonly unassessed: number };
  };
  const before = await unassessed('=');
  expect(before.n).toBeGreaterThan(0);
  state.isDenied = true;
  expect((await project.tidemark(['run', 'nightly'])).exit).toBe(1);
  expect(await unassessed('=')).toEqual({ n: before.n, unassessed: before.n });
  expect(await unassessed('<>')).toMatchObject({ unassessed: 0 });
});

test.each([
  {
    pull: 'agent_pools, agents',
    rows: 'select pool_id as part, * from agents_history',
    path: (part: string) => `/agent-pools/${part}/agents`,
    findings: "detail ->> 'pool_id' as part, * from findings where rule in ('dead-agent', 'silent-agent')",
  },
  {
    pull: 'kms_providers, keys, key_distributions',
    rows: 'select provider_name as part, * from key_distributions_history',
    path: (part: string) => `/kms/${part}/key`,
    findings: "subject_id as part, * from findings where rule = 'empty-kms-provider'",
  },
])('where one part of $pull is refused, its rows stay and its findings are not assessed', async (source) => {
  let refused: string | undefined;
  const project = await pulledProject({
    flavor: 'hashicorp',
    faultHook: ({ path }, service) =>
      refused !== undefined && path.endsWith(source.path(refused))
        ? service.error(403, 'permission denied')
        : undefined,
  });
  await mkdir(join(project.folder, 'jobs'));
  await writeFile(join(project.folder, 'jobs', 'nightly.yaml'), `pull: [${source.pull}]\nreports: []\n`);
  expect((await project.tidemark(['run', 'nightly'])).exit).toBe(0);
  const before = await project.rows(`${source.rows} order by all`);
  const found = await project.rows(`select ${source.findings} and state <> 'resolved'`);
  expect(found.length).toBeGreaterThan(0);
  refused = String(found[0]?.part);
  expect((await project.tidemark(['run', 'nightly'])).exit).toBe(1);
  expect(await project.rows(`select status, note from pulls where status = 'partial'`)).toEqual([
    { status: 'partial', note: expect.stringMatching(`${refused} is unknown: .*permission denied`) },
  ]);
  expect(await project.rows(`${source.rows} order by all`)).toEqual(before);
  const after = await project.rows(`select ${source.findings} and state <> 'resolved'`);
  expect(after.filter(({ part, unassessed_since }) => (part === refused) === (unassessed_since === null))).toEqual([]);
});

test('a source of which every part is refused has failed: nothing of it was read', async () => {
  const state = { isDenied: false };
  const project = await pulledProject({
    flavor: 'hashicorp',
    faultHook: ({ path }, service) =>
      state.isDenied && path.startsWith('/v1/volume/csi/') ? service.error(403, 'Permission denied') : undefined,
  });
  const before = await project.rows('from volumes_history order by all');
  state.isDenied = true;
  const { pulls } = (await project.pull(['--source', 'volumes'], 3)).json<RunResult>(); // no source is complete
  expect(pulls).toMatchObject([{ status: 'failed', error: expect.stringContaining('Permission denied'), note: null }]);
  expect(await project.rows('from volumes_history order by all')).toEqual(before);
  expect(await project.rows("from unknown_parts where source = 'volumes'")).toEqual([]);
});

test('what was read of a part before it was refused changes none of its rows', async () => {
  let left = Number.POSITIVE_INFINITY;
  const place = await pulledProject({
    flavor: 'hashicorp',
    faultHook: ({ path }) =>
      path.startsWith('/v1/volume/csi/') && left-- <= 0 ? text(403, 'Permission denied') : undefined,
  });
  const rows = () =>
    place.rows("select * from volume_allocations where namespace = 'default' order by volume_id, allocation_id, mode");
  const before = await rows();
  const { allocations } = place.sandbox.services.scheduler.state;
  for (const allocation of allocations.values()) {
    Object.assign(allocation, { clientStatus: 'lost', modifyIndex: allocation.modifyIndex + 100 });
  }
  left = 20;
  await place.pull(['--source', 'volumes'], 1);
  expect(await place.rows("select distinct value from unknown_parts where source = 'volumes'")).toContainEqual({
    value: 'default',
  });
  expect(await rows()).toEqual(before);
});
