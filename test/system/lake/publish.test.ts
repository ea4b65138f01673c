import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { type LakeProject, lakeProject } from '../../helpers/lake-project.ts';

const HEALTH = 'insert into autoscaler_health_history (target, alive, valid_from, valid_to) values';
const METRICS = 'insert into autoscaler_metrics_history by name';

/** Every version in the lake, with the columns and order of the warehouse. */
const sameHistory = async (project: LakeProject, table: string): Promise<void> => {
  const sql = `select columns(*)::varchar from ${table}_history order by all`;
  expect(await project.inLake(sql)).toEqual(await project.inWarehouse(sql));
};

const sameAt = async (project: LakeProject, table: string, ...times: readonly string[]): Promise<void> => {
  const queries = times.map((time) => `select '${time}' as seen_at, * from ${table}_at('${time}')`);
  const sql = `${queries.join(' union all ')} order by all`;
  expect(await project.inLake(sql)).toEqual(await project.inWarehouse(sql));
};

describe('the first publish of a warehouse with history', () => {
  test('holds every version, and the same rows at each time', async () => {
    const project = await lakeProject();
    await project.night('2025-11-20T02:15:00Z');
    await project.night('2026-02-10T02:15:00Z');
    await project.night(
      '2026-08-01T02:15:00Z',
      `${HEALTH} ('a', true, '2025-11-20T02:15:00Z', '2026-02-10T02:15:00Z'), ('a', false, '2026-02-10T02:15:00Z', null),
       ('b', true, '2026-02-10T02:15:00Z', '2026-08-01T02:15:00Z'), ('c', true, '2026-08-01T02:15:00Z', null)`,
    );
    await project.publish();
    await sameHistory(project, 'autoscaler_health');
    const times = ['2025-11-01', '2025-12-31', '2026-02-10T02:15:00Z', '2026-07-01', '2026-07-31', '2030-01-01'];
    await sameAt(project, 'autoscaler_health', ...times);
    await project.expectRestored();
  });

  test('has one file for each table, however many targets there are and whatever they are called', async () => {
    const project = await lakeProject({ tables: 'few' });
    const targets = ['001', '2026-10-01', '1e3', `it's "quoted"`, 'a/../b', 'x\ny', '=1+1', '%2F', 'ü\u{1f600}'];
    for (let count = targets.length; count < 500; count++) targets.push(`scaler-of-team-${count}`);
    await project.night('2026-10-01T02:15:00Z', {
      sql: `insert into autoscaler_health_history by name
        select unnest($targets) as target, true as alive, timestamptz '2026-10-01T02:15:00Z' as valid_from`,
      params: { targets },
    });
    await project.change({ sql: 'update runs set target = $target', params: { target: targets.join(', ') } });
    const { tables } = await project.publish();
    expect(tables.find(({ table }) => table === 'autoscaler_health_changes')).toMatchObject({ rows: 500, files: 1 });
    const rows = await project.inLake('select target from autoscaler_health');
    expect(rows.map(({ target }) => target).sort()).toEqual([...targets].sort());
    await project.expectRestored();
  });

  test('is refused without a run', async () => {
    const project = await lakeProject({ tables: 'few' });
    await expect(project.publish()).rejects.toThrow('the warehouse has no run yet');
  });
});

