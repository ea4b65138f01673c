import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createFindingsWarehouse, type FindingsWarehouse, type Rows } from '../helpers/findings-warehouse.ts';

const NOW = '2026-11-20T02:15:00Z';

const agent = (id: string, status: string | null, ping: string | null, pool = 'apool-1'): Rows[number] => ({
  agent_id: id,
  pool_id: pool,
  name: `agent "${id}"`,
  status,
  last_ping_at: ping,
});
const pool = (id: string, scoped: boolean | null, more: Rows[number] = {}): Rows[number] => ({
  pool_id: id,
  name: `pool of ${id}`,
  organization_scoped: scoped,
  agent_count: 0,
  ...more,
});
const related = (poolId: string, workspaceId: string, relation = 'attached'): Rows[number] => ({
  pool_id: poolId,
  workspace_id: workspaceId,
  relation,
});

describe('agent pools', () => {
  let warehouse: FindingsWarehouse;

  beforeAll(async () => {
    warehouse = await createFindingsWarehouse({ cleanup: afterAll });
    await warehouse.pull(NOW, 'acme', 'agent_pools', {
      agent_pools: [
        pool('empty', false),
        pool('empty-allowed', true),
        pool('counted', false, { agent_count: 2 }),
        pool('attached', true),
        pool('three', true),
        pool('four', true),
        pool('scope-unreported', null),
        pool('scoped', false),
        pool('dead', false),
        pool('alive', false),
        pool('status-unreported', false),
        pool('agentless', false),
      ],
      agent_pool_workspaces: [
        related('empty-allowed', 'ws-1', 'allowed'),
        related('attached', 'ws-1'),
        ...['ws-1', 'ws-2', 'ws-3'].map((id) => related('three', id)),
        related('three', 'ws-9', 'allowed'),
        ...['ws-1', 'ws-2', 'ws-3', 'ws-4'].map((id) => related('four', id)),
        related('scope-unreported', 'ws-1'),
        related('scoped', 'ws-1'),
        related('dead', 'ws-1'),
        related('agentless', 'ws-1'),
      ],
    });
    await warehouse.pull(NOW, 'acme', 'agents', {
      agents: [
        agent('a', 'exited', NOW, 'dead'),
        agent('b', 'busy', NOW, 'alive'),
        agent('c', 'errored', NOW, 'alive'),
        agent('d', null, NOW, 'status-unreported'),
        agent('e', 'idle', NOW, 'attached'),
        agent('f', 'idle', NOW, 'three'),
        agent('g', 'idle', NOW, 'four'),
        agent('h', 'idle', NOW, 'scope-unreported'),
        agent('i', 'idle', NOW, 'scoped'),
      ],
    });
    // the same pools in another target, without findings
    await warehouse.pull(NOW, 'other', 'agent_pools', { agent_pools: [pool('empty', false)] });
    await warehouse.pull(NOW, 'other', 'agents', { agents: [agent('a', 'idle', NOW, 'empty')] });
    await warehouse.evaluate(NOW);
  });

  test('empty-agent-pool: no agents and no attached workspaces; unknown where an agent is counted but not listed', async () => {
    expect(await warehouse.seen('empty-agent-pool')).toEqual({
      found: ['empty', 'empty-allowed'],
      unknown: ['counted'],
    });
    expect((await warehouse.findings('empty-agent-pool'))[1]?.detail).toMatchObject({
      pool_id: 'empty-allowed',
      allowed_workspaces: 1,
    });
  });

  test('unscoped-agent-pool: open to the organization, attached to one to three workspaces', async () => {
    expect(await warehouse.seen('unscoped-agent-pool')).toEqual({
      found: ['attached', 'three'],
      unknown: ['scope-unreported'],
    });
    expect((await warehouse.findings('unscoped-agent-pool'))[1]?.detail).toEqual({
      pool_id: 'three',
      workspace_ids: ['ws-1', 'ws-2', 'ws-3'],
      allowed_workspace_ids: ['ws-9'],
    });
  });

  test('pool-without-live-agents: none idle or busy; critical where workspaces wait for it', async () => {
    expect(await warehouse.seen('pool-without-live-agents')).toEqual({
      found: ['agentless', 'counted', 'dead', 'empty', 'empty-allowed'],
      unknown: ['status-unreported'],
    });
    const rows = await warehouse.findings('pool-without-live-agents');
    expect(rows.map(({ subject_id, severity, weight }) => [subject_id, severity, weight])).toContainEqual([
      'dead',
      'critical',
      1,
    ]);
    expect(rows.filter(({ severity }) => severity === 'critical').map(({ subject_id }) => subject_id)).toEqual([
      'agentless',
      'dead',
    ]);
  });
});
