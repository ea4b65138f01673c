import { describe, expect, test } from 'vitest';
import { renderDifference } from '../../src/warehouse/changes.ts';
import { fillParams } from '../../src/warehouse/sql-params.ts';
import { loadTables } from '../../src/warehouse/tables.ts';
import type { Row } from '../../src/warehouse/values.ts';
import { createReportWarehouse, fill, type ReportWarehouse, workspace } from '../helpers/report-warehouse.ts';

const night = (day: number) => `2026-11-${String(day).padStart(2, '0')}T02:15:00Z`;
const policy = (name: string, create_index: number, rules = 'agent { policy = "read" }') => ({
  name,
  create_index,
  rules,
});

/** To plan the query for every table takes half a second. */
async function changesOf(warehouse: ReportWarehouse, day: number, table = 'workspaces'): Promise<readonly Row[]> {
  const sql = `select * exclude ("at", target) from changes where changes.at = $at::timestamptz and "table" = '${table}' order by all`;
  return warehouse.database.rows(sql, { at: night(day) });
}

async function differenceOf({ database, files }: ReportWarehouse, from: number, to: number): Promise<readonly Row[]> {
  const tables = [...(await loadTables(files)).values()].filter(({ name }) => name === 'workspaces');
  const params = { from: night(from), to: night(to), targets: null, project: null, subject: null };
  const rows = await database.script(fillParams(renderDifference(files, tables), params));
  return rows.sort((a, b) => `${a.key} ${a.column}`.localeCompare(`${b.key} ${b.column}`));
}

/** Pulls the nights of one table, the first on the first day. */
async function pullNights(table: string, ...nights: readonly (readonly object[] | 'failed' | 'quarantined')[]) {
  const warehouse = await createReportWarehouse();
  for (const [index, rows] of nights.entries())
    await warehouse.pull(night(index + 1), { [table]: rows as readonly Record<string, unknown>[] });
  return warehouse;
}

const row = (key: string, name: string | null, change: string) => ({
  key,
  name,
  change,
  column: null,
  old: null,
  new: null,
});

