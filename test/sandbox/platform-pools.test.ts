import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { RunningSandbox } from '../../sandbox/index.ts';
import type { PlatformContext } from '../../sandbox/platform/context.ts';
import { startTestSandbox } from '../helpers/test-sandbox.ts';
import { call, json, ORGANIZATION, refusal } from './platform-client.ts';

interface PoolDocument {
  readonly id: string;
  readonly type: string;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly relationships: Readonly<Record<string, { readonly data: readonly { id: string }[] }>>;
  readonly links: Readonly<Record<string, string>>;
}

interface Pools {
  readonly data: readonly PoolDocument[];
  readonly included?: readonly { id: string; type: string; attributes: Record<string, unknown> }[];
  readonly meta: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}

let sandbox: RunningSandbox;
let state: PlatformContext;

beforeEach(async () => {
  sandbox = await startTestSandbox();
  state = sandbox.services.platform.state;
});
afterEach(() => sandbox.close());

const poolsWith = (query: string) => json<Pools>(call(sandbox, `${ORGANIZATION}/agent-pools?${query}`));
const poolNamed = (name: string) => state.pools.find((pool) => pool.name === name)!;
const create = (attributes: unknown, more: object = {}) =>
  call(sandbox, `${ORGANIZATION}/agent-pools`, {
    method: 'POST',
    body: { data: { type: 'agent-pools', attributes, ...more } },
  });
const update = (id: string, data: object) =>
  call(sandbox, `/agent-pools/${id}`, { method: 'PATCH', body: { data: { type: 'agent-pools', ...data } } });

describe('reading pools', () => {
  test('a list has pools, agent counts and the number of matches', async () => {
    const { data, meta } = await poolsWith('q=PRIVATE');
    expect(data.map(({ attributes }) => attributes.name)).toEqual(['eu-west-private', 'us_east_private']);
    expect(meta['status-counts']).toEqual({ total: state.pools.length, matching: 2 });
    expect(meta.pagination).not.toHaveProperty('page-size');
    expect(data[0]?.attributes['created-at']).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    expect(data[0]?.links.self).toBe(`/api/v2/agent-pools/${data[0]?.id}`);
  });

  test('an agent counts while it is idle, busy or unknown', async () => {
    for (const { id, attributes } of (await poolsWith('')).data) {
      const counted = state.agents.filter(
        ({ poolId, status }) => poolId === id && ['idle', 'busy', 'unknown'].includes(status),
      );
      expect(attributes['agent-count']).toBe(counted.length);
    }
  });

  test('pools are sorted by name or creation, either way, and by nothing else', async () => {
    const names = async (sort: string) => (await poolsWith(`sort=${sort}`)).data.map((p) => p.attributes.name);
    const sorted = state.pools.map(({ name }) => name).sort();
    expect(await names('name')).toEqual(sorted);
    expect(await names('-name')).toEqual(sorted.reverse());
    const created = (await poolsWith('sort=-created-at')).data.map((p) => String(p.attributes['created-at']));
    expect(created).toEqual([...created].sort().reverse());
    expect((await call(sandbox, `${ORGANIZATION}/agent-pools?sort=id`)).status).toBe(400);
  });

  test('filter[allowed_workspaces][name] keeps the pools that the workspace may use', async () => {
    const pool = poolNamed('eu-west-private');
    const workspace = state.workspaces.find(({ id }) => pool.allowed.includes(id))!;
    const query = `filter[allowed_workspaces][name]=${encodeURIComponent(workspace.name)}`;
    const kept = (await poolsWith(query)).data.map(({ id }) => id);
    const usable = state.pools.filter((p) => p.organizationScoped || p.allowed.includes(workspace.id));
    expect(kept).toEqual(usable.map(({ id }) => id));
    expect((await poolsWith('filter[allowed_workspaces][name]=nobody')).data).toEqual([]);
  });

  test('include=workspaces adds the attached workspaces, any other value is refused by name', async () => {
    const pool = poolNamed('legacy-dc1');
    const { included } = await json<Pools>(call(sandbox, `/agent-pools/${pool.id}?include=workspaces`));
    expect(included?.map(({ id }) => id).sort()).toEqual([...pool.attached].sort());
    const { status, error } = await refusal(call(sandbox, `/agent-pools/${pool.id}?include=agents`));
    expect(status).toBe(400);
    expect(error.source).toEqual({ parameter: 'include' });
  });

  test('a page has the size asked for', async () => {
    const { data, meta } = await poolsWith('page[size]=4&page[number]=2');
    expect(data.map(({ id }) => id)).toEqual(state.pools.slice(4, 8).map(({ id }) => id));
    expect(meta.pagination).toMatchObject({ 'current-page': 2, 'total-count': state.pools.length });
  });

  test('show has no agent count, and an unknown pool gets 404', async () => {
    const { data } = await json<{ data: PoolDocument }>(call(sandbox, `/agent-pools/${state.pools[0]?.id}`));
    expect(data.attributes).toHaveProperty('organization-scoped', true);
    expect(data.attributes).not.toHaveProperty('agent-count');
    expect((await call(sandbox, '/agent-pools/apool-none')).status).toBe(404);
  });
});

