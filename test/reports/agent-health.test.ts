import { describe, expect, it } from 'vitest';
import { createReportWarehouse, workspace } from '../helpers/report-warehouse.ts';

const FIRST = '2026-11-01T02:15:00Z';
const SECOND = '2026-11-02T02:15:00Z';
const THIRD = '2026-11-03T02:15:00Z';

const pool = (id: string, workspaces: number | null = 0) => ({
  pool_id: `apool-${id}`,
  name: id,
  organization_scoped: true,
  relationships: { workspaces },
});
const agent = (
  id: string,
  poolId: string,
  status: string | null,
  last_ping_at: string | null,
  name: string | null = id,
) => ({
  agent_id: `agent-${id}`,
  pool_id: `apool-${poolId}`,
  name,
  status,
  last_ping_at,
});
const pick = (rows: unknown, field: string) => (rows as Record<string, unknown>[]).map((row) => row[field]);

describe('the agent-health report', () => {
  it('counts agents as silent whose last ping is older than ten minutes, or that never sent one', async () => {
    const warehouse = await createReportWarehouse();
    await warehouse.pull(FIRST, {
      agent_pools: [pool('one')],
      agents: [
        agent('in-time', 'one', 'idle', '2026-11-01T02:05:00Z'),
        agent('late', 'one', 'idle', '2026-11-01T02:04:59Z'),
        agent('never', 'one', 'unknown', null),
      ],
    });
    const { summary, silent } = await warehouse.data('agent-health', FIRST, ['silent']);
    expect(summary).toMatchObject({ agents: 3, silent_agents: 2, by_status: { idle: 2, unknown: 1 } });
    expect(pick(silent, 'agent_name')).toEqual(['never', 'late']);
  });

  it('says of no workspace that it waits where the agents were never pulled, and shows sixty agents of a pool', async () => {
    const warehouse = await createReportWarehouse();
    const links = [{ pool_id: 'apool-one', workspace_id: 'ws-a', relation: 'attached' }];
    const pools = { agent_pools: [pool('one', 1)], agent_pool_workspaces: links };
    await warehouse.pull(FIRST, { ...pools, agents: 'failed' });
    const unknown = await warehouse.data('agent-health', FIRST, ['pools']);
    expect(unknown.pools).toMatchObject([
      { who: '1 attached', agents: null, live: null, squares: [{ kind: 'soft', text: 'not known' }] },
    ]);
    const agents = Array.from({ length: 62 }, (_, index) => agent(`a${index}`, 'one', 'errored', null));
    await warehouse.pull(SECOND, { ...pools, agents });
    const { pools: known } = await warehouse.data('agent-health', SECOND, ['pools']);
    expect(known).toMatchObject([{ who: '1 waits', agents: 62, live: 0 }]);
    const [squares] = pick(known, 'squares') as [unknown[]];
    expect([squares.length, squares.at(-1)]).toEqual([61, { kind: 'soft', value: 1, text: 'and 2 more' }]);
  });

  it('does not know whether an agent works whose status is not documented, or whose last ping is to come', async () => {
    const warehouse = await createReportWarehouse();
    await warehouse.pull(FIRST, {
      agent_pools: [pool('odd', 1), pool('down')],
      agents: [
        agent('draining', 'odd', 'draining', FIRST),
        agent('untold', 'odd', null, FIRST),
        agent('early', 'down', 'errored', '2026-12-01T00:00:00Z'),
      ],
      agent_pool_workspaces: [{ pool_id: 'apool-odd', workspace_id: 'ws-a', relation: 'attached' }],
    });
    const data = await warehouse.data('agent-health', FIRST, ['pools_down', 'stranded']);
    expect(data.summary).toMatchObject({ pools_without_live_agents: 1, stranded_workspaces: 0, live_agents: 0 });
    expect(data.summary).toMatchObject({ agents_unknown: 3, by_status: { draining: 1, errored: 1, 'no status': 1 } });
    expect([pick(data.pools_down, 'pool_name'), data.stranded]).toEqual([['down'], []]);
  });

  it('uses the threshold of the configuration', async () => {
    const warehouse = await createReportWarehouse();
    await warehouse.pull(FIRST, {
      agent_pools: [pool('one')],
      agents: [agent('a', 'one', 'idle', '2026-11-01T02:05:00Z')],
    });
    const { thresholds } = warehouse.options(FIRST);
    const { summary } = await warehouse.data('agent-health', FIRST, [], {
      thresholds: { ...thresholds, agentSilentMinutes: 0.5 },
    });
    expect(summary).toMatchObject({ silent_agents: 1 });
  });

  it('shows which agents were silent at the pull, if the report is later', async () => {
    const warehouse = await createReportWarehouse();
    await warehouse.pull(FIRST, {
      agent_pools: [pool('one')],
      agents: [agent('a', 'one', 'idle', '2026-11-01T02:14:00Z')],
    });
    const { summary } = await warehouse.data('agent-health', '2026-11-01T09:00:00Z', []);
    expect(summary).toMatchObject({ silent_agents: 1, silent_when_pulled: 0 });
    expect(summary.headline).toMatch(/; 0 of 1 agent is silent at the last pull$/u);
  });

  it('lists pools without an idle or busy agent, and the workspaces that wait for them', async () => {
    const warehouse = await createReportWarehouse();
    const ping = '2026-11-01T02:14:00Z';
    const link = (poolId: string, id: string, relation: string) => ({
      pool_id: `apool-${poolId}`,
      workspace_id: `ws-${id}`,
      relation,
    });
    await warehouse.pull(FIRST, {
      agent_pools: [pool('idle'), pool('busy'), pool('dead', 2), pool('empty')],
      agent_pool_workspaces: [
        link('dead', 'w', 'attached'),
        link('dead', 'gone', 'attached'),
        link('empty', 'v', 'allowed'),
      ],
      agents: [
        agent('a', 'idle', 'idle', ping),
        agent('b', 'busy', 'busy', ping),
        agent('c', 'dead', 'errored', ping),
        agent('d', 'dead', 'unknown', ping, null),
      ],
      workspaces: [workspace('w'), workspace('v')],
    });
    const { summary, pools_down, stranded, unnamed } = await warehouse.data('agent-health', FIRST, [
      'pools_down',
      'stranded',
      'unnamed',
    ]);
    expect(summary).toMatchObject({
      pools: 4,
      pools_without_live_agents: 2,
      empty_pools: 1,
      stranded_workspaces: 2,
      unnamed_agents: 1,
    });
    expect(pools_down).toMatchObject([
      { pool_name: 'dead', agents: 2, waiting: 2 },
      { pool_name: 'empty', agents: 0, waiting: 0 },
    ]);
    expect(pick(stranded, 'workspace_name')).toEqual(['w', 'ws-gone']);
    expect(pick(unnamed, 'agent_id')).toEqual(['agent-d']);
  });

  it('distinguishes pools of two targets with the same ID', async () => {
    const warehouse = await createReportWarehouse();
    await warehouse.pull(FIRST, { agent_pools: [pool('one')], agents: [agent('a', 'one', 'idle', FIRST)] }, 'east');
    await warehouse.pull(FIRST, { agent_pools: [pool('one')], agents: [agent('a', 'one', 'errored', FIRST)] }, 'west');
    const { summary } = await warehouse.data('agent-health', FIRST, []);
    expect(summary).toMatchObject({
      pools: 2,
      agents: 2,
      pools_without_live_agents: 1,
      by_status: { errored: 1, idle: 1 },
    });
  });

  it('shows the change of each status, and since when a pool has no live agent', async () => {
    const warehouse = await createReportWarehouse();
    const pullAgents = (at: string, status: string, other: string | null) =>
      warehouse.pull(at, {
        agent_pools: [pool('one'), pool('two')],
        agents: [agent('a', 'one', status, at), ...(other ? [agent('b', 'two', other, at)] : [])],
      });
    await pullAgents(FIRST, 'idle', 'busy');
    await pullAgents(SECOND, 'errored', 'busy');
    await pullAgents(THIRD, 'exited', null);
    const { by_status, summary, pools_down } = await warehouse.data('agent-health', THIRD, ['by_status', 'pools_down']);
    expect(by_status).toMatchObject([
      { status: 'exited', agents: 1, agents_before: 0, change: 1 },
      { status: 'busy', agents: 0, agents_before: 1, change: -1 },
      { status: 'errored', agents: 0, agents_before: 1, change: -1 },
    ]);
    expect(summary).toMatchObject({ pools_without_live_agents_before: 1, live_agents_before: 1 });
    expect(pools_down).toMatchObject([
      { pool_name: 'one', since: SECOND },
      { pool_name: 'two', since: THIRD },
    ]);
  });

  it('draws a pool with its agents, and names who waits for it', async () => {
    const warehouse = await createReportWarehouse();
    await warehouse.pull(FIRST, {
      agent_pools: [pool('one'), pool('two', 1)],
      agents: [agent('a', 'one', 'idle', FIRST), agent('b', 'two', 'errored', FIRST)],
      agent_pool_workspaces: [{ pool_id: 'apool-two', workspace_id: 'ws-w', relation: 'attached' }],
      workspaces: [{ external_id: 'ws-w', workspace_name: 'w' }],
    });
    const { pools } = await warehouse.data('agent-health', FIRST, ['pools']);
    expect(pools).toMatchObject([
      { pool_name: 'two', squares: [{ kind: 'bad', value: 1, text: 'b errored' }], who: '1 waits', names: ['w'] },
      { pool_name: 'one', squares: [{ kind: 'good', value: 1, text: 'a idle' }], who: null },
    ]);
  });

  it('counts the workspaces that the service counts, of which it may name fewer, and says where it lists none', async () => {
    const warehouse = await createReportWarehouse();
    const attached = (id: string) => ({ pool_id: `apool-${id}`, workspace_id: `ws-${id}`, relation: 'attached' });
    const agents = ['some', 'earlier', 'left', 'unlisted'].map((id) => agent(id, id, 'errored', FIRST));
    const some = { agent_pools: [pool('some', 3), pool('left', 0)], agents: agents.slice(0, 3) };
    // `left` lists no workspace, and another relationship not at all: its row is that of an earlier pull
    const links = [attached('some'), attached('left')];
    await warehouse.pull(FIRST, { ...some, agent_pool_workspaces: links });
    const told = await warehouse.data('agent-health', FIRST, ['pools', 'pools_down']);
    expect(told.summary).toMatchObject({ stranded_workspaces: 3 });
    expect(told.pools).toMatchObject([{ who: '3 wait', attached: 3 }, { who: null }]);
    expect(pick(told.pools_down, 'waiting')).toEqual([3, 0]);
    const earlier = [pool('earlier', null), pool('unlisted', null)];
    await warehouse.pull(SECOND, { agent_pools: earlier, agents, agent_pool_workspaces: [attached('earlier')] });
    const unlisted = await warehouse.data('agent-health', SECOND, ['pools', 'pools_down']);
    expect(unlisted.summary).toMatchObject({ stranded_workspaces: 1 });
    expect(unlisted.pools).toMatchObject([{ who: 'not listed', attached: null }, { who: '1 waits' }]);
    expect(pick(unlisted.pools_down, 'waiting')).toEqual([null, 1]);
    await warehouse.pull(THIRD, { agent_pools: [pool('unlisted', null)], agents });
    const { summary } = await warehouse.data('agent-health', THIRD, []);
    expect(summary).toMatchObject({ stranded_workspaces: null });
    expect(summary.headline).toMatch(/^1 of 1 pool has no live agent, and it is not known how many workspaces wait;/u);
  });

  it('does not count a pool whose agents could not be listed as one without agents', async () => {
    const warehouse = await createReportWarehouse();
    await warehouse.pull(FIRST, {
      agent_pools: [pool('refused', 2), pool('empty', 1)],
      agents: [],
      agent_pool_workspaces: [],
    });
    const part = [{ column: 'pool_id', value: 'apool-refused', reason: 'refused' }];
    await warehouse.database.run(
      "update pulls set status = 'partial', unknown_parts = $part::json where source = 'agents'",
      { part: JSON.stringify(part) },
    );
    const { summary, pools, pools_down } = await warehouse.data('agent-health', FIRST, ['pools', 'pools_down']);
    expect(summary).toMatchObject({ pools_without_live_agents: 1, stranded_workspaces: 1, unknown_pools: 1 });
    expect(pools).toMatchObject([
      { pool_name: 'empty', who: '1 waits', agents: 0 },
      { pool_name: 'refused', who: '2 attached', agents: null },
    ]);
    expect(pick(pools_down, 'pool_name')).toEqual(['empty']);
  });

  it('reports that nothing was pulled', async () => {
    const warehouse = await createReportWarehouse();
    const { summary, sources } = await warehouse.data('agent-health', FIRST, []);
    expect(summary).toMatchObject({
      pools: null,
      agents: null,
      by_status: {},
      pools_without_live_agents: null,
      silent_agents: null,
      headline: 'Nothing is known: no source of this report was ever pulled completely',
    });
    expect(sources).toMatchObject([
      { target: null, source: 'agent_pools', status: 'never', as_of: null, stale: false },
      { target: null, source: 'agents', status: 'never' },
      { target: null, source: 'workspaces', status: 'never' },
    ]);
  });
});

it('does not know which pools have no live agent while the agents never completed', async () => {
  const warehouse = await createReportWarehouse();
  await warehouse.pull(FIRST, { agent_pools: [{ pool_id: 'p', name: 'p' }] });
  const { summary, pools_down } = await warehouse.data('agent-health', FIRST, ['pools_down']);
  expect(summary).toMatchObject({ pools: 1, pools_without_live_agents: null, empty_pools: null });
  expect((summary as { headline: string }).headline).toContain(
    '? of 1 pool has no live agent; the agents are not known',
  );
  expect(pools_down).toEqual([]);
});

it('says of how many pools it is not known while the agents of one target fail', async () => {
  const warehouse = await createReportWarehouse();
  for (const target of ['acme', 'other']) {
    await warehouse.pull(FIRST, { agent_pools: [{ ...pool('p'), pool_id: 'p' }], agents: [] }, target);
  }
  await warehouse.pull(SECOND, { agents: 'failed', agent_pools: 'failed' }, 'other');
  const { summary } = await warehouse.data('agent-health', SECOND, []);
  expect(summary.headline).toBe('1 of 2 pools has no live agent, of 1 it is not known; 0 of 0 agents are silent');
});
