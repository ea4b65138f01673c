import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { FaultHook } from '../../sandbox/router.ts';
import type { RunResult } from '../../src/run/run.ts';
import { expectTable } from '../helpers/expect-table.ts';
import { expectedTables } from '../helpers/expected/index.ts';
import { findTarget, pulledProject, testProject } from '../helpers/test-project.ts';

const SMALL = { workspaces: 20 };

interface Switch {
  on: boolean;
  readonly intercept: FaultHook;
}

/** Rejects matching requests once a test starts it. */
function refusing(matches: (path: string) => boolean): Switch {
  const refusal: Switch = {
    on: false,
    intercept: ({ path }, service) => (refusal.on && matches(path) ? service.error(403, 'not today') : undefined),
  };
  return refusal;
}

const statuses = ({ pulls }: RunResult) => Object.fromEntries(pulls.map(({ source, status }) => [source, status]));

test('a failed source leaves its tables unchanged and is recorded in `pulls`; the others continue', async () => {
  const agents = refusing((path) => path.endsWith('/agents'));
  const place = await pulledProject({ faultHook: agents.intercept });
  const before = await place.rows('select * from agents order by agent_id');
  place.sandbox.tick();
  agents.on = true;
  const sources = ['agents', 'agent_pools', 'workspaces', 'providers', 'saved_views', 'autoscaler_health'];
  const result = (
    await place.pull(
      sources.flatMap((name) => ['--source', name]),
      1,
    )
  ).json<RunResult>();
  expect(result.status).toBe('incomplete');
  expect(Object.entries(statuses(result)).filter(([, status]) => status !== 'complete')).toEqual([
    ['agents', 'failed'],
  ]);
  expect(await place.rows('select * from agents order by agent_id')).toEqual(before);
  const expected = expectedTables(place.sandbox, 'spec');
  for (const table of ['agent_pools', 'workspaces', 'providers', 'saved_views', 'autoscaler_health'])
    await expectTable(place, table, 'spec', expected);

  const [pull] = await place.rows(`select status, rows, error from pulls where source = 'agents' order by as_of desc`);
  expect(pull).toMatchObject({
    status: 'failed',
    rows: null,
    error: expect.stringMatching(/403 forbidden: .*not today/),
  });
  const [state] = await place.rows(
    `select status, as_of < tried_at as behind from source_state where source = 'agents'`,
  );
  expect(state).toEqual({ status: 'failed', behind: true });
  const [run] = await place.rows('select status from runs order by started_at desc limit 1');
  expect(run).toEqual({ status: 'incomplete' });
  const status = await place.tidemark(['status']);
  expect(status.stdout).toMatch(/agents +failed .*true\n/u);
  expect(status.stdout).toMatch(/^acme: 403 .*\(agents\)$/mu);
});

test('of what a service says, the log and `pulls` have a beginning', async () => {
  const name = `p-${'x'.repeat(100_000)}`;
  const place = await testProject({
    ...SMALL,
    faultHook: ({ path }, service) => {
      if (path.endsWith('/acl/policies')) return { status: 200, body: JSON.stringify([{ Name: name }]) };
      if (path.includes('/acl/policy/')) return service.error(404, 'policy not found');
      return undefined;
    },
  });
  const { stderr } = await place.pull(['--source', 'acl_policies'], 3);
  expect(stderr).toMatch(/p-x{999}/u);
  expect(stderr.length).toBeLessThan(20_000);
  const [pull] = await place.rows('select error, length(error) as length from pulls');
  expect(pull).toMatchObject({ error: expect.stringMatching(/p-x+…$/u), length: 2001 });
});

test('one rejected page of many fails the whole source: no part of it is loaded', async () => {
  const place = await testProject({
    ...SMALL,
    faultHook: ({ path }, service) =>
      path.includes('/key/') && path > '/v1/keymgmt/key/m' ? service.error(403, 'no') : undefined,
  });
  await place.pull(['--source', 'keys'], 3);
  expect(await place.rows('select * from keys')).toEqual([]);
  expect(await place.rows('select * from key_versions')).toEqual([]);
});