describe('writing pools', () => {
  test('create responds with 201 and the pool exists', async () => {
    const allowed = state.workspaces.slice(0, 2).map(({ id }) => ({ id, type: 'workspaces' }));
    const more = { relationships: { 'allowed-workspaces': { data: allowed } } };
    const answer = await create({ name: 'new-pool', 'organization-scoped': false }, more);
    expect(answer.status).toBe(201);
    const { data } = (await answer.json()) as { data: PoolDocument };
    expect(data.attributes).toMatchObject({ name: 'new-pool', 'organization-scoped': false });
    expect(data.attributes['created-at']).toBe(sandbox.now.toISOString());
    expect(poolNamed('new-pool').allowed).toEqual(allowed.map(({ id }) => id));
  });

  test('a new pool is scoped to the organization by default', async () => {
    await create({ name: 'wide' });
    expect(poolNamed('wide').organizationScoped).toBe(true);
  });

  test.each([
    ['no name', {}],
    ['a name that is no text', { name: 7 }],
    ['a character that names do not have', { name: 'a b' }],
    ['a name that is taken', { name: 'default' }],
    ['a scope that is no boolean', { name: 'x', 'organization-scoped': 'yes' }],
  ])('create with %s answers 422', async (_, attributes) => {
    const before = state.pools.length;
    const { status, error } = await refusal(create(attributes));
    expect(status).toBe(422);
    expect(error.source).toHaveProperty('pointer');
    expect(state.pools).toHaveLength(before);
  });

  test('a wrong type, an unknown workspace and a broken body answer 422', async () => {
    const path = `${ORGANIZATION}/agent-pools`;
    const body = { data: { type: 'pools', attributes: { name: 'x' } } };
    expect((await call(sandbox, path, { method: 'POST', body })).status).toBe(422);
    const relationships = { 'allowed-workspaces': { data: [{ id: 'ws-none', type: 'workspaces' }] } };
    expect((await create({ name: 'x' }, { relationships })).status).toBe(422);
    expect((await call(sandbox, path, { method: 'POST', body: 'no object' })).status).toBe(422);
  });

  test('update responds without organization-scoped, keeps the name, and scopes to the organization by default', async () => {
    const pool = poolNamed('eu-west-private');
    const answer = await update(pool.id, { attributes: {} });
    expect(answer.status).toBe(200);
    const { data } = (await answer.json()) as { data: PoolDocument };
    expect(data.attributes).toMatchObject({ name: 'eu-west-private' });
    expect(data.attributes).not.toHaveProperty('organization-scoped');
    expect(pool.organizationScoped).toBe(true);
    await update(pool.id, { attributes: { 'organization-scoped': false } });
    expect(pool.organizationScoped).toBe(false);
    expect(pool.allowed.length).toBeGreaterThan(0);
  });

  test('with flavor hashicorp an update keeps the scope it does not name', async () => {
    const live = await startTestSandbox({ flavor: 'hashicorp' });
    try {
      const pool = live.services.platform.state.pools[1]!;
      const body = { data: { type: 'agent-pools', attributes: { name: 'renamed' } } };
      await call(live, `/agent-pools/${pool.id}`, { method: 'PATCH', body });
      expect(pool).toMatchObject({ name: 'renamed', organizationScoped: false });
    } finally {
      await live.close();
    }
  });

  test('delete fails while workspaces are attached, deletes the agents, and gets 404 the second time', async () => {
    const remove = (id: string) => call(sandbox, `/agent-pools/${id}`, { method: 'DELETE' });
    const inUse = poolNamed('gpu-batch');
    expect((await remove(inUse.id)).status).toBe(422);
    inUse.attached = [];
    expect((await remove(inUse.id)).status).toBe(204);
    expect(state.agents.filter(({ poolId }) => poolId === inUse.id)).toEqual([]);
    expect((await remove(inUse.id)).status).toBe(404);
  });

  test('the read token cannot write, and gets 404', async () => {
    const { read } = sandbox.tokens.platform;
    const pool = poolNamed('sandbox-empty');
    expect((await call(sandbox, `/agent-pools/${pool.id}`, { method: 'DELETE', token: read })).status).toBe(404);
    expect(state.pools).toContain(pool);
    expect((await call(sandbox, `/agent-pools/${pool.id}`, { token: read })).status).toBe(200);
  });
});

