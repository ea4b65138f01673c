import { describe, expect, test } from 'vitest';
import { acceptFindings } from '../../src/pipeline/find-accept.ts';
import type { Row } from '../../src/warehouse/values.ts';
import { type FindingsWarehouse, findingsWarehouse, type Rows } from '../helpers/findings.ts';

/** 02:15 of a night in November. */
const night = (day: number) => `2026-11-${String(day).padStart(2, '0')}T02:15:00Z`;

const workspace = (id: string, drifted: boolean | null, resources = 1): Rows[number] => ({
  external_id: id,
  workspace_name: `name of ${id}`,
  drifted,
  resources_drifted: drifted ? resources : 0,
});

async function play(warehouse: FindingsWarehouse, day: number, rows: Rows | 'failed' | 'quarantined', target = 'acme') {
  if (typeof rows === 'string') await warehouse.fail(night(day), target, 'workspaces', rows);
  else await warehouse.pull(night(day), target, 'workspaces', { workspaces: rows });
  return warehouse.find(night(day));
}

const drifting = async (warehouse: FindingsWarehouse, target = 'acme') =>
  Object.fromEntries((await warehouse.findings('drifted-workspace', target)).map((row) => [row.subject_id, row]));

test('the first evaluation of a target is a silent baseline, the next one makes news', async () => {
  const warehouse = await findingsWarehouse();
  const first = await play(warehouse, 1, [workspace('ws-1', true)]);
  expect(first).toMatchObject({ baseline: 1, found: 0, standing: 1, failed: [] });
  expect((await drifting(warehouse))['ws-1']).toMatchObject({
    state: 'open',
    first_seen: night(1),
    opened_at: night(1),
  });

  const second = await play(warehouse, 2, [workspace('ws-1', true), workspace('ws-2', true)]);
  expect(second).toMatchObject({ baseline: 0, found: 1, standing: 2 });
  expect((await drifting(warehouse))['ws-2']).toMatchObject({
    state: 'new',
    first_seen: night(2),
    last_seen: night(2),
  });
});

test('a finding goes from new to open, unknown, open, resolved, reopened and accepted, and back', async () => {
  const warehouse = await findingsWarehouse();
  const one = async () => (await drifting(warehouse))['ws-1']!;
  await play(warehouse, 1, [workspace('ws-1', false)]);
  expect(await one()).toBeUndefined();

  await play(warehouse, 2, [workspace('ws-1', true, 2)]);
  expect(await one()).toMatchObject({
    state: 'new',
    severity: 'warning',
    weight: 2,
    finding_id: expect.stringMatching(/^f-[0-9a-f]{12}$/),
  });

  await play(warehouse, 3, [workspace('ws-1', true, 3)]);
  expect(await one()).toMatchObject({
    state: 'open',
    weight: 3,
    last_seen: night(3),
    state_since: night(3),
    opened_at: night(2),
  });

  expect(await play(warehouse, 4, [workspace('ws-1', null)])).toMatchObject({ unassessed: 1, resolved: 0 });
  expect(await one()).toMatchObject({
    state: 'open',
    last_seen: night(3),
    unassessed_since: night(4),
    detail: { unassessed: 'drift is not assessed', resources_drifted: 3 },
  });

  await play(warehouse, 5, [workspace('ws-1', true, 3)]);
  const seenAgain = await one();
  expect(seenAgain).toMatchObject({ state: 'open', last_seen: night(5), unassessed_since: null });
  expect(seenAgain.detail).not.toHaveProperty('unassessed');

  expect(await play(warehouse, 6, [workspace('ws-1', false)])).toMatchObject({ resolved: 1, standing: 0 });
  expect(await one()).toMatchObject({
    state: 'resolved',
    resolved_at: night(6),
    last_seen: night(5),
    times_reopened: 0,
  });

  await play(warehouse, 7, [workspace('ws-1', null)]);
  expect(await one()).toMatchObject({ state: 'resolved', resolved_at: night(6), unassessed_since: null });

  expect(await play(warehouse, 8, [workspace('ws-1', true, 3)])).toMatchObject({ reopened: 1, found: 0 });
  expect(await one()).toMatchObject({
    state: 'new',
    first_seen: night(2),
    opened_at: night(8),
    resolved_at: null,
    times_reopened: 1,
  });
  expect(
    (
      await warehouse.database.rows(
        `select reason from finding_events where rule = 'drifted-workspace' order by changed_at`,
      )
    ).map(({ reason }) => reason),
  ).toEqual(['found', 'no longer new', 'gone', 'reopened']);
});

