import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { renderReports } from '../../src/tell/reports/index.ts';
import { createReportWarehouse, type ReportWarehouse, workspace } from '../helpers/report-warehouse.ts';

const night = (day: number) => new Date(Date.UTC(2026, 10, day, 2, 15)).toISOString().replace('.000', '');
const rows = (data: unknown) => data as Record<string, unknown>[];

/** Pulls `count(day)` resources in every night of the days; a day without a number is a pull that failed. */
async function pullNights(first: number, last: number, count: (day: number) => number | undefined) {
  const warehouse = await createReportWarehouse();
  for (let day = first; day <= last; day++) {
    const resources = count(day);
    const workspaces = resources === undefined ? 'failed' : [workspace('a', { current_rum_count: resources })];
    await warehouse.pull(night(day), { workspaces });
  }
  return warehouse;
}

const readCost = (warehouse: ReportWarehouse, day: number, datasets: readonly string[], more = {}) =>
  warehouse.data('cost', night(day), datasets, more);

test('a night is the sum of all workspaces; one without a complete pull of every target is a gap, and no change', async () => {
  const warehouse = await pullNights(1, 5, (day) => (day === 3 ? undefined : 10 * day));
  await warehouse.pull(night(4), { workspaces: [workspace('b', { current_rum_count: 7 })] }, 'other');
  await warehouse.pull(night(5), { workspaces: 'failed' }, 'other');
  const { nights, summary } = await readCost(warehouse, 5, ['nights']);
  expect(rows(nights).map(({ as_of, resources, change }) => [as_of, resources, change])).toEqual([
    [night(4), 47, null],
    [night(2), 20, 10],
    [night(1), 10, null],
  ]);
  expect(summary).toMatchObject({ resources: 57, not_reported: 0, projected_30_days: null });
});

test('the projection continues a line of at least seven nights with its error, and is no line without them', async () => {
  const few = await pullNights(1, 6, (day) => day);
  expect((await readCost(few, 6, [])).summary).toMatchObject({ projected_30_days: null, projected_error: null });
  expect(rows((await readCost(few, 6, ['projection'])).projection)).toHaveLength(6);
  const straight = await pullNights(1, 10, (day) => 100 + 2 * day);
  const { summary, projection } = await readCost(straight, 10, ['projection']);
  expect(summary).toMatchObject({ projected_30_days: 180, projected_error: 0, projected_from_nights: 10 });
  expect(rows(projection)).toHaveLength(40);
  expect(rows(projection).at(-1)).toMatchObject({ resources: null, projected: 180, at_least: 180, at_most: 180 });
  const uneven = await pullNights(1, 10, (day) => 100 + 2 * day + (day % 2 ? 5 : -5));
  expect(Number((await readCost(uneven, 10, [])).summary.projected_error)).toBeGreaterThan(10);
});

test('a target that was left out 30 days ago has not grown since, and one that is left out now has not shrunk', async () => {
  const warehouse = await createReportWarehouse();
  const workspaces = [workspace('a', { project_name: 'payments', current_rum_count: 10 })];
  for (const target of ['back', 'gone']) await warehouse.pull(night(1), { workspaces }, target);
  await warehouse.pull(night(5), { workspaces: 'left-out' }, 'back');
  await warehouse.pull(night(40), { workspaces }, 'back');
  await warehouse.pull(night(40), { workspaces: 'left-out' }, 'gone');
  const { by_project } = await readCost(warehouse, 40, ['by_project']);
  expect(by_project).toMatchObject([{ target: 'back', resources: 10, change_30_days: null }]);
});

test('what had no number has not grown from 0 when it gets one, and a projection of 0 is one', async () => {
  const warehouse = await createReportWarehouse();
  const told = (day: number, current_rum_count: number | null) =>
    warehouse.pull(night(day), { workspaces: [workspace('a', { current_rum_count })] });
  await told(1, null);
  await warehouse.pull(night(3), { workspaces: [] });
  await told(4, null);
  for (const day of [5, 40]) await told(day, 500);
  expect((await readCost(warehouse, 4, ['by_project'])).by_project).toMatchObject([{ resources: null }]);
  const { by_project, grew_most } = await readCost(warehouse, 34, ['by_project', 'grew_most']);
  expect(by_project).toMatchObject([{ resources: 500, change_30_days: null }]);
  expect(grew_most).toEqual([]);
  const empty = await pullNights(1, 8, () => 0);
  await renderReports({ ...empty.options(night(8)), names: ['cost'] });
  for (const extension of ['html', 'txt'])
    expect(await readFile(join(empty.directory, 'out', `cost.${extension}`), 'utf8')).toContain('In 30 days: 0');
});