describe('a change is told as', () => {
  test('new, gone and back: one row each, and the first pull is none', async () => {
    const blue = workspace('blue');
    const warehouse = await pullNights('workspaces', [blue], [blue, workspace('red')], [workspace('red')], [blue]);
    expect(await changesOf(warehouse, 1)).toEqual([]);
    expect(await changesOf(warehouse, 2)).toMatchObject([row('ws-red', 'red', 'new')]);
    expect(await changesOf(warehouse, 3)).toMatchObject([row('ws-blue', 'blue', 'gone')]);
    expect(await changesOf(warehouse, 4)).toMatchObject([row('ws-blue', 'blue', 'back'), row('ws-red', 'red', 'gone')]);
  });

  test('changed: a row for each column, with both values as text', async () => {
    const warehouse = await pullNights(
      'tokens',
      [{ is_management: false, policies: ['a'], created_at: null }],
      [{ is_management: true, policies: ['a', 'b'], created_at: '2026-11-01T00:00:00Z' }],
    );
    expect(await changesOf(warehouse, 2, 'tokens')).toMatchObject([
      { change: 'changed', column: 'created_at', old: null, new: '2026-11-01T00:00:00Z' },
      { change: 'changed', column: 'is_management', old: 'false', new: 'true' },
      { change: 'changed', column: 'policies', old: '["a"]', new: '["a","b"]' },
    ]);
  });

  test('changed, where lists exchange their values, or null becomes an empty list', async () => {
    const warehouse = await pullNights(
      'tokens',
      [{ policies: ['a'], roles: [] }],
      [{ policies: [], roles: ['a'] }],
      [{ policies: null, roles: ['a'] }],
    );
    expect(await changesOf(warehouse, 2, 'tokens')).toMatchObject([
      { column: 'policies', old: '["a"]', new: '[]' },
      { column: 'roles', old: '[]', new: '["a"]' },
    ]);
    expect(await changesOf(warehouse, 3, 'tokens')).toMatchObject([{ column: 'policies', old: '[]', new: null }]);
  });

  test('names in another order are no change beside one', async () => {
    const warehouse = await pullNights(
      'workspaces',
      [workspace('a', { modules: 'y, x', drifted: false })],
      [workspace('a', { modules: 'x, y', drifted: true })],
      [workspace('a', { modules: 'z, y', drifted: true })],
    );
    expect(await changesOf(warehouse, 2)).toMatchObject([{ column: 'drifted' }]);
    expect(await changesOf(warehouse, 3)).toMatchObject([{ column: 'modules', old: 'x, y', new: 'y, z' }]);
    const tokens = await pullNights(
      'tokens',
      [{ policies: ['b', 'a'], is_management: false }],
      [{ policies: ['a', 'b'], is_management: true }],
    );
    expect(await changesOf(tokens, 2, 'tokens')).toMatchObject([{ column: 'is_management' }]);
  });

  test('renamed, where the ID is the same and the name another one', async () => {
    const warehouse = await pullNights(
      'workspaces',
      [workspace('a')],
      [workspace('a', { workspace_name: 'b', drifted: true })],
    );
    expect(await changesOf(warehouse, 2)).toMatchObject([
      { change: 'changed', column: 'drifted', name: 'b' },
      { change: 'renamed', column: 'workspace_name', old: 'a', new: 'b', key: 'ws-a', name: 'b' },
    ]);
  });

  test('moved, where a workspace is in another project; a project with another name is no move', async () => {
    const place = (id: string, name: string) => ({ project_external_id: id, project_name: name });
    const warehouse = await pullNights(
      'workspaces',
      [workspace('a', place('prj-1', 'one'))],
      [workspace('a', place('prj-2', 'two'))],
      [workspace('a', place('prj-2', 'zwei'))],
    );
    expect(await changesOf(warehouse, 2)).toMatchObject([
      { change: 'moved', column: 'project_external_id', old: 'prj-1', new: 'prj-2' },
      { change: 'moved', column: 'project_name', old: 'one', new: 'two' },
    ]);
    expect(await changesOf(warehouse, 3)).toMatchObject([{ change: 'changed', column: 'project_name', new: 'zwei' }]);
  });

  test('new with the earlier ID, where another workspace has the name of one that is gone', async () => {
    const other = workspace('2', { workspace_name: '1' });
    const warehouse = await pullNights('workspaces', [workspace('1')], [], [other]);
    await warehouse.pull(night(4), { workspaces: [other] });
    const [told] = await changesOf(warehouse, 3);
    expect(told).toMatchObject({ key: 'ws-2', name: '1', change: 'new', column: null, old: 'ws-1', new: 'ws-2' });
  });

  test('gone and new, not back, where a policy of the same name was made again', async () => {
    const warehouse = await pullNights('acl_policies', [policy('ops', 7)], [], [policy('ops', 9)], [policy('ops', 12)]);
    expect(await changesOf(warehouse, 3, 'acl_policies')).toMatchObject([
      { key: 'ops', change: 'new', old: '7', new: '9' },
    ]);
    expect(await changesOf(warehouse, 4, 'acl_policies')).toMatchObject([
      { key: 'ops', change: 'gone' },
      { key: 'ops', change: 'new', old: '9', new: '12' },
    ]);
  });

  test('the members that left a list and those that arrived', async () => {
    const provider = (workspaces: string) => ({ name: 'aws', source: 'hashicorp/aws', version: '5.0.0', workspaces });
    const warehouse = await pullNights(
      'providers',
      [provider('a, b, c')],
      [provider('c, b, d')],
      [provider('b, c, d')],
    );
    expect(await changesOf(warehouse, 2, 'providers')).toMatchObject([
      { column: 'workspaces', old: '["a"]', new: '["d"]' },
    ]);
    expect(await changesOf(warehouse, 3, 'providers')).toEqual([]);
  });
});