const acceptance = { reason: 'the supplier fixes it', owner: 'platform team', until: new Date(night(20)) };

/** A finding of weight 2, open, in a warehouse of its own. */
async function openFinding(): Promise<{ warehouse: FindingsWarehouse; id: string; one: () => Promise<Row> }> {
  const warehouse = await findingsWarehouse();
  await play(warehouse, 1, [workspace('ws-1', true, 2)]);
  const one = async () => (await drifting(warehouse))['ws-1']!;
  const id = String((await one()).finding_id);
  return { warehouse, id, one };
}

async function reasons({ database }: FindingsWarehouse, id: string) {
  const rows = await database.rows('select reason from finding_events where finding_id = $id order by changed_at', {
    id,
  });
  return rows.map(({ reason }) => reason);
}

describe('an accepted finding', () => {
  test('keeps still until its end has passed, then is news again', async () => {
    const { warehouse, id, one } = await openFinding();
    await acceptFindings(warehouse.database, warehouse.files, { ...acceptance, ids: [id] }, new Date(night(2)));
    expect(await play(warehouse, 3, [workspace('ws-1', true, 2)])).toMatchObject({
      accepted: 1,
      standing: 0,
      returned: 0,
    });
    expect(await one()).toMatchObject({
      state: 'accepted',
      last_seen: night(3),
      accepted_at: night(2),
      accepted_until: night(20),
      accepted_reason: 'the supplier fixes it',
      accepted_owner: 'platform team',
    });
    await play(warehouse, 19, [workspace('ws-1', true, 1)]);
    expect(await one()).toMatchObject({ state: 'accepted' });
    expect(await play(warehouse, 20, [workspace('ws-1', true, 1)])).toMatchObject({ returned: 1, standing: 1 });
    expect(await one()).toMatchObject({ state: 'new', opened_at: night(1), times_reopened: 0 });
    expect(await reasons(warehouse, id)).toEqual(['baseline', 'accepted', 'acceptance ended']);
  });

  test('comes back at its end even where its source fails', async () => {
    const { warehouse, id, one } = await openFinding();
    await acceptFindings(warehouse.database, warehouse.files, { ...acceptance, ids: [id] }, new Date(night(2)));
    await play(warehouse, 20, 'failed');
    expect(await one()).toMatchObject({ state: 'new', unassessed_since: night(20) });
  });

  test('comes back at its end even where a run does not ask its target', async () => {
    const { warehouse, id, one } = await openFinding();
    await acceptFindings(warehouse.database, warehouse.files, { ...acceptance, ids: [id] }, new Date(night(2)));
    await play(warehouse, 20, [], 'other');
    expect(await one()).toMatchObject({ state: 'new', last_seen: night(1), unassessed_since: null });
  });

  test('comes back when its weight grows, and stays back', async () => {
    const { warehouse, id, one } = await openFinding();
    await acceptFindings(warehouse.database, warehouse.files, { ...acceptance, ids: [id] }, new Date(night(2)));
    expect(await play(warehouse, 3, [workspace('ws-1', true, 3)])).toMatchObject({ returned: 1 });
    expect(await one()).toMatchObject({ state: 'new', weight: 3 });
    await play(warehouse, 4, [workspace('ws-1', true, 1)]);
    expect(await one()).toMatchObject({ state: 'open' });
    expect(await reasons(warehouse, id)).toEqual(['baseline', 'accepted', 'got worse', 'no longer new']);
  });

  test('comes back when its severity rises', async () => {
    const warehouse = await findingsWarehouse();
    const root = (ends: string) => [{ root_id: 'root', active: true, not_after: ends }];
    await warehouse.pull(night(1), 'mesh', 'ca_roots', { ca_roots: root(night(5)) });
    await warehouse.find(night(1));
    const [row] = await warehouse.findings('ca-root-expiring');
    await acceptFindings(
      warehouse.database,
      warehouse.files,
      { ...acceptance, ids: [String(row?.finding_id)] },
      new Date(night(2)),
    );
    await warehouse.pull(night(4), 'mesh', 'ca_roots', { ca_roots: root(night(5)) });
    await warehouse.find(night(4));
    expect(await warehouse.findings('ca-root-expiring')).toMatchObject([{ state: 'accepted', severity: 'warning' }]);
    await warehouse.pull(night(5), 'mesh', 'ca_roots', { ca_roots: root(night(5)) });
    await warehouse.find(night(5));
    expect(await warehouse.findings('ca-root-expiring')).toMatchObject([{ state: 'new', severity: 'critical' }]);
  });

  test('is resolved like any other, which ends the acceptance', async () => {
    const { warehouse, id, one } = await openFinding();
    await acceptFindings(warehouse.database, warehouse.files, { ...acceptance, ids: [id] }, new Date(night(2)));
    await play(warehouse, 3, [workspace('ws-1', false)]);
    expect(await one()).toMatchObject({ state: 'resolved', accepted_until: null, accepted_owner: null });
    await play(warehouse, 4, [workspace('ws-1', true, 1)]);
    expect(await one()).toMatchObject({ state: 'new', times_reopened: 1 });
  });

  test('must be there, unresolved, and its end ahead; else nothing changes', async () => {
    const { warehouse, id, one } = await openFinding();
    await play(warehouse, 2, [workspace('ws-1', true), workspace('ws-2', true)]);
    await play(warehouse, 3, [workspace('ws-1', true), workspace('ws-2', false)]);
    const gone = String((await drifting(warehouse))['ws-2']?.finding_id);
    const accept = (ids: readonly string[], until = acceptance.until) =>
      acceptFindings(warehouse.database, warehouse.files, { ...acceptance, ids, until }, new Date(night(4)));
    await expect(accept([id, 'f-000000000000'])).rejects.toThrow('unknown finding f-000000000000');
    await expect(accept([id, gone])).rejects.toThrow(`already resolved: ${gone}`);
    await expect(accept([id], new Date(night(4)))).rejects.toThrow('--until 2026-11-04T02:15:00.000Z has passed');
    expect(await one()).toMatchObject({ state: 'open' });
  });
});

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

