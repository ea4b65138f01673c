import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { AgentPoolRecord } from '../../sandbox/platform/context.ts';
import type { FaultHook } from '../../sandbox/router.ts';
import { explainOtherUsers, parsePoolUsers } from '../../src/act/playbooks/lib/platform.ts';
import { listWrites, type PlaybookHarness, playbookHarness } from '../helpers/playbook-harness.ts';
import { cleanAtEnd } from '../helpers/temp.ts';
import { keepProject } from '../helpers/test-project.ts';

/** What a service may say of a pool beside its workspaces, and why the pool is then left alone. */
const USES: readonly (readonly [name: string, relationships: Relationships, reason: string])[] = [
  ['a stack', { stacks: { data: [{ id: 'st-1', type: 'stacks' }] } }, 'its relationship stacks names 1 resource'],
  [
    'a HYOK configuration',
    { 'hyok-configurations': { data: [{ id: 'hyokc-1', type: 'hyok-configurations' }] } },
    'its relationship hyok-configurations names 1 resource',
  ],
  [
    'a relationship that Tidemark does not know',
    { 'invented-next-year': { data: { id: 'x-1', type: 'x' } } },
    'its relationship invented-next-year names 1 resource',
  ],
  [
    'a relationship without its resources',
    { 'invented-next-year': { links: { related: '/x' } } },
    'its invented-next-year are not reported',
  ],
];

type Relationships = Readonly<Record<string, unknown>>;

interface Reported {
  /** Of each pool that is not in `byPool`. */
  others: Relationships;
  /** By ID. */
  byPool: Readonly<Record<string, Relationships>>;
}

const EVERY_KIND: Relationships = {
  stacks: {
    data: [
      { id: 'st-1', type: 'stacks' },
      { id: 'st-2', type: 'stacks' },
    ],
  },
  'invented-next-year': { data: { id: 'x-1', type: 'x' } },
  unlisted: { links: { related: '/x' } },
  none: { data: null },
};

/** Copies of the pools that the playbooks plan for, one for each use and one more. @returns their relationships, by ID */
function addUsedPools(pools: AgentPoolRecord[]): Readonly<Record<string, Relationships>> {
  const relationships = [...USES.map(([, use]) => use), EVERY_KIND];
  return Object.fromEntries(
    ['sandbox-empty', 'audit'].flatMap((name) => {
      const pool = pools.find((candidate) => candidate.name === name)!;
      return relationships.map((use, index) => {
        const id = `${pool.id}-${index}`;
        pools.push({ ...structuredClone(pool), id, name: `${name} ${index}` });
        return [id, use];
      });
    }),
  );
}

/** Adds relationships to what the service says of each pool. */
function addRelationships(reported: Reported): FaultHook {
  return ({ method, path }, service) => {
    if (service.kind !== 'platform' || method !== 'GET') return undefined;
    const { pools, organization } = service.state as { pools: AgentPoolRecord[]; organization: string };
    const pool = pools.find(({ id }) => path.endsWith(`/agent-pools/${id}`));
    if (pool) return { status: 200, body: JSON.stringify({ data: poolDocument(pool, reported) }) };
    if (!path.endsWith(`/organizations/${organization}/agent-pools`)) return undefined;
    return { status: 200, body: JSON.stringify({ data: pools.map((each) => poolDocument(each, reported)) }) };
  };
}

function poolDocument({ id, name, organizationScoped, attached, allowed }: AgentPoolRecord, reported: Reported) {
  const toReferences = (ids: readonly string[]) => ({ data: ids.map((item) => ({ id: item, type: 'workspaces' })) });
  return {
    id,
    type: 'agent-pools',
    attributes: { name, 'organization-scoped': organizationScoped, 'agent-count': 0 },
    relationships: {
      workspaces: toReferences(attached),
      'allowed-workspaces': toReferences(allowed),
      organization: { data: { id: 'acme', type: 'organizations' } },
      'allowed-projects': { data: [{ id: 'prj-1', type: 'projects' }] },
      ...(reported.byPool[id] ?? reported.others),
    },
  };
}

