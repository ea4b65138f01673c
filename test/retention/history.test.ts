import { expect, onTestFinished, test } from 'vitest';
import { openQuerySession } from '../../src/ask/query/session.ts';
import { PACKAGE_ROOT } from '../../src/core/paths.ts';
import { findHorizon, listOldHistory, removeOldHistory } from '../../src/run/retention.ts';
import { openDatabase } from '../../src/warehouse/database.ts';
import { resolveMoment } from '../../src/warehouse/moment.ts';
import { warehouseFiles } from '../../src/warehouse/publish.ts';
import { createSqlFiles } from '../../src/warehouse/sql-files.ts';
import { quietContext } from '../helpers/context.ts';
import { type LakeProject, lakeProject } from '../helpers/lake-project.ts';

const files = createSqlFiles([PACKAGE_ROOT]);
const HORIZON = new Date('2026-06-01T00:00:00Z');
const NOW = new Date('2026-08-01T00:00:00Z');

/** A night of every month from January to July, in which every source of the test is complete. */
const NIGHTS = [1, 2, 3, 4, 5, 6, 7].map((month) => `2026-0${month}-10T02:15:00Z`);
const at = (month: number | undefined) => (month === undefined ? 'null' : `'${NIGHTS[month - 1]}'`);

async function projectOfNights(): Promise<LakeProject> {
  const project = await lakeProject();
  await project.change(
    `insert into runs by name select strftime(night, '%Y%m%dT%H%M%SZ') as run_id, 'scaler' as target, 'nightly' as job, 'complete' as status,
      night as started_at from (select unnest(${JSON.stringify(NIGHTS).replaceAll('"', "'")}::timestamptz[]) as night)`,
    `insert into pulls by name select run_id, 'scaler' as target, unnest(['autoscaler_metrics', 'workspaces', 'tf_versions']) as source,
      'complete' as status, started_at, started_at as as_of from runs`,
  );
  return project;
}

async function open({ config }: LakeProject) {
  const database = await openDatabase(warehouseFiles(config.data).published);
  onTestFinished(() => database.close());
  return { database, files };
}

const WORKSPACES = (id: string, ...times: readonly (number | undefined)[]) =>
  times
    .slice(1)
    .map(
      (to, index) =>
        `select 'scaler' as target, '${id}' as external_id, ${index}::bigint as resources_drifted, ${at(times[index])}::timestamptz as valid_from, ${at(to)}::timestamptz as valid_to`,
    );

const insertWorkspaces = (...rows: readonly (readonly string[])[]) =>
  `insert into workspaces_history by name ${rows.flat().join(' union all by name ')}`;

test('replaced versions go; the newest of each row, the state of the last three pulls before the horizon, and all later ones stay', async () => {
  const project = await projectOfNights();
  await project.change(
    insertWorkspaces(
      WORKSPACES('changed', 1, 2, 3, 4, 6, undefined),
      WORKSPACES('gone', 1, 2, 3),
      WORKSPACES('same', 1, undefined),
      WORKSPACES('back', 1, 2),
      WORKSPACES('back', 7, undefined),
    ),
  );
  const opened = await open(project);
  const { database } = opened;
  const before = await database.rows(`from workspaces_at('2026-03-10T02:15:00Z') order by all`);
  const planned = await listOldHistory(opened, HORIZON);
  const { removals: removed } = await removeOldHistory(opened, HORIZON, NOW);
  expect(planned).toEqual({ start: '2026-03-10T02:15:00Z', removals: removed });
  expect(removed).toEqual([
    { what: 'workspaces_history', count: 3, bytes: expect.any(Number) },
    { what: 'pulls', count: 6, bytes: expect.any(Number) },
  ]);
  const rows = await database.rows(
    'select external_id as id, month(valid_from) as since from workspaces_history order by all',
  );
  expect(rows.map(({ id, since }) => `${id} ${since}`)).toEqual([
    ...['back 1', 'back 7', 'changed 3', 'changed 4', 'changed 6', 'gone 2', 'same 1'],
  ]);
  expect(await database.rows(`from workspaces_at('2026-03-10T02:15:00Z') order by all`)).toEqual(before);
  expect((await listOldHistory(opened, HORIZON)).removals).toEqual([]);
});

