import { describe, expect, test } from 'vitest';
import { driftFindings, pullAndEvaluate, runTime, workspace } from '../helpers/drift-history.ts';
import { createFindingsWarehouse, type Rows } from '../helpers/findings-warehouse.ts';

describe('unknown is not clean', () => {
  test('a failed or quarantined source resolves nothing and finds nothing', async () => {
    const warehouse = await createFindingsWarehouse();
    const statuses = ['failed', 'quarantined'] as const; // each of one target, which has its name
    const night = async (day: number, rows: Rows | undefined) => {
      for (const status of statuses) {
        if (rows) await warehouse.pull(runTime(day), status, 'workspaces', { workspaces: rows });
        else await warehouse.fail(runTime(day), status, 'workspaces', status);
      }
      return warehouse.evaluate(runTime(day));
    };
    const findings = () =>
      Promise.all(statuses.map(async (status) => (await driftFindings(warehouse, status))['ws-1']));
    await night(1, [workspace('ws-1', false)]);
    await night(2, [workspace('ws-1', true)]);
    expect(await night(3, undefined)).toMatchObject({ resolved: 0, unassessed: 2, open: 2 });
    expect(await findings()).toMatchObject(
      statuses.map((status) => ({
        state: 'open',
        last_seen: runTime(2),
        unassessed_since: runTime(3),
        detail: { unassessed: `source workspaces is ${status}` },
      })),
    );
    await night(4, undefined);
    expect(await findings()).toMatchObject(statuses.map(() => ({ state: 'open', unassessed_since: runTime(3) })));
    expect(await night(5, [])).toMatchObject({ resolved: 2, deleted: 2 }); // its stale source, and it with its workspace
    expect(await findings()).toMatchObject(statuses.map(() => ({ state: 'resolved', unassessed_since: null })));
  });

  test('a threshold that passes while a source fails makes no findings from old rows', async () => {
    const warehouse = await createFindingsWarehouse();
    const agents = [{ agent_id: 'a', pool_id: 'p', status: 'idle', last_ping_at: runTime(1) }];
    await warehouse.pull(runTime(1), 'acme', 'agents', { agents });
    await warehouse.evaluate(runTime(1));
    await warehouse.fail(runTime(3), 'acme', 'agents');
    await warehouse.evaluate(runTime(3));
    expect(await warehouse.findings('silent-agent')).toEqual([]);
    await warehouse.pull(runTime(4), 'acme', 'agents', { agents });
    await warehouse.evaluate(runTime(4));
    expect(await warehouse.findings('silent-agent')).toMatchObject([{ state: 'new', first_seen: runTime(4) }]);
  });

  test('a rule of two sources needs both; the failure of one is reported', async () => {
    const warehouse = await createFindingsWarehouse();
    const pools = { agent_pools: [{ pool_id: 'p', agent_count: 0, relationships: '{"workspaces": 0}' }] };
    await warehouse.pull(runTime(1), 'acme', 'agents');
    await warehouse.pull(runTime(1), 'acme', 'agent_pools', pools);
    await warehouse.evaluate(runTime(1));
    expect(await warehouse.findings('empty-agent-pool')).toMatchObject([{ state: 'open' }]);

    await warehouse.fail(runTime(2), 'acme', 'agents');
    await warehouse.pull(runTime(2), 'acme', 'agent_pools', { agent_pools: [] });
    await warehouse.evaluate(runTime(2));
    expect(await warehouse.findings('empty-agent-pool')).toMatchObject([
      { state: 'open', detail: { unassessed: 'source agents is failed' } },
    ]);

    await warehouse.pull(runTime(3), 'acme', 'agents');
    await warehouse.pull(runTime(3), 'acme', 'agent_pools', { agent_pools: [] });
    await warehouse.evaluate(runTime(3));
    expect(await warehouse.findings('empty-agent-pool')).toMatchObject([{ state: 'resolved' }]);
  });

  test('a run that does not pull a source leaves its findings unchanged, also where it was left out once', async () => {
    const warehouse = await createFindingsWarehouse();
    await warehouse.fail(runTime(1), 'acme', 'workspaces', 'left-out');
    await pullAndEvaluate(warehouse, 2, []);
    await pullAndEvaluate(warehouse, 3, [workspace('ws-1', true)]);
    await pullAndEvaluate(warehouse, 4, [workspace('ws-9', true)], 'other');
    expect((await driftFindings(warehouse))['ws-1']).toMatchObject({
      state: 'new',
      last_seen: runTime(3),
      unassessed_since: null,
    });
  });

  test('a subject that is gone from a complete pull is resolved', async () => {
    const warehouse = await createFindingsWarehouse();
    await pullAndEvaluate(warehouse, 1, [workspace('ws-1', true)]);
    await pullAndEvaluate(warehouse, 2, []);
    expect((await driftFindings(warehouse))['ws-1']).toMatchObject({ state: 'resolved', resolved_at: runTime(2) });
  });
});
