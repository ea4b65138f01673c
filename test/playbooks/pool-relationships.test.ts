import { beforeAll, describe, expect, test } from 'vitest';
import { explainOtherUsers, parsePoolUsers } from '../../src/playbooks/lib/pool-users.ts';
import type { Plan } from '../../src/remediation/plan-file.ts';
import type { AgentPoolRecord } from '../../src/sandbox/platform/agent-pool-body.ts';
import type { FaultHook } from '../../src/sandbox/router.ts';
import { listWrites, type PlaybookHarness, playbookHarness } from '../helpers/playbook-harness.ts';
import { cleanAtEnd } from '../helpers/temp.ts';

/** What a service may say of a pool beside its workspaces, and why the pool is then left alone. */
const USES: readonly (readonly [name: string, relationships: Readonly<Record<string, unknown>>, reason: string])[] = [
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

interface Reported {
  /** ID of the only pool that has them; all pools where it is not set. */
  only?: string;
  relationships: Readonly<Record<string, unknown>>;
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
      ...(id === (reported.only ?? id) && reported.relationships),
    },
  };
}

describe('remove-empty-pools and scope-unused-pools leave a pool alone that is used by', () => {
  const PLAYBOOKS = ['remove-empty-pools', 'scope-unused-pools'];
  const reported: Reported = { relationships: {} };
  const atEnd = cleanAtEnd();
  let place: PlaybookHarness;

  beforeAll(async () => {
    place = await playbookHarness({
      playbook: 'remove-empty-pools', // its rule reads the source of the other rule as well
      snapshot: false,
      runs: 0,
      faultHook: addRelationships(reported),
      cleanup: atEnd,
    });
  });

  const planAny = async (playbook: string) =>
    (
      await place.tidemark(['playbook', 'plan', playbook, '-o', place.planFile, '--json', '--max-percent', '100'])
    ).json<Plan>();

  test.each(USES)('%s: the plans are empty', async (_, relationships) => {
    Object.assign(reported, { relationships });
    await place.runJob();
    for (const playbook of PLAYBOOKS) expect((await planAny(playbook)).actions, playbook).toEqual([]);
  });

  test('a stack since the plan: the action is skipped', async () => {
    Object.assign(reported, { relationships: {} });
    await place.runJob();
    const [, relationships, reason] = USES[0]!;
    for (const playbook of PLAYBOOKS) {
      const { actions } = await planAny(playbook);
      await place.approve();
      place.sandbox.log.length = 0;
      Object.assign(reported, { relationships, only: Object.values(actions[0]!.params)[0] });
      const applied = await place.tidemark(['playbook', 'apply', place.planFile, '--json', '--max-failures', '99']);
      expect(applied.stdout + applied.stderr, playbook).toContain(reason);
      const writes = listWrites(place.sandbox.log).map(({ path }) => path);
      expect(writes.filter((path) => path.includes(String(reported.only)))).toEqual([]);
      Object.assign(reported, { relationships: {} });
    }
  });
});

test.each(USES)('a pool that is used by %s says so', (_, relationships, reason) => {
  const pool = { data: { relationships: { workspaces: { data: [] }, ...relationships } } };
  expect(explainOtherUsers(parsePoolUsers(pool))).toBe(reason);
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

test('every relationship of a pool is in the warehouse, by name', async () => {
  const relationships = {
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
  const place = await playbookHarness({
    playbook: 'remove-empty-pools',
    snapshot: false,
    faultHook: addRelationships({ relationships }),
  });
  const [pool] = await place.rows("select pool_id, relationships from agent_pools where name = 'sandbox-empty'");
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
  expect(members.map(({ relationship, related_type, related_id }) => [relationship, related_type, related_id])).toEqual(
    [
      ['allowed-projects', 'projects', 'prj-1'],
      ['invented-next-year', 'x', 'x-1'],
      ['organization', 'organizations', 'acme'],
      ['stacks', 'stacks', 'st-1'],
      ['stacks', 'stacks', 'st-2'],
    ],
  );
});