test('a time before the history is an error and no empty table, and no moment', async () => {
  const project = await projectOfNights();
  await project.change(insertWorkspaces(WORKSPACES('changed', 1, 2, undefined)));
  const opened = await open(project);
  const count = (time: string) => opened.database.rows(`select count(*)::int as n from workspaces_at('${time}')`);
  expect(await count('2026-01-20')).toEqual([{ n: 1 }]);
  await removeOldHistory(opened, HORIZON, NOW);
  await expect(count('2026-01-20')).rejects.toThrow('the history begins at 2026-03-10T02:15:00Z');
  expect(await count('2026-03-10T02:15:00Z')).toEqual([{ n: 1 }]);
  await expect(
    resolveMoment('2026-02-20', { rows: opened.database.rows, files, now: NOW, timeZone: 'UTC' }),
  ).rejects.toThrow('is before the first pull, 2026-03-10T02:15:00Z');
});

test('what an unresolved finding has seen stays, with its events; of a resolved one it goes', async () => {
  const project = await projectOfNights();
  const finding = (id: string, state: string) =>
    `('${id}', 'scaler', 'drifted-workspace', 'warning', 'workspace', '${id}', 't', '${state}', ${at(2)}, ${at(7)}, 0, ${at(2)})`;
  await project.change(
    insertWorkspaces(WORKSPACES('open', 1, 2, 3, undefined), WORKSPACES('resolved', 1, 2, 3, undefined)),
    `insert into findings (finding_id, target, rule, severity, subject_type, subject_id, title, state, first_seen, last_seen, times_reopened, opened_at)
      values ${finding('open', 'accepted')}, ${finding('resolved', 'resolved')}`,
    `insert into finding_events (finding_id, target, rule, changed_at, state, severity, reason)
      select id, 'scaler', 'drifted-workspace', started_at, 'open', 'warning', 'found' from runs, (values ('open'), ('resolved')) as finding(id) where month(started_at) < 6`,
  );
  const opened = await open(project);
  await removeOldHistory(opened, HORIZON, NOW);
  const kept = await opened.database.rows(
    'select external_id as id, list(month(valid_from) order by valid_from)::varchar as months from workspaces_history group by id order by id',
  );
  expect(kept).toEqual([
    { id: 'open', months: '[1, 2, 3]' },
    { id: 'resolved', months: '[3]' },
  ]);
  const events = await opened.database.rows(
    'select finding_id as id, min(month(changed_at)) as first from finding_events group by id order by id',
  );
  expect(events).toEqual([
    { id: 'open', first: 2 },
    { id: 'resolved', first: 3 },
  ]);
});

test('a finding has the state, its beginning and its opening at every time of the history that it had before', async () => {
  const project = await projectOfNights();
  const event = (month: number, state: string, severity: string, reason: string) =>
    `('f', 'scaler', 'drifted-workspace', ${at(month)}, '${state}', '${severity}', '${reason}')`;
  await project.change(
    `insert into findings (finding_id, target, rule, severity, subject_type, subject_id, title, state, first_seen, last_seen, times_reopened, opened_at)
      values ('f', 'scaler', 'drifted-workspace', 'warning', 'workspace', 's', 't', 'resolved', ${at(1)}, ${at(7)}, 1, ${at(6)})`,
    `insert into finding_events (finding_id, target, rule, changed_at, state, severity, reason) values
      ${event(1, 'new', 'warning', 'found')}, ${event(2, 'open', 'warning', 'no longer new')}, ${event(3, 'open', 'critical', 'severity changed')},
      ${event(5, 'resolved', 'critical', 'gone')}, ${event(6, 'new', 'warning', 'reopened')}, ${event(7, 'resolved', 'warning', 'gone')}`,
  );
  const opened = await open(project);
  await opened.database.run(files.render('warehouse/findings_at', { scope: 'temp ' }));
  const times = [3, 4, 5, 6, 7].map((month) => `select * from findings_at(${at(month)})`).join(' union all ');
  const before = await opened.database.rows(times);
  expect(before[0]).toMatchObject({ state_since: NIGHTS[1], opened_at: NIGHTS[0], severity: 'critical' });
  expect((await removeOldHistory(opened, HORIZON, NOW)).start).toBe(NIGHTS[2]);
  expect(await opened.database.rows(times)).toEqual(before);
});