describe('a publish after each night', () => {
  test('appends what began, changed and ended, and nothing where nothing has changed', async () => {
    const project = await lakeProject({ tables: 'few' });
    await project.night(
      '2026-10-01T02:15:00Z',
      `${HEALTH} ('a', true, '2026-10-01T02:15:00Z', null), ('b', true, '2026-10-01T02:15:00Z', null)`,
    );
    await project.publish();
    await project.night(
      '2026-10-02T02:15:00Z',
      `update autoscaler_health_history set valid_to = '2026-10-02T02:15:00Z'`,
      `${HEALTH} ('a', false, '2026-10-02T02:15:00Z', null), ('c', true, '2026-10-02T02:15:00Z', null)`,
    );
    const { publish, tables } = await project.publish();
    expect(tables.map(({ table, rows }) => ({ table, rows }))).toEqual([
      { table: 'autoscaler_health_changes', rows: 3 },
      { table: 'runs_changes', rows: 1 },
    ]);
    expect(
      await project.inLake(`select op, target from autoscaler_health_changes where publish = ${publish} order by all`),
    ).toEqual([
      { op: 'delete', target: 'b' },
      { op: 'insert', target: 'c' },
      { op: 'update', target: 'a' },
    ]);
    await sameHistory(project, 'autoscaler_health');
    await sameAt(project, 'autoscaler_health', '2026-10-01T12:00:00Z');
    expect(await project.publish()).toMatchObject({ publish: null, tables: [] });
    await project.night('2026-10-03T02:15:00Z');
    expect((await project.publish()).tables.map(({ table }) => table)).toEqual(['runs_changes']);
    await project.expectRestored();
  });

  test('has findings and events as they change, also between two runs, and the last value of a column without versions', async () => {
    const project = await lakeProject({ tables: 'few' });
    const finding = (id: string, state: string) =>
      `insert into findings by name select '${id}' as finding_id, 'a' as target, 'r' as rule, 'warning' as severity, 's' as subject_type,
       '${id}' as subject_id, 't' as title, '{"state": 1}'::json as detail, '${state}' as state, now() as first_seen, now() as last_seen, 0 as times_reopened`;
    const event = (id: string) =>
      `insert into finding_events values ('${id}', 'a', 'r', '2026-10-05T00:00:00Z', 'accepted', 'warning', 'accepted', 'x')`;
    const metric = `${METRICS} select 'a' as target, 'gauge' as kind, 'jobs' as name, '{}'::json as labels, 1 as value,
       timestamptz '2026-10-01' as measured_at, timestamptz '2026-10-01T02:15:00Z' as valid_from`;
    const measure = (day: string) => `update autoscaler_metrics_history set measured_at = timestamptz '${day}'`;
    await project.night('2026-10-01T02:15:00Z', finding('one', 'new'), finding('two', 'new'), metric);
    await project.publish();
    // Two equal events are two rows. They are of the time between two runs.
    await project.change(`update findings set state = 'accepted' where finding_id = 'one'`, event('one'), event('one'));
    await project.publish();
    expect(await project.inLake('select finding_id, state from findings order by all')).toEqual([
      { finding_id: 'one', state: 'accepted' },
      { finding_id: 'two', state: 'new' },
    ]);
    expect(await project.inLake('select count(*)::int as n from finding_events')).toEqual([{ n: 2 }]);
    await project.expectRestored();
    await project.night('2026-10-02T02:15:00Z', measure('2026-10-02'));
    await project.publish();
    // The start of a quarter.
    await project.night(
      '2027-01-02T02:15:00Z',
      `delete from findings where finding_id = 'two'`,
      event('three'),
      measure('2027-01-02'),
    );
    await project.publish();
    await project.night('2027-01-03T02:15:00Z', `update findings set state = 'resolved'`, measure('2027-01-03'));
    await project.publish();
    expect(await project.inLake('select op from autoscaler_metrics_changes order by as_of')).toEqual(
      ['insert', 'refresh', 'refresh', 'refresh'].map((op) => ({ op })),
    );
    await sameHistory(project, 'autoscaler_metrics');
    await project.expectRestored();
  });

  test('compares many rows by their keys: each with each, these would take minutes', async () => {
    const project = await lakeProject({ tables: 'few' });
    const rows = (value: number, asOf: string, which: string) =>
      `${METRICS} select 'a' as target, 'gauge' as kind, i::varchar as name, '{}'::json as labels, ${value} as value,
       timestamptz '${asOf}' as measured_at, timestamptz '${asOf}' as valid_from from range(100000) as range(i) where ${which}`;
    await project.night('2026-10-01T02:15:00Z', rows(1, '2026-10-01T02:15:00Z', 'true'));
    await project.publish();
    await project.night(
      '2026-10-02T02:15:00Z',
      `update autoscaler_metrics_history set valid_to = '2026-10-02T02:15:00Z' where name = '7'`,
      rows(2, '2026-10-02T02:15:00Z', 'i = 7'),
    );
    const { tables } = await project.publish();
    expect(tables.find(({ table }) => table === 'autoscaler_metrics_changes')).toMatchObject({ rows: 1 });
  });

  test('has what a service has computed of rows that ended in a night that was not published', async () => {
    const project = await lakeProject({ tables: 'few' });
    const metric = (name: string) =>
      `${METRICS} select 'a' as target, 'gauge' as kind, '${name}' as name, '{}'::json as labels, 1 as value,
       timestamptz '2026-10-01' as measured_at, timestamptz '2026-10-01T02:15:00Z' as valid_from`;
    await project.night('2026-10-01T02:15:00Z', ...['kept', 'gone', 'changed'].map(metric));
    await project.publish();
    await project.night(
      '2026-10-02T02:15:00Z',
      `update autoscaler_metrics_history set measured_at = timestamptz '2026-10-02'`,
    );
    await project.night(
      '2026-10-03T02:15:00Z',
      `update autoscaler_metrics_history set measured_at = timestamptz '2026-10-03' where name = 'kept'`,
      `update autoscaler_metrics_history set valid_to = '2026-10-03T02:15:00Z' where name <> 'kept'`,
      `${METRICS} select 'a' as target, 'gauge' as kind, 'changed' as name, '{}'::json as labels, 2 as value,
       timestamptz '2026-10-03' as measured_at, timestamptz '2026-10-03T02:15:00Z' as valid_from`,
    );
    await project.publish();
    await sameHistory(project, 'autoscaler_metrics');
    await project.expectRestored();
  });

  test('changes the state of a run that was interrupted, and takes the pulls of each run once', async () => {
    const project = await lakeProject({ tables: 'few' });
    const pull = (run: string, asOf: string) =>
      `insert into pulls by name select '${run}' as run_id, 'a' as target, 'keys' as source, 'complete' as status,
       timestamptz '${asOf}' as started_at, timestamptz '${asOf}' as as_of`;
    await project.night(
      '2026-10-01T02:15:00Z',
      `update runs set status = 'running'`,
      pull('20261001T021500Z', '2026-10-01T02:15:00Z'),
    );
    await project.publish();
    // The run that resumes it has a copy of its pull, of the earlier time.
    await project.night(
      '2026-10-02T02:15:00Z',
      `update runs set status = 'interrupted' where status = 'running'`,
      pull('20261002T021500Z', '2026-10-01T02:15:00Z'),
    );
    await project.publish();
    expect(await project.inLake('select status from runs order by started_at')).toEqual([
      { status: 'interrupted' },
      { status: 'complete' },
    ]);
    expect(await project.inLake('select source, status from source_state')).toEqual([
      { source: 'keys', status: 'complete' },
    ]);
    await project.expectRestored();
  });

  test('refuses a warehouse that does not have the runs of the lake', async () => {
    const [project, other] = [await lakeProject({ tables: 'few' }), await lakeProject({ tables: 'few' })];
    await project.night('2026-10-01T02:15:00Z');
    await project.publish();
    await other.night('2026-11-01T02:15:00Z');
    await expect(other.publish(project.store)).rejects.toMatchObject({ code: 'UNSAFE' });
  });
});

