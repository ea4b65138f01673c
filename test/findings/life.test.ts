import { expect, test } from 'vitest';
import { drifting, night, play, workspace } from '../helpers/drift-nights.ts';
import { findingsWarehouse, type Rows } from '../helpers/findings.ts';

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

test('a severity that changes leaves the state as it is, and stands in the events', async () => {
  const warehouse = await findingsWarehouse();
  const volumes = (writers: number) => ({
    volumes: [{ volume_id: 'v', schedulable: false, current_writers: writers }],
  });
  for (const [day, writers] of [0, 1, 1, 0].entries()) {
    await warehouse.pull(night(day + 1), 'nomad', 'volumes', volumes(writers));
    await warehouse.find(night(day + 1));
  }
  expect(await warehouse.findings('volume-unschedulable')).toMatchObject([
    { state: 'open', severity: 'warning', state_since: night(1) },
  ]);
  const events = await warehouse.database.rows(
    `select changed_at, reason, state, severity from finding_events where rule = 'volume-unschedulable' order by changed_at`,
  );
  expect(events.map((event) => Object.values(event))).toEqual([
    [night(1), 'baseline', 'open', 'warning'],
    [night(2), 'severity changed', 'open', 'critical'],
    [night(4), 'severity changed', 'open', 'warning'],
  ]);
});

test('a warehouse whose columns stand in another order is written by name', async () => {
  const warehouse = await findingsWarehouse();
  await warehouse.database.run('alter table findings drop column severity');
  await warehouse.database.run('alter table findings add column severity varchar');
  for (const day of [1, 2]) await play(warehouse, day, [workspace('ws-1', true)]);
  expect((await drifting(warehouse))['ws-1']).toMatchObject({
    severity: 'warning',
    state: 'open',
    last_seen: night(2),
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