test('what the configuration leaves out stays left out, until it is pulled again', async () => {
  const project = await projectOfNights();
  const pull = (target: string, source: string, month: number, status: string) =>
    `('${target}-${month}', '${target}', '${source}', '${status}', ${at(month)}::timestamptz, ${at(month)}::timestamptz)`;
  await project.change(
    `insert into workspaces_history by name select unnest(['gone', 'back']) as target, 'ws' as external_id, ${at(1)}::timestamptz as valid_from`,
    `insert into pulls (run_id, target, source, status, started_at, as_of) values
      ${pull('gone', 'workspaces', 1, 'complete')}, ${pull('gone', 'workspaces', 2, 'left-out')},
      ${pull('back', 'workspaces', 1, 'left-out')}, ${pull('back', 'workspaces', 2, 'left-out')}, ${pull('back', 'workspaces', 5, 'complete')}`,
  );
  const opened = await open(project);
  const targets = (month: number) =>
    opened.database.rows(`select target from workspaces_at(${at(month)}) order by target`);
  await removeOldHistory(opened, HORIZON, NOW);
  expect([await targets(3), await targets(7)]).toEqual([[], [{ target: 'back' }]]);
  expect(
    await opened.database.rows(`select target, month(as_of) as month from pulls where status = 'left-out'`),
  ).toEqual([
    { target: 'gone', month: 2 },
    { target: 'back', month: 2 },
  ]);
  const before = resolveMoment('2026-02-20', { rows: opened.database.rows, files, now: NOW, timeZone: 'UTC' });
  await expect(before).rejects.toThrow('is before the first pull, 2026-03-10T02:15:00Z');
});

test('what is last known of a source that fails, and of its parts, stays with its age, and is no night before the history', async () => {
  const project = await projectOfNights();
  const pulls = [
    ...['1 complete', '2 partial', '3 failed', '4 failed', '5 failed', '6 failed', '7 failed'],
    ...['1 complete', '1 partial', '7 quarantined'],
  ].map((text, index) => {
    const [month, status] = text.split(' ');
    const target = index < 7 ? 'down' : 'held';
    return `('${target}-${index}', '${target}', 'workspaces', '${status}', ${at(Number(month))}::timestamptz, ${at(Number(month))}::timestamptz + interval (${index}) second)`;
  });
  await project.change(
    insertWorkspaces(WORKSPACES('changed', 1, 2, undefined)),
    `insert into pulls (run_id, target, source, status, started_at, as_of) values ${pulls.join(', ')}`,
    `insert into pulls (run_id, target, source, status, started_at, as_of) values ('quiet', 'quiet', 'tokens', 'failed', ${at(1)}, ${at(1)})`,
  );
  const opened = await open(project);
  const { rows } = opened.database;
  const state = () => rows(`from source_state where target <> 'scaler' order by all`);
  const before = await state();
  await removeOldHistory(opened, HORIZON, NOW);
  expect(await state()).toEqual(before);
  const kept = await rows(
    `select target, month(as_of) as month, status from pulls where as_of < ${at(3)} order by as_of`,
  );
  expect(kept.map(({ target, month, status }) => `${target} ${month} ${status}`)).toEqual([
    ...['down 1 complete', 'quiet 1 failed', 'held 1 complete', 'held 1 partial', 'down 2 partial'],
  ]);
  const early = resolveMoment('2026-02-20', { rows, files, now: NOW, timeZone: 'UTC' });
  await expect(early).rejects.toThrow('is before the first pull, 2026-03-10T02:15:00Z');
  for (const report of ['drift', 'check-failure']) {
    const trend = await rows(files.read(`reports/${report}/trend`), { as_of: NOW.toISOString() });
    expect(trend.map(({ as_of }) => new Date(String(as_of)).getUTCMonth() + 1)).toEqual([7, 6, 5, 4, 3]);
  }
});