describe('no change is', () => {
  test('what renews itself', async () => {
    const agent = (last_ping_at: string) => ({ agent_id: 'agent-1', pool_id: 'apool-1', status: 'idle', last_ping_at });
    const warehouse = await pullNights('agents', [agent(night(1))], [agent(night(2))]);
    expect(await changesOf(warehouse, 2, 'agents')).toEqual([]);
    const metric = (value: number) => ({ kind: 'gauge', name: 'load', value });
    const metrics = await pullNights('autoscaler_metrics', [metric(1)], [metric(2)]);
    expect(await changesOf(metrics, 2, 'autoscaler_metrics')).toEqual([]);
  });

  test('what repeats another column', async () => {
    const hashed = (rules: string, note: string) => ({
      ...policy('ops', 7, rules),
      extra: { Hash: rules, RulesJSON: { Raw: rules }, Note: note },
    });
    const warehouse = await pullNights('acl_policies', [hashed('a', 'x')], [hashed('b', 'x')], [hashed('b', 'y')]);
    expect(await changesOf(warehouse, 2, 'acl_policies')).toMatchObject([{ column: 'rules', old: 'a', new: 'b' }]);
    expect(await changesOf(warehouse, 3, 'acl_policies')).toMatchObject([
      { column: 'extra', old: '{"Note":"x"}', new: '{"Note":"y"}' },
    ]);
  });

  test('a night in which a source failed or was quarantined', async () => {
    const warehouse = await pullNights('workspaces', [workspace('a')], 'failed', 'quarantined', [workspace('b')]);
    for (const day of [2, 3]) expect(await changesOf(warehouse, day)).toEqual([]);
    expect(await changesOf(warehouse, 4)).toMatchObject([{ change: 'gone' }, { change: 'new' }]);
  });

  test('what a part has that could not be listed before', async () => {
    const warehouse = await createReportWarehouse();
    const { database, files } = warehouse;
    const table = (await loadTables(files)).get('external_volumes')!;
    const unknown = [{ column: 'plugin_id', value: 'ebs', reason: 'no answer' }];
    const pull = async (day: number, plugins: readonly string[], isPartial: boolean) => {
      const rows = plugins.map((plugin_id) => ({ plugin_id, external_id: `vol-${plugin_id}` }));
      await fill(database, files, table, rows, 'acme', night(day), isPartial ? unknown : []);
      await database.run(
        `insert into pulls (run_id, target, source, status, started_at, as_of, unknown_parts)
         values ('r', 'acme', 'external_volumes', 'partial', $at::timestamptz, $at::timestamptz, $unknown::json)`,
        { at: night(day), unknown: isPartial ? JSON.stringify(unknown) : null },
      );
    };
    await pull(1, ['nfs'], true);
    await pull(2, ['nfs', 'ebs'], false);
    await pull(3, [], true);
    await pull(4, ['nfs', 'ebs', 'efs'], false);
    expect(await changesOf(warehouse, 2, 'external_volumes')).toEqual([]);
    expect(await changesOf(warehouse, 3, 'external_volumes')).toMatchObject([row('nfs/vol-nfs', null, 'gone')]);
    expect(await changesOf(warehouse, 4, 'external_volumes')).toMatchObject([
      row('efs/vol-efs', null, 'new'),
      row('nfs/vol-nfs', null, 'back'),
    ]);
  });
});

test('the difference of two nights is net: what changed back is none, and what went in between is gone once', async () => {
  const warehouse = await pullNights(
    'workspaces',
    [workspace('a'), workspace('b')],
    [workspace('a', { drifted: true }), workspace('b', { drifted: true })],
    [workspace('a'), workspace('c')],
    [workspace('a')],
  );
  expect(await differenceOf(warehouse, 1, 4)).toMatchObject([{ key: 'ws-b', change: 'gone', at: night(3) }]);
  expect(await differenceOf(warehouse, 1, 3)).toMatchObject([
    { key: 'ws-b', change: 'gone' },
    { key: 'ws-c', change: 'new' },
  ]);
  expect(await differenceOf(warehouse, 4, 4)).toEqual([]);
});