describe('a migration between two publishes', () => {
  test('adds columns, keeps a changed type beside the old one, and corrects rows that were filled', async () => {
    const project = await lakeProject({ tables: 'few' });
    await project.night(
      '2026-08-01T02:15:00Z',
      `${HEALTH} ('a', true, '2026-08-01T02:15:00Z', null), ('b', true, '2026-08-01T02:15:00Z', '2026-10-01T02:15:00Z')`,
    );
    await project.night('2026-10-01T02:15:00Z');
    await project.publish();
    await project.change(
      'alter table autoscaler_health_history add column region varchar',
      `update autoscaler_health_history set region = target || '-west'`,
      `alter table autoscaler_health_history alter column alive set data type varchar using if(alive, 'yes', 'no')`,
    );
    await project.night('2026-10-02T02:15:00Z');
    await project.publish();
    const fields = await project.inLake(
      "select column_name as name, data_type as type from duckdb_columns() where table_name = 'autoscaler_health_changes' and column_name like 'alive%' order by 1",
    );
    expect(fields).toEqual([
      { name: 'alive', type: 'BOOLEAN' },
      { name: 'alive_2', type: 'VARCHAR' },
    ]);
    const log = await project.store.read('autoscaler_health_changes/_delta_log/00000000000000000001.json');
    expect(log).toContain('\\"name\\":\\"alive_2\\"');
    const columns = 'select target, alive, region, valid_from, valid_to from autoscaler_health_history order by all';
    expect(await project.inLake(columns)).toEqual(await project.inWarehouse(columns));
    const times = ['2026-09-01', '2026-10-01T12:00:00Z'];
    const atTimes = (rows: (time: string) => string) =>
      `${times.map((time) => `select '${time}' as seen_at, target, alive, region from ${rows(time)}`).join(' union all ')} order by all`;
    const versions = (time: string) =>
      `autoscaler_health_history where valid_from <= '${time}' and (valid_to is null or valid_to > '${time}')`;
    expect(await project.inLake(atTimes((time) => `autoscaler_health_at('${time}')`))).toEqual(
      await project.inWarehouse(atTimes(versions)),
    );
    await project.night(
      '2026-10-03T02:15:00Z',
      `update autoscaler_health_history set valid_to = '2026-10-03T02:15:00Z' where target = 'a'`,
    );
    const { tables } = await project.publish();
    expect(tables.find(({ table }) => table === 'autoscaler_health_changes')).toMatchObject({ rows: 1 });
    expect(await project.inLake(columns)).toEqual(await project.inWarehouse(columns));
  });

  test('holds tables of a user, with every type and with names that the lake uses itself', async () => {
    const project = await lakeProject({ tables: 'few' });
    await writeUserTable(project);
    await project.change(
      `create table notes (as_of varchar, op bigint, "Publish" ubigint, tags varchar[], more struct(a bigint, b varchar), amount decimal(9,2), day date, body json, lake_place time, bodies json[], numbers bigint[], lists varchar[][])`,
      `insert into notes values ('x', 1, 18446744073709551615, ['a', null], {a: 1, b: 'it''s'}, 1.25, '2026-10-01', '{"a": [1]}', '10:00', ['{"b": 1}'::json, null], [2, 1], [['b'], ['a']]), (null, null, null, null, null, null, null, null, null, null, null, null)`,
      'insert into notes from notes',
    );
    await project.night('2026-10-01T02:15:00Z');
    await project.publish();
    const sql = 'select as_of, op, "Publish"::varchar as publish, tags, amount, day from notes order by all';
    expect(await project.inLake(sql)).toEqual(await project.inWarehouse(sql));
    await project.expectRestored();
  });
});