test('a pull that stays from before the history answers no query of its time, and is no night of a new lake', async () => {
  const project = await projectOfNights();
  const finding = `'f' as finding_id, 'down' as target, 'drifted-workspace' as rule, 'warning' as severity`;
  await project.change(
    `insert into pulls by name select 'down' as run_id, 'down' as target, 'workspaces' as source, 'complete' as status,
      ${at(1)}::timestamptz as started_at, started_at as as_of`,
    `insert into finding_events by name select ${finding}, 'open' as state, 'found' as reason, ${at(1)}::timestamptz as changed_at
      union all by name select ${finding}, 'resolved' as state, 'left out' as reason, ${at(2)}::timestamptz as changed_at`,
    `insert into rule_evaluations by name select 'drifted-workspace' as rule, unnest(['down', 'scaler']) as target, ${at(1)}::timestamptz as first_assessed_at, first_assessed_at as last_assessed_at`,
  );
  const opened = await open(project);
  await removeOldHistory(opened, HORIZON, NOW);
  opened.database.close();
  const asOf = new Date('2026-02-20T00:00:00Z');
  const session = await openQuerySession({ config: project.config, asOf, signal: new AbortController().signal });
  onTestFinished(() => session.close());
  await expect(session.prepare('from findings')).rejects.toThrow('is before the first pull, 2026-03-10T02:15:00Z');
  await project.publish();
  expect(await project.inLake('select distinct month(night)::int as month from rollup_nights order by 1')).toEqual(
    [3, 4, 5, 6, 7].map((month) => ({ month })),
  );
});

test('the members of a list go with the versions that have them', async () => {
  const project = await projectOfNights();
  await project.change(
    `insert into tf_versions_rows by name select 'scaler' as target, '1.9' as version, ${at(1)}::timestamptz as valid_from, ${at(2)}::timestamptz as valid_to
      union all by name select 'scaler' as target, '1.9' as version, ${at(2)}::timestamptz as valid_from, null::timestamptz as valid_to`,
    `insert into tf_versions_members by name
      select 'scaler' as target, '1.9' as version, member, 1 as nth, rank, valid_from, valid_to
      from (values ('a', 1, ${at(1)}::timestamptz, ${at(2)}::timestamptz), ('b', 2, ${at(1)}::timestamptz, null)) as members(member, rank, valid_from, valid_to)`,
  );
  const opened = await open(project);
  const present = await opened.database.rows('from tf_versions');
  expect((await removeOldHistory(opened, HORIZON, NOW)).removals.map(({ what, count }) => [what, count])).toEqual([
    ['tf_versions_rows', 1],
    ['tf_versions_members', 1],
    ['pulls', 6],
  ]);
  expect(await opened.database.rows('from tf_versions')).toEqual(present);
});

test('a warehouse that was pulled only before the horizon stays as it is', async () => {
  const project = await lakeProject();
  await project.change(insertWorkspaces(WORKSPACES('changed', 1, 2, undefined)));
  expect(await listOldHistory(await open(project), HORIZON)).toEqual({ start: null, removals: [] });
});

test('what a rule may look back to stays, whatever historyDays is', async () => {
  const { config, folder, change } = await projectOfNights();
  await change('select 1');
  const context = quietContext(folder, { clock: { now: () => NOW, frozen: true } });
  const horizon = async (thresholds: Partial<typeof config.thresholds>) => {
    const { lake: _, ...own } = { ...config, historyDays: 35, thresholds: { ...config.thresholds, ...thresholds } };
    return (await findHorizon(own, context))?.toISOString().slice(0, 10);
  };
  const shortest = Object.fromEntries(Object.keys(config.thresholds).map((name) => [name, 1]));
  expect(await horizon(shortest)).toBe('2026-06-27');
  expect(await horizon({ ...shortest, deadAgentHours: 36 * 24 })).toBe('2026-06-26');
  expect(await horizon({ ...shortest, staleSnapshotDays: 36 })).toBe('2026-06-26');
});

