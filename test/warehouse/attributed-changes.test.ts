import { expect, test } from 'vitest';
import { createReportWarehouse, type ReportWarehouse } from '../helpers/report-warehouse.ts';

const night = (day: number) => `2026-11-${String(day).padStart(2, '0')}T02:15:00Z`;

interface Acted {
  readonly id: string;
  readonly at: string;
  readonly operation: string;
  readonly params: object;
  readonly status?: string;
  readonly before?: unknown;
  readonly after?: unknown;
}

/** An action in the ledger. */
function act(
  { database }: ReportWarehouse,
  { id, at, operation, params, status = 'applied', before = null, after = null }: Acted,
) {
  return database.run(
    `insert into actions by name select 'acme' as target, $id as plan_id, 'a1' as action_id, 'p' as playbook, $operation as operation,
     $params::json as params, 'f' as finding_id, $status as status, 'A. Reviewer' as approved_by, $at::timestamptz as started_at,
     $before::json as before, $after::json as after`,
    {
      id,
      at,
      operation,
      status,
      params: JSON.stringify(params),
      before: JSON.stringify(before),
      after: JSON.stringify(after),
    },
  );
}

/** `KEY CHANGE COLUMN PLAN`, in order. */
async function attributed({ database }: ReportWarehouse, table: string): Promise<readonly string[]> {
  const rows = await database.rows(
    `select concat_ws(' ', key, change, "column", coalesce(plan_id, '-')) as told from attributed_changes where "table" = '${table}' order by 1`,
  );
  return rows.map(({ told }) => String(told));
}

test('a change has the action that names its row, in the pull that can have seen it', async () => {
  const warehouse = await createReportWarehouse();
  const agents = (...ids: string[]) => ({ agents: ids.map((agent_id) => ({ agent_id, pool_id: 'p' })) });
  await warehouse.pull(night(1), agents('a', 'b', 'c', 'd', 'e'));
  const remove = { operation: 'platform.agents.delete' };
  await act(warehouse, { ...remove, id: 'ours', at: '2026-11-01T02:15:00Z', params: { id: 'a' } });
  await act(warehouse, {
    ...remove,
    id: 'skipped',
    at: '2026-11-01T09:00:00Z',
    params: { id: 'b' },
    status: 'skipped',
  });
  await act(warehouse, { ...remove, id: 'later', at: '2026-11-02T09:00:00Z', params: { id: 'c' } });
  await act(warehouse, {
    ...remove,
    id: 'lost',
    at: '2026-11-02T09:00:00Z',
    params: { id: 'd' },
    status: 'unconfirmed',
  });
  await warehouse.pull(night(2), agents('c', 'd', 'e'));
  await warehouse.pull(night(3), { agents: 'failed' });
  await warehouse.pull(night(4), agents('c', 'e'));
  await warehouse.pull(night(5), agents('e'));
  expect(await attributed(warehouse, 'agents')).toEqual(['a gone ours', 'b gone -', 'c gone -', 'd gone lost']);
});

test('a column that an action left as it was is changed by others', async () => {
  const warehouse = await createReportWarehouse();
  const policy = (fields: object) => ({ acl_policies: [{ name: 'ops', create_index: 1, ...fields }] });
  await warehouse.pull(night(1), policy({ rules: 'write', description: 'old' }));
  await act(warehouse, {
    id: 'ours',
    at: '2026-11-01T09:00:00Z',
    operation: 'scheduler.policies.write',
    params: { policy_name: 'ops' },
    before: { rules: 'write', description: 'old', job_acl: null },
    after: { rules: 'read', description: 'old', job_acl: null },
  });
  await warehouse.pull(night(2), policy({ rules: 'read', description: 'new' }));
  expect(await attributed(warehouse, 'acl_policies')).toEqual(['ops changed description -', 'ops changed rules ours']);
});

test('a row that an action created is known by its state after it', async () => {
  const warehouse = await createReportWarehouse();
  const snapshots = (...ids: string[]) => ({
    volume_snapshots: ids.map((snapshot_id) => ({ plugin_id: 'ebs', snapshot_id })),
  });
  await warehouse.pull(night(1), snapshots('s1'));
  await act(warehouse, {
    id: 'ours',
    at: '2026-11-01T09:00:00Z',
    operation: 'scheduler.snapshots.create',
    params: { volume_id: 'v', namespace: 'default' },
    before: { recent_snapshots: [{ snapshot_id: 's1' }] },
    after: { recent_snapshots: [{ snapshot_id: 's1' }, { snapshot_id: 's2' }] },
  });
  await warehouse.pull(night(2), snapshots('s1', 's2', 's3'));
  expect(await attributed(warehouse, 'volume_snapshots')).toEqual(['ebs/s2 new ours', 'ebs/s3 new -']);
});
