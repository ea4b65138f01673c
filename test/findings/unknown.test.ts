import { describe, expect, test } from 'vitest';
import { drifting, night, play, workspace } from '../helpers/drift-nights.ts';
import { findingsWarehouse } from '../helpers/findings.ts';

describe('unknown is not clean', () => {
  test.each(['failed', 'quarantined'] as const)('a %s source resolves nothing and finds nothing', async (status) => {
    const warehouse = await findingsWarehouse();
    await play(warehouse, 1, [workspace('ws-1', false)]);
    await play(warehouse, 2, [workspace('ws-1', true)]);
    expect(await play(warehouse, 3, status)).toMatchObject({ resolved: 0, unassessed: 1, standing: 1 });
    expect((await drifting(warehouse))['ws-1']).toMatchObject({
      state: 'open',
      last_seen: night(2),
      unassessed_since: night(3),
      detail: { unassessed: `source workspaces is ${status}` },
    });
    await play(warehouse, 4, status);
    expect((await drifting(warehouse))['ws-1']).toMatchObject({ state: 'open', unassessed_since: night(3) });
    expect(await play(warehouse, 5, [])).toMatchObject({ resolved: 2 }); // it, and its stale source
    expect((await drifting(warehouse))['ws-1']).toMatchObject({ state: 'resolved', unassessed_since: null });
  });

  test('time that passes while a source fails makes no findings from old rows', async () => {
    const warehouse = await findingsWarehouse();
    const agents = [{ agent_id: 'a', pool_id: 'p', status: 'idle', last_ping_at: night(1) }];
    await warehouse.pull(night(1), 'acme', 'agents', { agents });
    await warehouse.find(night(1));
    await warehouse.fail(night(3), 'acme', 'agents');
    await warehouse.find(night(3));
    expect(await warehouse.findings('silent-agent')).toEqual([]);
    await warehouse.pull(night(4), 'acme', 'agents', { agents });
    await warehouse.find(night(4));
    expect(await warehouse.findings('silent-agent')).toMatchObject([{ state: 'new', first_seen: night(4) }]);
  });

  test('a rule of two sources needs both; the failure of one is said', async () => {
    const warehouse = await findingsWarehouse();
    const pools = { agent_pools: [{ pool_id: 'p', agent_count: 0 }] };
    await warehouse.pull(night(1), 'acme', 'agents');
    await warehouse.pull(night(1), 'acme', 'agent_pools', pools);
    await warehouse.find(night(1));
    expect(await warehouse.findings('empty-agent-pool')).toMatchObject([{ state: 'open' }]);

    await warehouse.fail(night(2), 'acme', 'agents');
    await warehouse.pull(night(2), 'acme', 'agent_pools', { agent_pools: [] });
    await warehouse.find(night(2));
    expect(await warehouse.findings('empty-agent-pool')).toMatchObject([
      { state: 'open', detail: { unassessed: 'source agents is failed' } },
    ]);

    await warehouse.pull(night(3), 'acme', 'agents');
    await warehouse.pull(night(3), 'acme', 'agent_pools', { agent_pools: [] });
    await warehouse.find(night(3));
    expect(await warehouse.findings('empty-agent-pool')).toMatchObject([{ state: 'resolved' }]);
  });

  test('a run that does not try a source leaves its findings as they are', async () => {
    const warehouse = await findingsWarehouse();
    await play(warehouse, 1, []);
    await play(warehouse, 2, [workspace('ws-1', true)]);
    await play(warehouse, 3, [workspace('ws-9', true)], 'other');
    expect((await drifting(warehouse))['ws-1']).toMatchObject({
      state: 'new',
      last_seen: night(2),
      unassessed_since: null,
    });
  });

  test('a subject that is gone from a complete pull is resolved', async () => {
    const warehouse = await findingsWarehouse();
    await play(warehouse, 1, [workspace('ws-1', true)]);
    await play(warehouse, 2, []);
    expect((await drifting(warehouse))['ws-1']).toMatchObject({ state: 'resolved', resolved_at: night(2) });
  });
});