test('if every source fails, the exit code is 3 and the rows stay', async () => {
  const everything = refusing(() => true);
  const place = await testProject({ ...SMALL, faultHook: everything.intercept });
  await place.pull(['--target', 'vault']);
  everything.on = true;
  const { stderr } = await place.pull(['--target', 'vault'], 3);
  expect(stderr).toContain('the token lacks the permission');
  await expectTable(place, 'keys', 'spec');
});

test('an item deleted between listing and reading is not a failure', async () => {
  let first = true;
  const place = await testProject({
    ...SMALL,
    faultHook: ({ method, path }, service) => {
      if (!first || method !== 'GET' || !path.startsWith('/v1/keymgmt/key/')) return undefined;
      first = false;
      const [name] = place.sandbox.services.secrets.state.keys.keys();
      place.sandbox.services.secrets.state.keys.delete(decodeURIComponent(path.split('/').at(-1) ?? '') || name!);
      return service.error(404, '');
    },
  });
  await place.pull(['--source', 'keys']);
  await expectTable(place, 'keys', 'spec');
});

test('a pool that is deleted while its agents are read has no finding, and goes with the next pull', async () => {
  let deleted = '';
  const place = await pulledProject({
    faultHook: ({ path }, service) => {
      const { pools, agents } = place.sandbox.services.platform.state;
      const id = /agent-pools\/([^/]+)\/agents$/u.exec(path)?.[1];
      if (id === undefined || deleted !== '' || !agents.some((agent) => agent.poolId === id)) return undefined;
      deleted = id;
      // it is read as well, in the pool that it is in now
      Object.assign(agents.find((agent) => agent.poolId === id)!, { poolId: pools.find((pool) => pool.id !== id)!.id });
      pools.splice(
        pools.findIndex((pool) => pool.id === id),
        1,
      );
      return service.error(404, 'not found');
    },
  });
  const count = async (table: string) =>
    (await place.rows(`select count(*)::int as n from ${table} where pool_id = '${deleted}'`))[0]?.n;
  await mkdir(join(place.folder, 'jobs'));
  await writeFile(join(place.folder, 'jobs', 'everything.yaml'), 'pull: [agent_pools, agents]\nreports: []\n');
  place.sandbox.tick();
  expect((await place.tidemark(['run', 'everything'])).exit).toBe(0);
  expect(deleted).not.toBe('');
  expect(await place.rows(`from findings where subject_id = '${deleted}' and state = 'new'`)).toEqual([]);
  expect(await count('agents')).toBeGreaterThan(0);
  expect(await place.rows('select agent_id from agents group by all having count(*) > 1')).toEqual([]);
  expect(await place.rows("select value, reason from unknown_parts where source = 'agents'")).toEqual([
    { value: deleted, reason: 'it was deleted while it was read' },
  ]);
  place.sandbox.tick();
  expect((await place.tidemark(['run', 'everything'])).exit).toBe(0);
  expect([await count('agents'), await count('agent_pools')]).toEqual([0, 0]);
});

test('a volume that is deleted while it is read leaves no half of a row', async () => {
  let deleted = '';
  const place = await testProject({
    ...SMALL,
    faultHook: ({ path }, service) => {
      const id = /^\/v1\/volume\/csi\/([^/]+)$/u.exec(path)?.[1];
      if (id === undefined || deleted !== '') return undefined;
      deleted = id;
      const { volumes } = place.sandbox.services.scheduler.state;
      for (const [key, volume] of volumes) if (volume.id === id) volumes.delete(key);
      return service.error(404, 'volume not found');
    },
  });
  await place.pull(['--source', 'volumes']);
  expect(deleted).not.toBe('');
  await expectTable(place, 'volumes', 'spec');
});

test('an item that is still listed but returns 404 fails the source: it may exist without permission to read it', async () => {
  const place = await testProject({
    ...SMALL,
    faultHook: ({ method, path }, service) =>
      method === 'GET' && path === '/v1/acl/policy/anonymous' ? service.error(404, 'ACL policy not found') : undefined,
  });
  const { stderr } = await place.pull(['--source', 'acl_policies'], 3);
  expect(stderr).toContain('anonymous is listed but is not found');
});