test('two targets with the same IDs live apart, and each begins with its own baseline', async () => {
  const warehouse = await findingsWarehouse();
  await play(warehouse, 1, [workspace('ws-1', true)]);
  await warehouse.pull(night(2), 'acme', 'workspaces', { workspaces: [workspace('ws-1', true)] });
  await warehouse.pull(night(2), 'other', 'workspaces', { workspaces: [workspace('ws-1', true)] });
  await warehouse.find(night(2));
  const [acme, other] = await warehouse.findings('drifted-workspace');
  expect([acme, other]).toMatchObject([{ state: 'open' }, { state: 'open', first_seen: night(2) }]);
  expect(acme?.finding_id).not.toBe(other?.finding_id);

  await warehouse.pull(night(3), 'acme', 'workspaces', { workspaces: [workspace('ws-1', false)] });
  await warehouse.pull(night(3), 'other', 'workspaces', { workspaces: [workspace('ws-1', true)] });
  await warehouse.find(night(3));
  expect(await warehouse.findings('drifted-workspace')).toMatchObject([{ state: 'resolved' }, { state: 'open' }]);
});

test('the same run again changes nothing, whatever a finding goes through', async () => {
  const warehouse = await findingsWarehouse();
  const nights: readonly (Rows | 'failed')[] = [
    [workspace('ws-1', true), workspace('ws-2', false)],
    [workspace('ws-1', true), workspace('ws-2', true)],
    'failed',
    [workspace('ws-1', false), workspace('ws-2', null)],
    [workspace('ws-1', true), workspace('ws-2', true, 9)],
  ];
  const everything = async () => [
    await warehouse.database.rows('select * from findings order by all'),
    await warehouse.database.rows('select * from finding_events order by all'),
    await warehouse.database.rows('select * from finding_assessments order by all'),
  ];
  for (const [index, rows] of nights.entries()) {
    await play(warehouse, index + 1, rows);
    const once = await everything();
    await warehouse.find(night(index + 1));
    expect(await everything(), `night ${index + 1}`).toEqual(once);
  }
});
