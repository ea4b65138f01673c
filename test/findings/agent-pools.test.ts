import { beforeAll, describe, expect, test } from 'vitest';
import { agent } from '../helpers/agent-row.ts';
import { createFindingsWarehouse, type FindingsWarehouse, type Rows } from '../helpers/findings-warehouse.ts';
import { cleanAtEnd } from '../helpers/temp.ts';

const atEnd = cleanAtEnd();
const NOW = '2026-11-20T02:15:00Z';

const pool = (id: string, scoped: boolean | null, more: Rows[number] = {}): Rows[number] => ({
  pool_id: id,
  name: `pool of ${id}`,
  organization_scoped: scoped,
  agent_count: 0,
  relationships: JSON.stringify({ workspaces: 0, agents: null, organization: 1 }),
  ...more,
});
const using = (relationships: Readonly<Record<string, number | null>>): Rows[number] => ({
  relationships: JSON.stringify({ workspaces: 0, 'allowed-workspaces': 0, agents: null, ...relationships }),
});
const related = (poolId: string, workspaceId: string, relation = 'attached'): Rows[number] => ({
  pool_id: poolId,
  workspace_id: workspaceId,
  relation,
});

describe('agent pools', () => {
  let warehouse: FindingsWarehouse;

  beforeAll(async () => {
    warehouse = await createFindingsWarehouse({ cleanup: atEnd });
    await warehouse.pull(NOW, 'acme', 'agent_pools', {
      agent_pools: [
        pool('empty', false),
        pool('empty-allowed', true),
        pool('counted', false, { agent_count: 2 }),
        pool('attached', true, using({ workspaces: 1 })),
        pool('three', true, using({ workspaces: 3 })),
        pool('four', true, using({ workspaces: 4 })),
        pool('scope-unreported', null, using({ workspaces: 1 })),
        pool('scoped', false, using({ workspaces: 1 })),
        pool('dead', false, using({ workspaces: 1 })),
        pool('alive', false),
        pool('status-unreported', false),
        pool('agentless', false, using({ workspaces: 1 })),
        pool('stack', false, using({ stacks: 1 })),
        pool('hyok', false, using({ 'hyok-configurations': 2 })),
        pool('later', false, using({ 'invented-next-year': 1 })),
        pool('later-unlisted', false, using({ 'invented-next-year': null })),
        pool('later-empty', false, using({ 'invented-next-year': 0 })),
        pool('permissions', false, using({ 'allowed-projects': 3, 'excluded-workspaces': 1 })),
        pool('workspaces-unlisted', false, { relationships: null }),
        pool('allowed-renamed', false, { relationships: '{"workspaces": 0, "allowed_workspaces": 1}' }),
        pool('open-workspaces-renamed', true, { relationships: '{"attached": 1, "allowed-workspaces": 0}' }),
        pool('open-stack', true, using({ workspaces: 1, stacks: 1 })),
        pool('open-later', true, using({ workspaces: 1, 'invented-next-year': 1 })),
        pool('open-later-unlisted', true, using({ workspaces: 1, 'invented-next-year': null })),
        pool('open-project', true, using({ workspaces: 1, 'allowed-projects': 1 })),
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
        ...['open-stack', 'open-later', 'open-later-unlisted', 'open-project'].map((id) => related(id, 'ws-1')),
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
        ...['open-stack', 'open-later', 'open-later-unlisted', 'open-project'].map((id) => agent(id, 'idle', NOW, id)),
      ],
    });
    // the same pools in another target, without findings
    await warehouse.pull(NOW, 'other', 'agent_pools', { agent_pools: [pool('empty', false)] });
    await warehouse.pull(NOW, 'other', 'agents', { agents: [agent('a', 'idle', NOW, 'empty')] });
    await warehouse.evaluate(NOW);
  });

  test('empty-agent-pool: no agents and no users of any relationship; unknown where agents or users are not listed', async () => {
    expect(await warehouse.seen('empty-agent-pool')).toEqual({
      found: ['empty', 'empty-allowed', 'later-empty', 'permissions'],
      unknown: ['allowed-renamed', 'counted', 'later-unlisted', 'workspaces-unlisted'],
    });
    expect((await warehouse.findings('empty-agent-pool'))[1]?.detail).toMatchObject({
      pool_id: 'empty-allowed',
      allowed_workspaces: 1,
    });
  });

  test('unscoped-agent-pool: open to the organization, attached to one to three workspaces and nothing else', async () => {
    expect(await warehouse.seen('unscoped-agent-pool')).toEqual({
      found: ['attached', 'open-project', 'three'],
      unknown: ['open-later-unlisted', 'open-workspaces-renamed', 'scope-unreported'],
    });
    expect((await warehouse.findings('unscoped-agent-pool')).at(-1)?.detail).toMatchObject({
      pool_id: 'three',
      workspace_ids: ['ws-1', 'ws-2', 'ws-3'],
      allowed_workspace_ids: ['ws-9'],
    });
  });

  test('pool-without-live-agents: none idle or busy; critical where workspaces wait for it', async () => {
    expect(await warehouse.seen('pool-without-live-agents')).toEqual({
      found: [
        ...[
          'agentless',
          'allowed-renamed',
          'counted',
          'dead',
          'empty',
          'empty-allowed',
          'hyok',
          'later',
          'later-empty',
          'later-unlisted',
        ],
        ...['open-workspaces-renamed', 'permissions', 'stack', 'workspaces-unlisted'],
      ],
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
    expect(rows.map(({ title }) => title).join()).not.toMatch(/\b1 workspaces/u);
    const unlisted = rows.filter(({ severity }) => severity === 'warning');
    expect(unlisted.map(({ subject_id }) => subject_id)).toEqual(['open-workspaces-renamed', 'workspaces-unlisted']);
    expect(unlisted.at(-1)).toMatchObject({
      title: 'Agent pool pool of workspaces-unlisted has no live agent (0 known, its workspaces are not listed)',
      detail: { attached_workspaces: null },
    });
  });

  test('pool-without-live-agents judges a pool of which the service never lists a relationship; the other rules leave it', async () => {
    const never = await createFindingsWarehouse();
    const pools = [
      pool('attached-before', true, { relationships: '{"agents": null}' }),
      pool('attached-now', false, { relationships: '{"workspaces": 2}' }),
      pool('no-longer-attached', false, { relationships: '{"workspaces": 0}' }),
      pool('unlisted', true, { relationships: '{"agents": null}' }),
    ];
    await never.pull(NOW, 'acme', 'agent_pools', {
      agent_pools: pools,
      agent_pool_workspaces: [related('attached-before', 'ws-1'), related('no-longer-attached', 'ws-2')],
    });
    await never.pull(NOW, 'acme', 'agents', {
      agents: pools.map(({ pool_id }) => agent(`of ${pool_id}`, 'exited', NOW, String(pool_id))),
    });
    const parts = pools.map(({ pool_id }) => ({
      column: 'pool_id',
      value: pool_id,
      reason: 'not listed',
      isUnsupported: true,
    }));
    await never.database.run(`update pulls set unknown_parts = $parts::json where source = 'agent_pools'`, {
      parts: JSON.stringify(parts),
    });
    await never.evaluate(NOW);
    const found = await never.findings('pool-without-live-agents');
    expect(found.map(({ subject_id, severity, weight }) => [subject_id, severity, weight])).toEqual([
      ['attached-before', 'critical', 1],
      ['attached-now', 'critical', 2],
      ['no-longer-attached', 'info', 0],
      ['unlisted', 'warning', 0],
    ]);
    expect(await never.findings('unscoped-agent-pool')).toEqual([]);
  });
});