test('the report tells who has the resources, what grew most and on which night, and what is idle', async () => {
  const warehouse = await createReportWarehouse();
  const old = '2026-01-01T00:00:00Z';
  const place = { project_external_id: 'prj-pay', project_name: 'payments', vcs_repo_identifier: 'acme/pay' };
  const first = [
    workspace('grows', { ...place, current_rum_count: 10, current_run_applied_at: night(1), drifted: false }),
    workspace('forgotten', { current_rum_count: 3, current_run_applied_at: old, drifted: true }),
    workspace('empty', { current_rum_count: 0, current_run_applied_at: night(1), drifted: false }),
    workspace('untold', { current_rum_count: null, current_run_applied_at: null, drifted: null }),
  ];
  await warehouse.pull('2026-10-01T02:15:00Z', { workspaces: first });
  const [grows, ...others] = first;
  await warehouse.pull(night(2), { workspaces: [{ ...grows, current_rum_count: 12 }, ...others] });
  const last = [{ ...grows, current_rum_count: 40 }, ...others, workspace('new', { ...place, current_rum_count: 5 })];
  await warehouse.pull(night(3), { workspaces: last });
  const data = await readCost(warehouse, 3, ['by_project', 'by_repository', 'grew_most', 'idle', 'prices'], {
    pricing: { perResourceMonth: 0.5, currency: 'EUR', free: 24 },
  });
  expect(data.summary).toMatchObject({
    resources: 48,
    resources_before: 15,
    change_30_days: 35,
    not_reported: 1,
    cost_per_month: 12,
    currency: 'EUR',
    headline:
      '48 resources under management, +33 since the last night, +35 in 30 days; not reported by 1 of 5 workspaces',
  });
  expect(rows(data.by_project)[0]).toMatchObject({ project_name: 'payments', resources: 45, change_30_days: 35 });
  expect(rows(data.by_repository)[0]).toMatchObject({ vcs_repo_identifier: 'acme/pay', resources: 45 });
  expect(rows(data.grew_most)).toMatchObject([
    { workspace_name: 'grows', resources_before: 10, grew: 30, step: 28, step_at: night(3) },
    { workspace_name: 'new', resources_before: 0, grew: 5, step: 5, step_at: night(3) },
  ]);
  expect(rows(data.idle).map(({ workspace_name, why }) => [workspace_name, why])).toEqual([
    ['forgotten', 'not applied for 180 days, drifting for 30 days'],
    ['empty', 'no resources'],
  ]);
  expect(rows(data.prices).map(({ project_name, per_month }) => [project_name, per_month])).toContainEqual([
    'payments',
    11.25,
  ]);
  const free = await readCost(warehouse, 3, ['prices']);
  expect([free.summary.cost_per_month, free.prices]).toEqual([null, []]);
});

test('a project that got another name did not grow from nothing, and the old name is no project without workspaces', async () => {
  const warehouse = await createReportWarehouse();
  const hold = (at: string, project_name: string, current_rum_count: number) =>
    warehouse.pull(at, {
      workspaces: [workspace('a', { project_external_id: 'prj-1', project_name, current_rum_count })],
    });
  await hold('2026-10-01T02:15:00Z', 'payments', 500);
  await hold(night(3), 'billing', 501);
  const { by_project } = await readCost(warehouse, 3, ['by_project']);
  expect(rows(by_project)).toMatchObject([{ project_name: 'billing', resources: 501, change_30_days: 1 }]);
});

test('the page says of a projection when it is reached, and of a series without a point nothing', async () => {
  const render = async (last: number) => {
    const warehouse = await pullNights(1, last, (day) => 100 + 2 * day);
    await renderReports({ ...warehouse.options(night(last)), names: ['cost'] });
    return readFile(join(warehouse.directory, 'out', 'cost.txt'), 'utf8');
  };
  const long = await render(10);
  expect(long).toContain(
    'Resources: 120 now, 102 to 120 since 2026-11-01\nProjected: 180 on 2026-12-10\nAt least: 180 on',
  );
  const short = await render(6);
  expect(short).toContain('Resources: 112 now, 102 to 112 since 2026-11-01\n');
  expect(short).not.toContain('Projected:');
});