describe('a pool with relationships', () => {
  const PLAYBOOKS = ['remove-empty-pools', 'scope-unused-pools'];
  const reported: Reported = { others: USES[0]![1], byPool: {} };
  const atEnd = cleanAtEnd();
  let place: PlaybookHarness;
  let restoreProject: () => Promise<void>;
  let first: Reported;

  beforeAll(async () => {
    place = await playbookHarness({
      updatesTable: false,
      playbook: 'remove-empty-pools', // its rule reads the source of the other rule as well
      prepare: ({ platform }) => {
        reported.byPool = addUsedPools(platform.pools);
      },
      faultHook: addRelationships(reported),
      cleanup: atEnd,
    });
    first = { ...reported };
    restoreProject = await keepProject(place, atEnd);
  });
  beforeEach(async () => {
    Object.assign(reported, first);
    await restoreProject();
  });

  const plan = (playbook: string) => place.switchTo(playbook).plan(['--max-percent', '100']);

  test('has them in the warehouse, by name', async () => {
    const [pool] = await place.rows('select pool_id, relationships from agent_pools where name = $name', {
      name: `sandbox-empty ${USES.length}`,
    });
    expect(pool?.relationships).toEqual({
      'allowed-projects': 1,
      'allowed-workspaces': 2,
      'invented-next-year': 1,
      none: 0,
      organization: 1,
      stacks: 2,
      unlisted: null,
      workspaces: 0,
    });
    const members = await place.rows(
      'select relationship, related_type, related_id from agent_pool_relationships where pool_id = $pool order by all',
      { pool: String(pool?.pool_id) },
    );
    expect(
      members.map(({ relationship, related_type, related_id }) => [relationship, related_type, related_id]),
    ).toEqual([
      ['allowed-projects', 'projects', 'prj-1'],
      ['invented-next-year', 'x', 'x-1'],
      ['organization', 'organizations', 'acme'],
      ['stacks', 'stacks', 'st-1'],
      ['stacks', 'stacks', 'st-2'],
    ]);
  });

  test.each(PLAYBOOKS)('of any use is not planned for by %s', async (playbook) => {
    expect((await plan(playbook)).actions).toEqual([]);
  });

  test('which are new or not reported since the plan is left alone: the action is skipped, or stays pending', async () => {
    Object.assign(reported, { others: {}, byPool: {} });
    await place.runJob();
    const [[, stack, isUsed], [, unlisted, isUnknown]] = [USES[0]!, USES.at(-1)!];
    for (const playbook of PLAYBOOKS) {
      const { actions } = await plan(playbook);
      expect(actions.length, 'the same pools without uses').toBeGreaterThan(USES.length);
      await place.approve();
      place.sandbox.log.length = 0;
      const [used, unknown] = actions.map(({ params }) => String(Object.values(params)[0])) as [string, string];
      Object.assign(reported, { byPool: { [used]: stack, [unknown]: unlisted } });
      const applied = await place.tidemark(['playbook', 'apply', place.planFile, '--json', '--max-failures', '99']);
      expect(applied.json<{ rows: object[] }>().rows.slice(0, 2), playbook).toMatchObject([
        { status: 'skipped', reason: isUsed },
        { status: 'failed', reason: isUnknown },
      ]);
      const writes = listWrites(place.sandbox.log).map(({ path }) => path);
      expect(writes.filter((path) => path.endsWith(`/${used}`) || path.endsWith(`/${unknown}`))).toEqual([]);
      Object.assign(reported, { byPool: {} });
    }
  });
});

test.each(USES)('a pool that is used by %s says so', (_, relationships, reason) => {
  const pool = { data: { relationships: { workspaces: { data: [] }, ...relationships } } };
  const state = reason.endsWith('not reported') ? 'unknown' : 'drifted';
  expect(explainOtherUsers(parsePoolUsers(pool))).toEqual({ state, reason });
});

test('a pool whose other relationships are empty or permissions has no other users', () => {
  const data = [{ id: 'x', type: 'x' }];
  const relationships = {
    workspaces: { data },
    agents: { links: {} },
    'allowed-projects': { data },
    'excluded-workspaces': { data },
    'allowed-stacks': { links: {} },
    organization: { data: data[0] },
    stacks: { data: [] },
    none: { data: null },
  };
  const users = parsePoolUsers({ data: { relationships } });
  expect(users).toEqual({ workspaces: ['x'], others: {} });
  expect(explainOtherUsers(users)).toBeUndefined();
});
