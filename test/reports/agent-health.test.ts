import { describe, expect, it } from 'vitest';
import { openEstate, workspace } from '../helpers/report-estate.ts';

const FIRST = '2026-11-01T02:15:00Z';
const SECOND = '2026-11-02T02:15:00Z';
const THIRD = '2026-11-03T02:15:00Z';

const pool = (id: string) => ({ pool_id: `apool-${id}`, name: id, organization_scoped: true });
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
  it('calls silent who pinged more than ten minutes before, or never', async () => {
    const estate = await openEstate();
    await estate.night(FIRST, {
      agent_pools: [pool('one')],
      agents: [
        agent('in-time', 'one', 'idle', '2026-11-01T02:05:00Z'),
        agent('late', 'one', 'idle', '2026-11-01T02:04:59Z'),
        agent('never', 'one', 'unknown', null),
      ],
    });
    const { summary, silent } = await estate.data('agent-health', FIRST);
    expect(summary).toMatchObject({ agents: 3, silent_agents: 2, by_status: { idle: 2, unknown: 1 } });
    expect(pick(silent, 'agent_name')).toEqual(['never', 'late']);
  });

  it('obeys the threshold of the configuration', async () => {
    const estate = await openEstate();
    await estate.night(FIRST, {
      agent_pools: [pool('one')],
      agents: [agent('a', 'one', 'idle', '2026-11-01T02:05:00Z')],
    });
    const { thresholds } = estate.options(FIRST);
    const { summary } = await estate.data('agent-health', FIRST, {
      thresholds: { ...thresholds, agentSilentMinutes: 0.5 },
    });
    expect(summary).toMatchObject({ silent_agents: 1 });
  });

  it('tells who was silent already when it was pulled, if the report is later', async () => {
    const estate = await openEstate();
    await estate.night(FIRST, {
      agent_pools: [pool('one')],
      agents: [agent('a', 'one', 'idle', '2026-11-01T02:14:00Z')],
    });
    const { summary } = await estate.data('agent-health', '2026-11-01T09:00:00Z');
    expect(summary).toMatchObject({ silent_agents: 1, silent_when_pulled: 0 });
  });

  it('calls a pool down that has no agent idle or busy, and names what waits for it', async () => {
    const estate = await openEstate();
    const ping = '2026-11-01T02:14:00Z';
    const link = (poolId: string, id: string, relation: string) => ({
      pool_id: `apool-${poolId}`,
      workspace_id: `ws-${id}`,
      relation,
    });
    await estate.night(FIRST, {
      agent_pools: [pool('idle'), pool('busy'), pool('dead'), pool('empty')],
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
    const { summary, pools_down, stranded, unnamed } = await estate.data('agent-health', FIRST);
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

  it('keeps pools of two targets with one ID apart', async () => {
    const estate = await openEstate();
    await estate.night(FIRST, { agent_pools: [pool('one')], agents: [agent('a', 'one', 'idle', FIRST)] }, 'east');
    await estate.night(FIRST, { agent_pools: [pool('one')], agents: [agent('a', 'one', 'errored', FIRST)] }, 'west');
    const { summary } = await estate.data('agent-health', FIRST);
    expect(summary).toMatchObject({
      pools: 2,
      agents: 2,
      pools_without_live_agents: 1,
      by_status: { errored: 1, idle: 1 },
    });
  });

  it('tells the change of each status, and the pools down over the nights', async () => {
    const estate = await openEstate();
    const night = (at: string, status: string, other: string | null) =>
      estate.night(at, {
        agent_pools: [pool('one'), pool('two')],
        agents: [agent('a', 'one', status, at), ...(other ? [agent('b', 'two', other, at)] : [])],
      });
    await night(FIRST, 'idle', 'busy');
    await night(SECOND, 'errored', 'busy');
    await night(THIRD, 'exited', null);
    const { by_status, nights, summary, pools_down } = await estate.data('agent-health', THIRD);
    expect(by_status).toMatchObject([
      { status: 'exited', agents: 1, agents_before: 0, change: 1 },
      { status: 'busy', agents: 0, agents_before: 1, change: -1 },
      { status: 'errored', agents: 0, agents_before: 1, change: -1 },
    ]);
    expect(nights).toEqual([
      { night: THIRD, pools: 2, pools_without_live_agents: 2, agents: 1, live_agents: 0 },
      { night: SECOND, pools: 2, pools_without_live_agents: 1, agents: 2, live_agents: 1 },
      { night: FIRST, pools: 2, pools_without_live_agents: 0, agents: 2, live_agents: 2 },
    ]);
    expect(summary).toMatchObject({ pools_without_live_agents_before: 1, live_agents_before: 1 });
    expect(pools_down).toMatchObject([
      { pool_name: 'one', since: SECOND },
      { pool_name: 'two', since: THIRD },
    ]);
  });

  it('does not count a pool that was deleted as down', async () => {
    const estate = await openEstate();
    await estate.night(FIRST, { agent_pools: [pool('one'), pool('two')], agents: [agent('a', 'one', 'idle', FIRST)] });
    await estate.night(SECOND, { agent_pools: [pool('one')], agents: [agent('a', 'one', 'idle', FIRST)] });
    const { nights } = await estate.data('agent-health', SECOND);
    expect(nights).toMatchObject([
      { night: SECOND, pools: 1, pools_without_live_agents: 0 },
      { night: FIRST, pools: 2, pools_without_live_agents: 1 },
    ]);
  });

  it('knows nothing where nothing was pulled, and says so', async () => {
    const estate = await openEstate();
    const { summary, sources } = await estate.data('agent-health', FIRST);
    expect(summary).toMatchObject({
      pools: 0,
      agents: 0,
      by_status: {},
      pools_without_live_agents: 0,
      silent_agents: 0,
    });
    expect(sources).toMatchObject([
      { target: null, source: 'agent_pools', status: 'never', as_of: null, stale: false },
      { target: null, source: 'agents', status: 'never' },
      { target: null, source: 'workspaces', status: 'never' },
    ]);
  });
});
