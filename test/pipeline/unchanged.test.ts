import { mkdir, readdir, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, test } from 'vitest';
import { PACKAGE_ROOT } from '../../src/core/paths.ts';
import type { RunResult } from '../../src/pipeline/run.ts';
import type { Flavor } from '../../src/sandbox/types.ts';
import { expectTable } from '../helpers/expect-table.ts';
import { findArchives, unpackLandings } from '../helpers/landings.ts';
import { findTarget, type TestProject, type TestProjectOptions, testProject } from '../helpers/test-project.ts';

const SOURCES = ['--source', 'acl_policies', '--source', 'volumes'];
const POLICIES = ['--source', 'acl_policies'];

/** Pulls at a time after the first night, and counts the requests. The sandbox's estate changes only where a test changes it. */
async function pullAt(place: TestProject, at: string, words: readonly string[] = SOURCES, exit = 0) {
  const first = place.sandbox.log.length;
  const { json, stderr } = await place.pull([...words, '--now', `2026-10-${at}Z`], exit);
  const paths = place.sandbox.log.slice(first).map(({ path }) => decodeURIComponent(path));
  const { pulls } = json<RunResult>();
  const reused = Object.fromEntries(pulls.map((pull) => [pull.source, pull.reused]));
  const reads = paths
    .filter((path) => /\/(acl\/policy|volume\/csi)\//u.test(path))
    .map((path) => path.split('/').at(-1));
  return { paths, reads, reused, stderr, pulls };
}

const scheduler = (place: TestProject) => place.sandbox.services.scheduler.state;

/** Changes a record as a write to the service would. */
function change<T extends { modifyIndex: number }>(place: TestProject, record: T | undefined, changes: Partial<T>): T {
  const state = scheduler(place);
  const highest = Math.max(state.index, ...[...state.policies.values()].map(({ modifyIndex }) => modifyIndex));
  return Object.assign(record!, changes, { modifyIndex: highest + 1 });
}

const claimed = (place: TestProject) =>
  [...scheduler(place).volumes.values()].filter(({ claims }) => claims.length > 0);
const unclaimed = (place: TestProject) =>
  [...scheduler(place).volumes.values()].filter(({ claims }) => claims.length === 0);

/** A project that has pulled once. */
async function pulledProject(options: TestProjectOptions = {}): Promise<TestProject> {
  const place = await testProject({ workspaces: 5, ...options });
  await pullAt(place, '01T02:15:00');
  return place;
}

describe.each(['spec', 'hashicorp'] as const)('with the flavor %s', (flavor: Flavor) => {
  test('a pull of an unchanged estate sends lists, and reads only volumes with claims', async () => {
    const place = await pulledProject({ flavor });
    const { paths, reads, reused } = await pullAt(place, '02T02:15:00');
    expect(reads.sort()).toEqual(
      claimed(place)
        .map(({ id }) => id)
        .sort(),
    );
    const plugins = flavor === 'hashicorp' ? ['/v1/plugins'] : [];
    expect(paths.filter((path) => !/\/volume\/csi\//u.test(path)).sort()).toEqual(
      ['/v1/acl/policies', '/v1/volumes', ...plugins].sort(),
    );
    expect(reused).toEqual({ acl_policies: scheduler(place).policies.size, volumes: unclaimed(place).length });
    for (const table of ['acl_policies', 'volumes', 'volume_allocations']) await expectTable(place, table, flavor);
    const rows = await place.rows('select source, reused from pulls order by as_of, source');
    expect(rows.map(({ source, reused: count }) => [source, count])).toEqual([
      ['acl_policies', 0],
      ['volumes', 0],
      ['acl_policies', reused.acl_policies],
      ['volumes', reused.volumes],
    ]);
    const status = await place.tidemark(['status', '--json']);
    expect(status.json<{ sources: unknown[] }>().sources).toEqual([
      expect.objectContaining({ source: 'acl_policies', reused: reused.acl_policies }),
      expect.objectContaining({ source: 'volumes', reused: reused.volumes }),
    ]);
    const versions = await place.rows(
      'select (select count(*) from acl_policies_history) + (select count(*) from volumes_history) as n',
    );
    expect(versions).toEqual([{ n: scheduler(place).policies.size + scheduler(place).volumes.size }]);
  });

  test('what changed is read: one policy, one volume, a new policy, an allocation of an unchanged volume', async () => {
    const place = await pulledProject({ flavor });
    const { policies, volumes, allocations } = scheduler(place);
    const policy = change(place, policies.get('anonymous'), { description: 'changed' });
    const volume = change(place, unclaimed(place)[0], { capabilities: [] });
    policies.set('brand-new', { ...policy, name: 'brand-new', modifyIndex: policy.modifyIndex });
    policies.delete([...policies.keys()].find((name) => !['anonymous', 'brand-new'].includes(name))!);
    for (const allocation of allocations.values()) Object.assign(allocation, { clientStatus: 'lost' });
    const { reads } = await pullAt(place, '02T02:15:00');
    const expected = ['anonymous', 'brand-new', volume.id, ...claimed(place).map(({ id }) => id)];
    expect(reads.sort()).toEqual(expected.sort());
    for (const table of ['acl_policies', 'volumes', 'volume_allocations']) await expectTable(place, table, flavor);
    expect(volumes.size).toBeGreaterThan(0);
  });

  test('an index that is lower than before, as of a restored server, makes everything be read', async () => {
    const place = await pulledProject({ flavor });
    const { policies } = scheduler(place);
    for (const policy of policies.values()) policy.modifyIndex -= 1;
    Object.assign(policies.get('anonymous')!, { description: 'restored' });
    const { reused, pulls } = await pullAt(place, '02T02:15:00', POLICIES);
    expect(reused).toEqual({ acl_policies: 0 });
    expect(pulls[0]?.note).toContain('every object was read: the index of the policies is lower than before');
    await expectTable(place, 'acl_policies', flavor);
  });
});

test('a lower index of the list alone makes everything be read', async () => {
  const place = await pulledProject({ flavor: 'hashicorp' });
  place.sandbox.services.scheduler.state.policies.delete('anonymous');
  const { reused } = await pullAt(place, '02T02:15:00', POLICIES);
  expect(reused.acl_policies).toBe(scheduler(place).policies.size);
});

test('a service that changes an object without its index is noticed within `fullReadDays`', async () => {
  const place = await pulledProject();
  Object.assign(scheduler(place).policies.get('anonymous')!, { rules: 'agent { policy = "read" }' });
  const rules = async () => (await place.rows(`select rules from acl_policies where name = 'anonymous'`))[0]?.rules;
  const before = await rules();
  for (let day = 2; day <= 7; day++) {
    expect((await pullAt(place, `0${day}T02:15:00`, POLICIES)).reads).toEqual([]);
    expect(await rules()).toBe(before);
  }
  // A second earlier than a week ago, as a scheduler may start it.
  const { reused, stderr } = await pullAt(place, '08T02:14:59', POLICIES);
  expect(reused).toEqual({ acl_policies: 0 });
  expect(stderr).toContain('nomad: acl_policies: every object is read: the last full read was on 2026-10-01');
  expect(await rules()).toBe('agent { policy = "read" }');
  expect((await pullAt(place, '09T02:15:00', POLICIES)).reads).toEqual([]);
});

describe('everything is read', () => {
  /** What takes the evidence away between the first and the second pull. */
  const CASES: readonly [string, (place: TestProject) => Promise<unknown> | unknown, (readonly string[])?][] = [
    ['with --fresh', () => {}, [...POLICIES, '--fresh']],
    ['with `fullReadDays: 0`', (place) => place.configure((config) => Object.assign(config, { fullReadDays: 0 }))],
    [
      'for another token',
      (place) => configureNomad(place, { token: place.sandbox.createToken('scheduler', { isManagement: true }) }),
    ],
    ['for another namespace', (place) => configureNomad(place, { namespace: 'default' })],
    ['without the landing of the last pull', (place) => rm(join(place.folder, 'data', 'landing'), { recursive: true })],
    ['if that landing was changed', changeLanding],
    ['if the archive of that landing is damaged', damageArchive],
    [
      'if the list has no index',
      (place) => {
        for (const policy of scheduler(place).policies.values()) Object.assign(policy, { modifyIndex: undefined });
      },
    ],
    ['after a column was added', addColumn],
  ];
  test.each(CASES)('%s', async (_, prepare, words = POLICIES) => {
    const place = await testProject({ workspaces: 5 });
    await pullAt(place, '01T02:15:00', POLICIES);
    await prepare(place);
    const { reads, reused } = await pullAt(place, '02T02:15:00', words);
    expect(reads).toHaveLength(scheduler(place).policies.size);
    expect(reused).toEqual({ acl_policies: 0 });
  });

  test('after a pull that was not complete, and again when it is', async () => {
    let isBroken = false;
    const place = await testProject({
      workspaces: 5,
      faultHook: ({ path }, service) =>
        isBroken && path === '/v1/acl/policies' ? service.error(403, 'no') : undefined,
    });
    await pullAt(place, '01T02:15:00', POLICIES);
    isBroken = true;
    await pullAt(place, '02T02:15:00', POLICIES, 3);
    isBroken = false;
    expect((await pullAt(place, '03T02:15:00', POLICIES)).reused).toEqual({ acl_policies: 0 });
    expect((await pullAt(place, '04T02:15:00', POLICIES)).reads).toEqual([]);
  });
});

test('a landing with unread objects loads into an empty warehouse, without the landing before it', async () => {
  const place = await pulledProject();
  await pullAt(place, '02T02:15:00');
  const [first, second] = await readdir(join(place.folder, 'data', 'landing'));
  for (const folder of ['warehouse.duckdb', 'work', join('landing', first!)]) {
    await rm(join(place.folder, 'data', folder), { recursive: true });
  }
  await pullAt(place, '03T02:15:00', ['--from', second!]);
  for (const table of ['acl_policies', 'volumes', 'volume_allocations']) await expectTable(place, table, 'spec');
});

test('an object with an ETag is requested with it, and 304 takes it from the last pull', async () => {
  const seen: string[] = [];
  let changed = '';
  const place = await testProject({
    workspaces: 5,
    faultHook: ({ path, headers }) => {
      const name = /^\/v1\/keymgmt\/key\/([^/]+)$/u.exec(path)?.[1];
      if (name === undefined) return undefined;
      const etag = `"${name}${name === changed ? ' 2' : ''}"`;
      seen.push(headers['if-none-match'] ?? 'none');
      if (headers['if-none-match'] === etag) return { status: 304, headers: { etag } };
      const data = { type: 'rsa-2048', latest_version: name === changed ? 2 : 1, keys: {} };
      return { status: 200, headers: { etag, 'content-type': 'application/json' }, body: JSON.stringify({ data }) };
    },
  });
  const keys = ['--source', 'keys'];
  await pullAt(place, '01T02:15:00', keys);
  const names = (await place.rows('select name from keys order by name')).map(({ name }) => String(name));
  expect(new Set(seen)).toEqual(new Set(['none']));
  seen.length = 0;
  changed = encodeURIComponent(names[0]!);
  const { reused } = await pullAt(place, '02T02:15:00', keys);
  expect(seen).toHaveLength(names.length);
  expect(seen).not.toContain('none');
  expect(reused).toEqual({ keys: names.length - 1 });
  const rows = await place.rows('select name, type, latest_version from keys order by name');
  expect(rows).toEqual(names.map((name, index) => ({ name, type: 'rsa-2048', latest_version: index === 0 ? 2 : 1 })));
  seen.length = 0;
  await pullAt(place, '08T02:15:00', keys);
  expect(new Set(seen)).toEqual(new Set(['none']));
});

test('a source of a plugin declares in one line what proves its objects unchanged', async () => {
  const place = await testProject({ workspaces: 5 });
  await addPlugin(place);
  const words = ['--source', 'policy_names'];
  await pullAt(place, '01T02:15:00', words);
  const changed = change(place, scheduler(place).policies.get('anonymous'), { description: 'changed' });
  const { reads, reused } = await pullAt(place, '02T02:15:00', words);
  expect(reads).toEqual([changed.name]);
  expect(reused).toEqual({ policy_names: scheduler(place).policies.size - 1 });
  expect(await place.rows('select count(*) as n from policy_names')).toEqual([{ n: scheduler(place).policies.size }]);
  expect(await place.rows(`select description from policy_names where name = 'anonymous'`)).toEqual([
    { description: 'changed' },
  ]);
});

/** A plugin whose source reads policies one by one. */
async function addPlugin(place: TestProject) {
  const library = pathToFileURL(join(PACKAGE_ROOT, 'src', 'index.ts')).href;
  await writeFile(
    join(place.folder, 'plugin.ts'),
    `import { definePlugin, scheduler } from ${JSON.stringify(library)};
export default definePlugin({ sources: [{
  name: 'policy_names',
  kind: 'scheduler',
  unchanged: { list: 'ModifyIndex' },
  extract: async ({ client, objects, forEachLimited }) => {
    const items = (await client.call(scheduler.policies.list)).json() as { Name: string }[];
    const reader = await objects({ name: 'policies', objects: items.map((item) => ({ key: item.Name, item })) });
    await forEachLimited(items, ({ Name: name }) => reader.land(name, {
      fields: { name },
      read: (options) => client.call(scheduler.policies.read, { policy_name: name }, options),
    }));
  },
  checkAccess: (client) => client.call(scheduler.policies.list),
}] });
`,
  );
  const folder = join(place.folder, 'queries');
  await mkdir(join(folder, 'tables'), { recursive: true });
  await mkdir(join(folder, 'load'));
  await writeFile(
    join(folder, 'tables', 'policy_names.sql'),
    `-- grain: one row per policy
-- key: name
-- source: policy_names
create table if not exists policy_names_history (
  target varchar not null, -- name of the target in tidemark.yaml
  name varchar, -- name
  description varchar, -- description
  valid_from timestamptz not null, -- time of the pull that first saw this version of the row
  valid_to timestamptz -- time of the pull that first saw another version, or none; null for the current version
);
`,
  );
  await writeFile(
    join(folder, 'load', 'policy_names.sql'),
    `-- grain: one row per policy
select name, body ->> 'Description' as description,
from read_json($files, format = 'newline_delimited', columns = {name: 'VARCHAR', body: 'JSON'}, maximum_object_size = $longest_line)
`,
  );
  await place.configure((config) => Object.assign(config, { plugins: ['./plugin.ts'] }));
}

function configureNomad(place: TestProject, changes: Readonly<Record<string, unknown>>) {
  return place.configure((config) => Object.assign(findTarget(config, 'nomad'), changes));
}

async function changeLanding({ folder }: TestProject) {
  await unpackLandings(folder);
  const landing = join(folder, 'data', 'landing');
  const [run] = await readdir(landing);
  await writeFile(join(landing, run!, 'nomad', 'acl_policies.ndjson'), '{"name":"anonymous","body":{}}\n');
}

async function damageArchive({ folder }: TestProject) {
  for (const archive of await findArchives(folder)) await truncate(archive, 1000);
}

async function addColumn({ folder }: TestProject) {
  await mkdir(join(folder, 'queries', 'tables'), { recursive: true });
  const ddl = await readFile(join('queries', 'tables', 'acl_policies.sql'), 'utf8');
  const added = ddl.replace('  description varchar,', '  hash varchar, -- hash\n  description varchar,');
  await writeFile(join(folder, 'queries', 'tables', 'acl_policies.sql'), added);
}
