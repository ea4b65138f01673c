import { expect, test } from 'vitest';
import { driftFindings, pullAndEvaluate, runTime, workspace } from '../helpers/drift-history.ts';
import { createFindingsWarehouse, type Rows } from '../helpers/findings-warehouse.ts';

test('the first evaluation of a target is a baseline, later ones report new findings', async () => {
  const warehouse = await createFindingsWarehouse();
  const first = await pullAndEvaluate(warehouse, 1, [workspace('ws-1', true)]);
  expect(first).toMatchObject({ baseline: 1, found: 0, open: 1, failed: [] });
  expect((await driftFindings(warehouse))['ws-1']).toMatchObject({
    state: 'open',
    first_seen: runTime(1),
    opened_at: runTime(1),
  });

  const second = await pullAndEvaluate(warehouse, 2, [workspace('ws-1', true), workspace('ws-2', true)]);
  expect(second).toMatchObject({ baseline: 0, found: 1, open: 2 });
  expect((await driftFindings(warehouse))['ws-2']).toMatchObject({
    state: 'new',
    first_seen: runTime(2),
    last_seen: runTime(2),
  });
});

test('a finding goes from new to open, unknown, open, resolved, reopened and accepted, and back', async () => {
  const warehouse = await createFindingsWarehouse();
  const one = async () => (await driftFindings(warehouse))['ws-1']!;
  await pullAndEvaluate(warehouse, 1, [workspace('ws-1', false)]);
  expect(await one()).toBeUndefined();

  await pullAndEvaluate(warehouse, 2, [workspace('ws-1', true, 2)]);
  expect(await one()).toMatchObject({
    state: 'new',
    severity: 'warning',
    weight: 2,
    finding_id: expect.stringMatching(/^f-[0-9a-f]{12}$/),
  });

  await pullAndEvaluate(warehouse, 3, [workspace('ws-1', true, 3)]);
  expect(await one()).toMatchObject({
    state: 'open',
    weight: 3,
    last_seen: runTime(3),
    state_since: runTime(3),
    opened_at: runTime(2),
  });

  expect(await pullAndEvaluate(warehouse, 4, [workspace('ws-1', null)])).toMatchObject({ unassessed: 1, resolved: 0 });
  expect(await one()).toMatchObject({
    state: 'open',
    last_seen: runTime(3),
    unassessed_since: runTime(4),
    detail: { unassessed: 'drift is not assessed', resources_drifted: 3 },
  });

  await pullAndEvaluate(warehouse, 5, [workspace('ws-1', true, 3)]);
  const seenAgain = await one();
  expect(seenAgain).toMatchObject({ state: 'open', last_seen: runTime(5), unassessed_since: null });
  expect(seenAgain.detail).not.toHaveProperty('unassessed');

  expect(await pullAndEvaluate(warehouse, 6, [workspace('ws-1', false)])).toMatchObject({ resolved: 1, open: 0 });
  expect(await one()).toMatchObject({
    state: 'resolved',
    resolved_at: runTime(6),
    last_seen: runTime(5),
    times_reopened: 0,
  });

  await pullAndEvaluate(warehouse, 7, [workspace('ws-1', null)]);
  expect(await one()).toMatchObject({ state: 'resolved', resolved_at: runTime(6), unassessed_since: null });

  expect(await pullAndEvaluate(warehouse, 8, [workspace('ws-1', true, 3)])).toMatchObject({ reopened: 1, found: 0 });
  expect(await one()).toMatchObject({
    state: 'new',
    first_seen: runTime(2),
    opened_at: runTime(8),
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

test('a change of severity keeps the state, and is recorded in the events', async () => {
  const warehouse = await createFindingsWarehouse();
  const volumes = (writers: number) => ({
    volumes: [{ volume_id: 'v', schedulable: false, current_writers: writers }],
  });
  for (const [day, writers] of [0, 1, 1, 0].entries()) {
    await warehouse.pull(runTime(day + 1), 'nomad', 'volumes', volumes(writers));
    await warehouse.evaluate(runTime(day + 1));
  }
  expect(await warehouse.findings('volume-unschedulable')).toMatchObject([
    { state: 'open', severity: 'warning', state_since: runTime(1) },
  ]);
  const events = await warehouse.database.rows(
    `select changed_at, reason, state, severity from finding_events where rule = 'volume-unschedulable' order by changed_at`,
  );
  expect(events.map((event) => Object.values(event))).toEqual([
    [runTime(1), 'baseline', 'open', 'warning'],
    [runTime(2), 'severity changed', 'open', 'critical'],
    [runTime(4), 'severity changed', 'open', 'warning'],
  ]);
});

test('a change of severity in the run in which a finding is no longer new is an event', async () => {
  const warehouse = await createFindingsWarehouse();
  for (const [day, writers] of [null, 0, 1, 1].entries()) {
    const volumes = writers === null ? [] : [{ volume_id: 'v', schedulable: false, current_writers: writers }];
    await warehouse.pull(runTime(day + 1), 'nomad', 'volumes', { volumes });
    await warehouse.evaluate(runTime(day + 1));
  }
  const events = await warehouse.database.rows(
    `select reason, state, severity from finding_events where rule = 'volume-unschedulable' order by changed_at`,
  );
  expect(events.map((event) => Object.values(event))).toEqual([
    ['found', 'new', 'warning'],
    ['severity changed', 'open', 'critical'],
  ]);
});

test('a warehouse whose columns are in another order is written by name', async () => {
  const warehouse = await createFindingsWarehouse();
  await warehouse.database.run('alter table findings drop column severity');
  await warehouse.database.run('alter table findings add column severity varchar');
  for (const day of [1, 2]) await pullAndEvaluate(warehouse, day, [workspace('ws-1', true)]);
  expect((await driftFindings(warehouse))['ws-1']).toMatchObject({
    severity: 'warning',
    state: 'open',
    last_seen: runTime(2),
  });
});

test('two targets with the same IDs are separate, and each starts with its own baseline', async () => {
  const warehouse = await createFindingsWarehouse();
  await pullAndEvaluate(warehouse, 1, [workspace('ws-1', true)]);
  await warehouse.pull(runTime(2), 'acme', 'workspaces', { workspaces: [workspace('ws-1', true)] });
  await warehouse.pull(runTime(2), 'other', 'workspaces', { workspaces: [workspace('ws-1', true)] });
  await warehouse.evaluate(runTime(2));
  const [acme, other] = await warehouse.findings('drifted-workspace');
  expect([acme, other]).toMatchObject([{ state: 'open' }, { state: 'open', first_seen: runTime(2) }]);
  expect(acme?.finding_id).not.toBe(other?.finding_id);

  await warehouse.pull(runTime(3), 'acme', 'workspaces', { workspaces: [workspace('ws-1', false)] });
  await warehouse.pull(runTime(3), 'other', 'workspaces', { workspaces: [workspace('ws-1', true)] });
  await warehouse.evaluate(runTime(3));
  expect(await warehouse.findings('drifted-workspace')).toMatchObject([{ state: 'resolved' }, { state: 'open' }]);
});

test('the same run again changes nothing, whatever a finding goes through', async () => {
  const warehouse = await createFindingsWarehouse();
  const runs: readonly (Rows | 'failed')[] = [
    [workspace('ws-1', true), workspace('ws-2', false)],
    [workspace('ws-1', true), workspace('ws-2', true)],
    'failed',
    [workspace('ws-1', false), workspace('ws-2', null)],
    [workspace('ws-1', true), workspace('ws-2', true, 9)],
  ];
  const everything = async () => [
    await warehouse.database.rows('select * from findings order by all'),
    await warehouse.database.rows('select * from finding_events order by all'),
    await warehouse.database.rows('select * from rule_evaluations order by all'),
  ];
  for (const [index, rows] of runs.entries()) {
    await pullAndEvaluate(warehouse, index + 1, rows);
    const once = await everything();
    await warehouse.evaluate(runTime(index + 1));
    expect(await everything(), `run ${index + 1}`).toEqual(once);
  }
});

test('a finding that is found again as it was keeps its row, of which only `last_seen` changes', async () => {
  const warehouse = await createFindingsWarehouse();
  const rows = () => warehouse.database.rows('select rowid, * exclude (detail) from findings order by subject_id');
  await pullAndEvaluate(warehouse, 1, [workspace('ws-1', true), workspace('ws-2', true)]);
  const [same, other] = await rows();

  await pullAndEvaluate(warehouse, 2, [workspace('ws-1', true), workspace('ws-2', true, 9)]);
  const [sameNow, otherNow] = await rows();
  expect(sameNow).toEqual({ ...same, last_seen: runTime(2) });
  expect(otherNow).toMatchObject({ subject_id: 'ws-2', weight: 9, last_seen: runTime(2) });
  expect(otherNow?.rowid).not.toBe(other?.rowid);
});

test('what an interrupted run found is new until a job has told it: a pull does not, nor another run that is interrupted', async () => {
  const warehouse = await createFindingsWarehouse();
  const record = (day: number, job: string, status: string) =>
    warehouse.database.run(
      'insert into runs (run_id, job, status, started_at) values ($at, $job, $status, $at::timestamptz)',
      { at: runTime(day), job, status },
    );
  const state = async (day: number) => {
    await pullAndEvaluate(warehouse, day, [workspace('ws-1', true)]);
    return (await driftFindings(warehouse))['ws-1']?.state;
  };
  await pullAndEvaluate(warehouse, 1, []);
  expect(await state(2)).toBe('new');
  for (const day of [2, 4]) await record(day, 'nightly', 'interrupted');
  await record(3, 'pull', 'complete');
  expect(await state(5)).toBe('new');
  await record(5, 'nightly', 'incomplete');
  expect(await state(6)).toBe('open');
});