describe('agents', () => {
  interface AgentDocument {
    readonly id: string;
    readonly attributes: Readonly<Record<string, unknown>>;
    readonly links: Readonly<Record<string, string>>;
  }
  const agentsOf = async (id: string, query = '') =>
    (await json<{ data: AgentDocument[] }>(call(sandbox, `/agent-pools/${id}/agents?${query}`))).data;

  test('a pool lists its agents, and since a time only those that pinged', async () => {
    const pool = state.pools[0]!;
    const own = state.agents.filter(({ poolId }) => poolId === pool.id);
    expect((await agentsOf(pool.id)).map(({ id }) => id)).toEqual(own.map(({ id }) => id));
    const since = new Date(sandbox.now.getTime() - 60_000);
    const awake = own.filter(({ lastPingAt }) => (lastPingAt ?? 0) >= since.getTime());
    const query = `filter[last-ping-since]=${encodeURIComponent(since.toISOString())}`;
    expect((await agentsOf(pool.id, query)).map(({ id }) => id)).toEqual(awake.map(({ id }) => id));
    expect(awake.length).toBeLessThan(own.length);
    expect((await call(sandbox, `/agent-pools/${pool.id}/agents?filter[last-ping-since]=soon`)).status).toBe(400);
    expect((await call(sandbox, '/agent-pools/apool-none/agents')).status).toBe(404);
  });

  test('an agent may have no name', async () => {
    const unnamed = state.agents.find(({ name }) => name === null)!;
    const { data } = await json<{ data: AgentDocument }>(call(sandbox, `/agents/${unnamed.id}`));
    expect(data.attributes.name).toBeNull();
    expect(data.links.self).toBe(`/api/v2/agents/${unnamed.id}`);
  });

  test('only unknown, errored and exited agents can be deleted', async () => {
    for (const status of ['idle', 'busy'] as const) {
      const agent = state.agents.find((candidate) => candidate.status === status)!;
      const refused = await refusal(call(sandbox, `/agents/${agent.id}`, { method: 'DELETE' }));
      expect(refused).toMatchObject({ status: 412, error: { status: '412' } });
      expect(state.agents).toContain(agent);
    }
    for (const status of ['unknown', 'errored', 'exited'] as const) {
      const agent = state.agents.find((candidate) => candidate.status === status)!;
      expect((await call(sandbox, `/agents/${agent.id}`, { method: 'DELETE' })).status).toBe(204);
      expect((await call(sandbox, `/agents/${agent.id}`, { method: 'DELETE' })).status).toBe(404);
    }
  });
});