async function writeUserTable(project: LakeProject): Promise<void> {
  await mkdir(join(project.folder, 'queries', 'tables'), { recursive: true });
  await writeFile(
    join(project.folder, 'queries', 'tables', 'notes.sql'),
    `-- grain: one row per note
create table if not exists notes (
  as_of varchar, -- a text
  op bigint, -- a number
  "Publish" ubigint, -- a large number
  tags varchar[], -- a list
  more struct(a bigint, b varchar), -- a struct
  amount decimal(9,2), -- an amount
  day date, -- a day
  body json, -- a document
  lake_place time, -- a time
  bodies json[], -- documents
  numbers bigint[], -- numbers
  lists varchar[][] -- lists
);
`,
  );
}

describe('rollups', () => {
  test('have the measures of each night with a complete pull, and none of a night without', async () => {
    const project = await lakeProject({ tables: 'few' });
    const pull = (asOf: string, status: string) =>
      `insert into pulls by name select strftime(timestamptz '${asOf}', '%Y%m%dT%H%M%SZ') as run_id, 'acme' as target, 'workspaces' as source,
       '${status}' as status, timestamptz '${asOf}' as started_at, timestamptz '${asOf}' as as_of`;
    await project.night(
      '2026-10-01T02:15:00Z',
      pull('2026-10-01T02:15:00Z', 'complete'),
      `insert into workspaces_history by name select 'acme' as target, 'ws-' || n as external_id, 'web' as project_name, n = 1 as drifted, 1 as resources_drifted,
       timestamptz '2026-10-01T02:15:00Z' as valid_from from range(3) as t(n)`,
    );
    await project.night('2026-10-02T02:15:00Z', pull('2026-10-02T02:15:00Z', 'failed'));
    await project.publish();
    const sql = `select night, project, value from rollup_nights where measure = 'workspaces_drifted'`;
    expect(await project.inLake(sql)).toEqual([{ night: '2026-10-01', project: 'web', value: 1 }]);
    const unknown = `select value from rollup_nights where measure = 'workspaces_drift_unknown'`;
    expect(await project.inLake(unknown)).toEqual([{ value: 2 }]); // two do not drift, and count a drifted resource
    await project.night('2026-10-03T02:15:00Z', pull('2026-10-03T02:15:00Z', 'complete'));
    await project.publish();
    expect(await project.inLake(`${sql} order by night`)).toEqual([
      { night: '2026-10-01', project: 'web', value: 1 },
      { night: '2026-10-03', project: 'web', value: 1 },
    ]);
  });
});