test('what the lake does not have yet stays', async () => {
  const project = await projectOfNights();
  const context = quietContext(project.folder, { clock: { now: () => NOW, frozen: true } });
  const config = { ...project.config, historyDays: 200 };
  expect(await findHorizon(config, context)).toBeUndefined();
  await project.publish();
  expect((await findHorizon(config, context))?.toISOString()).toBe('2026-01-13T00:00:00.000Z');
  const late = { ...context, clock: { now: () => new Date('2027-08-01T00:00:00Z'), frozen: true } };
  expect((await findHorizon(config, late))?.toISOString()).toBe('2026-07-10T02:15:00.000Z');
});

test('the lake keeps what the warehouse has removed, also when a table gets a column', async () => {
  const project = await projectOfNights();
  await project.change(
    insertWorkspaces(WORKSPACES('changed', 1, 2, 3, 4, 6, undefined), WORKSPACES('gone', 1, 2, 3)),
    `insert into finding_events (finding_id, target, rule, changed_at, state, severity, reason)
      select 'f', 'scaler', 'r', started_at, 'open', 'warning', 'found' from runs`,
    `insert into actions (target, plan_id, action_id, playbook, operation, finding_id, status, started_at)
      select 'scaler', 'p-' || month(started_at), 'a1', 'p', 'o', 'f', 'applied', started_at from runs`,
  );
  await project.publish();
  const inLake = () =>
    project.inLake('select external_id, resources_drifted, valid_from, valid_to from workspaces_history order by all');
  const eventsInLake = () => project.inLake('select changed_at from finding_events order by all');
  const actionsInLake = () => project.inLake('select plan_id from actions order by all');
  const before = [await inLake(), await eventsInLake(), await actionsInLake()];
  expect(before[2]).toHaveLength(NIGHTS.length);
  const opened = await open(project);
  await removeOldHistory(opened, HORIZON, NOW);
  opened.database.close();
  await project.change(`delete from actions where started_at < ${at(3)}`); // as the ledger is pruned
  await project.night('2026-08-10T02:15:00Z');
  await project.publish();
  expect([await inLake(), await eventsInLake(), await actionsInLake()]).toEqual(before);
  await project.change(
    'alter table workspaces_history add column added varchar',
    'alter table finding_events add column added varchar',
    'alter table actions add column added varchar',
  );
  await project.night('2026-09-10T02:15:00Z');
  await project.publish();
  expect([await inLake(), await eventsInLake(), await actionsInLake()]).toEqual(before);
});

test('a run of before the history that is loaded late takes nothing from the lake that the warehouse has removed', async () => {
  const project = await projectOfNights();
  await project.change(insertWorkspaces(WORKSPACES('w', 1, 2, 3, 4, 6, undefined)));
  await project.publish();
  const opened = await open(project);
  await removeOldHistory(opened, HORIZON, NOW);
  opened.database.close();
  const inLake = () => project.inLake('select valid_from, valid_to from workspaces_history order by all');
  const before = await inLake();
  await project.change(
    `insert into runs by name select 'late' as run_id, 'scaler' as target, 'pull' as job, 'failed' as status, timestamptz '2026-01-20' as started_at`,
  );
  await project.publish();
  expect(await inLake()).toEqual(before);
  expect(before).toHaveLength(5);
  // It is not late for ever: the warehouse would never be pruned again.
  const context = quietContext(project.folder, {
    clock: { now: () => new Date('2027-08-01T00:00:00Z'), frozen: true },
  });
  expect((await findHorizon({ ...project.config, historyDays: 200 }, context))?.toISOString()).toBe(
    '2026-07-10T02:15:00.000Z',
  );
});
