import { expect, test } from 'vitest';
import { renderChanges, renderDifference } from '../../src/warehouse/changes.ts';
import { migrate } from '../../src/warehouse/migrate.ts';
import { fillParams } from '../../src/warehouse/sql-params.ts';
import { loadTables, selectPresent } from '../../src/warehouse/tables.ts';
import { createReportWarehouse, type ReportWarehouse, workspace } from '../helpers/report-warehouse.ts';

const night = (day: number) => `2026-11-${String(day).padStart(2, '0')}T02:15:00Z`;
const TOLD = ['workspaces', 'authority_certificates', 'ca_roots'];

/** Takes a column and a table away, as a warehouse of an earlier version lacks them, and updates it. */
async function update({ database, files }: ReportWarehouse): Promise<void> {
  await database.run('alter table workspaces_history drop column tags');
  await database.run('drop table authority_certificates_history');
  await database.run('drop table additions');
  await database.run('delete from schema_digest');
  await migrate(database, files);
}

async function readTold(warehouse: ReportWarehouse, day: number) {
  const { database, files } = warehouse;
  const columns = '"table", key, change, "column", old, "new"';
  const list = (query: string) => `select ${columns} from (${query}) where "at" = '${night(day)}' order by all`;
  const declared = [...(await loadTables(files)).values()].filter(({ name }) => TOLD.includes(name));
  const view = await database.rows(list('from changes'));
  const some = await database.rows(list(await renderChanges(files, await selectPresent(warehouse, declared))));
  expect(some).toEqual(view); // what mail and pages read
  return view.map((row) => Object.values(row));
}

async function readDifference(warehouse: ReportWarehouse, from: number, to: number) {
  const { database, files } = warehouse;
  const declared = [...(await loadTables(files)).values()].filter(({ name }) => TOLD.includes(name));
  const params = { from: night(from), to: night(to), targets: null, project: null, subject: null };
  const sql = renderDifference(files, await selectPresent(warehouse, declared));
  const rows = await database.script(fillParams(sql, params));
  return rows.map(({ table, key, change, column }) => [table, key, change, column]).sort();
}

test('a column or table that an update adds begins with its first night; what changes afterwards is told', async () => {
  const warehouse = await createReportWarehouse();
  const root = { root_id: 'root-1', name: 'root' };
  const certificate = (id: string) => ({ fingerprint: id, root_id: 'root-1', subject: id });
  const blue = { ...workspace('blue'), extra: { tags: 'a' } };
  await warehouse.pull(night(1), { workspaces: [blue], ca_roots: [root] });
  await update(warehouse);
  const after = { ...workspace('blue'), project_name: 'shop', tags: ['a'], extra: null };
  await warehouse.pull(night(2), {
    workspaces: [after],
    ca_roots: [root],
    authority_certificates: [certificate('one'), certificate('two')],
  });
  await warehouse.pull(night(3), {
    workspaces: [{ ...after, tags: ['b'], extra: { more: 1 } }],
    ca_roots: [root],
    authority_certificates: [certificate('one'), certificate('three')],
  });
  const moved = ['workspaces', 'ws-blue', 'changed', 'project_name', 'core', 'shop'];
  expect(await readTold(warehouse, 2)).toEqual([moved]);
  const later = [
    ['authority_certificates', 'root-1/three', 'new', null, null, null],
    ['authority_certificates', 'root-1/two', 'gone', null, null, null],
    ['workspaces', 'ws-blue', 'changed', 'extra', null, '{"more":1}'],
    ['workspaces', 'ws-blue', 'changed', 'tags', '["a"]', '["b"]'],
  ];
  const told = await readTold(warehouse, 3);
  expect(told.map((row) => [row[0], ...row.slice(2)])).toEqual(later.map((row) => [row[0], ...row.slice(2)]));
  expect(await readDifference(warehouse, 1, 2)).toEqual([moved.slice(0, 4)]);
  expect((await readDifference(warehouse, 2, 3)).map(([table, , ...change]) => [table, ...change])).toEqual(
    later.map(([table, , change, column]) => [table, change, column]),
  );
  expect(await readDifference(warehouse, 1, 3)).toEqual([moved.slice(0, 4)]);
});

test('a new warehouse has no additions, nor has one that is migrated again', async () => {
  const { database, files, pull } = await createReportWarehouse();
  await pull(night(1), { workspaces: [workspace('blue')] });
  await database.run('delete from schema_digest');
  await migrate(database, files);
  expect(await database.rows('from additions')).toEqual([]);
});