test('a warehouse that an earlier version has published is published before its next run', async () => {
  const project = await lakeProject({ tables: 'few' });
  // What no earlier version had.
  await project.night('2026-10-01T02:15:00Z', 'drop macro known_drift', 'drop macro history_has');
  await project.publish();
  expect(await project.inLake('select count(*)::int as n from runs')).toEqual([{ n: 1 }]);
});

test('a landing that is loaded again after later runs is in the lake as in the warehouse', async () => {
  const project = await lakeProject({ tables: 'few' });
  const [first, second, third, fourth] = [1, 2, 3, 4].map((day) => `2026-11-0${day}T02:15:00Z`) as [
    string,
    string,
    string,
    string,
  ];
  const pull = (run: string, target: string, status: string, at: string) =>
    `insert into pulls by name select '${run}' as run_id, '${target}' as target, 'autoscaler_health' as source, '${status}' as status, timestamptz '${at}' as as_of, as_of as started_at`;
  const change = (target: string, alive: boolean, at: string) => [
    `update autoscaler_health_history set valid_to = '${at}' where target = '${target}' and valid_to is null`,
    `${HEALTH} ('${target}', ${alive}, '${at}', null)`,
  ];
  await project.night(
    first,
    ...['a', 'b', 'c'].flatMap((target) => [
      ...change(target, true, first),
      pull('20261101T021500Z', target, 'complete', first),
    ]),
  );
  await project.publish();
  await project.night(
    second,
    pull('20261102T021500Z', 'a', 'quarantined', second),
    pull('20261102T021500Z', 'b', 'complete', second),
  );
  await project.publish();
  await project.night(third, ...change('b', false, third), pull('20261103T021500Z', 'b', 'complete', third));
  await project.publish();
  await project.change(
    `insert into runs by name select 'late' as run_id, 'a' as target, 'pull' as job, 'complete' as status, timestamptz '${second}' as started_at`,
    ...change('a', false, second),
    pull('late', 'a', 'complete', second),
  );
  await project.publish();
  await sameHistory(project, 'autoscaler_health');
  await project.expectRestored();
  expect((await project.publish()).tables).toEqual([]);
  await project.night(fourth, ...change('a', true, fourth), pull('20261104T021500Z', 'a', 'complete', fourth));
  expect((await project.publish()).tables.find(({ table }) => table === 'autoscaler_health_changes')).toMatchObject({
    rows: 1,
  });
  await sameHistory(project, 'autoscaler_health');
  await project.expectRestored();
});

test('two publishes at once: one number each, and every row counts once', async () => {
  const project = await lakeProject({ tables: 'few' });
  await project.night('2026-10-01T02:15:00Z', `${HEALTH} ('a', true, '2026-10-01T02:15:00Z', null)`);
  await Promise.all([project.publish(), project.publish()]);
  await project.night('2026-10-02T02:15:00Z', `${HEALTH} ('b', true, '2026-10-02T02:15:00Z', null)`);
  await Promise.all([project.publish(), project.publish()]);
  await sameHistory(project, 'autoscaler_health');
  expect(await project.inLake('select count(*)::int as n from runs')).toEqual([{ n: 2 }]);
  await project.expectRestored();
  expect(await readdir(join(project.folder, 'lake', '_staging'))).toEqual([]);
});