test('if the total changes between pages, the pages are fetched again, and the rows are consistent', async () => {
  let moved = false;
  const place = await testProject({
    workspaces: 250,
    faultHook: ({ path, query }) => {
      if (!path.endsWith('/explorer') || query.get('page[number]') !== '2' || moved) return undefined;
      moved = true;
      place.sandbox.services.platform.state.workspaces.shift();
      return undefined;
    },
  });
  await place.configure((config) => {
    findTarget(config, 'acme').explorer = 'json';
  });
  const { stderr } = await place.pull(['--source', 'workspaces']);
  expect(stderr).toContain('the total changed from 250 to 249');
  await expectTable(place, 'workspaces', 'spec');
});

test.each([
  ['at the time that the first page has', 0],
  ['by a server whose clock is behind', -30_000],
  ['by a server whose clock is ahead', 30_000],
])(
  'a list in which one row is deleted and another one created between two pages is read again: %s',
  async (_, skewMs) => {
    let changed = false;
    const place = await testProject({
      workspaces: 250,
      faultHook: ({ path, query }) => {
        if (!path.endsWith('/explorer') || !query.has('page[number]') || changed) return undefined;
        changed = true;
        const { workspaces } = place.sandbox.services.platform.state;
        const [deleted] = workspaces.splice(0, 1);
        // The header `Date` of its answers has the time of the machine.
        if (deleted)
          workspaces.push({ ...deleted, id: 'ws-created00000000', name: 'created', createdAt: Date.now() + skewMs });
        return undefined;
      },
    });
    await place.configure((config) => {
      findTarget(config, 'acme').explorer = 'json';
    });
    await place.pull(['--source', 'workspaces']);
    expect(changed).toBe(true);
    await expectTable(place, 'workspaces', 'spec');
  },
);

test('so is one of rows that do not tell when they were created', async () => {
  let changed = false;
  const place = await testProject({
    ...SMALL,
    faultHook: ({ path, query }) => {
      const { agents } = place.sandbox.services.platform.state;
      if (!path.endsWith(`/${agents[0]?.poolId}/agents`) || query.get('page[number]') !== '2' || changed)
        return undefined;
      changed = true;
      const [deleted] = agents.splice(0, 1);
      if (deleted) agents.push({ ...deleted, id: 'agent-created00000000' });
      return undefined;
    },
  });
  const { agents } = place.sandbox.services.platform.state;
  const [first] = agents;
  if (!first) throw new Error('no agent');
  agents.push(...Array.from({ length: 120 }, (_, number) => ({ ...first, id: `agent-more${number}` })));
  await place.pull(['--source', 'agents']);
  expect(changed).toBe(true);
  await expectTable(place, 'agents', 'spec');
});

test('a stopped run changes nothing and is recorded as interrupted; the next one is complete', async () => {
  const stop = new AbortController();
  const place = await testProject({
    ...SMALL,
    faultHook: ({ path }) => {
      if (path.endsWith('/agent-pools') && !stop.signal.aborted) stop.abort(new Error('stopped'));
      return undefined;
    },
  });
  const result = await place.tidemark(['pull', '--json', '--target', 'acme'], { signal: stop.signal });
  expect(result.exit).toBe(1);
  expect(result.json<RunResult>().status).toBe('interrupted');
  expect(await place.rows('select * from agents')).toEqual([]);
  await place.pull(['--target', 'acme']);
  await expectTable(place, 'agents', 'spec');
});

test('a wrong token, an unknown organization and an unreachable host are each reported with a hint', async () => {
  const place = await testProject(SMALL);
  await place.configure((config) => {
    findTarget(config, 'acme').organization = 'acne';
    findTarget(config, 'vault').token = 'wrong-token-1234';
    findTarget(config, 'consul').url = 'http://127.0.0.1:65000';
  });
  const sources = ['agent_pools', 'keys', 'ca_roots', 'autoscaler_health'].flatMap((name) => ['--source', name]);
  const { stderr, stdout } = await place.pull(sources, 1);
  expect(stderr).toMatch(
    /acme: agent_pools: failed: .*404 not-found.*the organization, name or id in the path is wrong, or the token lacks the permission/,
  );
  expect(stderr).toMatch(/vault: keys: failed: .*403 forbidden.*the token lacks the permission .*or is not valid/);
  expect(stderr).toMatch(/consul: ca_roots: failed: .*unreachable.*check `url` of this target/);
  expect(`${stderr}${stdout}`).not.toContain('wrong-token-1234');
  expect(await place.rows('select alive from autoscaler_health')).toEqual([{ alive: true }]);
});
