import { describe, expect, it } from 'vitest';
import { createReportWarehouse, workspace } from '../helpers/report-warehouse.ts';

const RUNS = Array.from({ length: 12 }, (_, index) => `2026-11-${String(index + 1).padStart(2, '0')}T02:15:00Z`);
const [FIRST = '', SECOND = '', THIRD = '', FOURTH = '', FIFTH = ''] = RUNS;

const names = (rows: unknown) => (rows as { workspace_name: string }[]).map(({ workspace_name }) => workspace_name);
const drifting = (id: string, resources = 1) => workspace(id, { drifted: true, resources_drifted: resources });
/** As the explorer answers it: with 0 resources. */
const unknown = (id: string) => workspace(id, { drifted: null, resources_drifted: 0 });

describe('the drift report', () => {
  it('counts NULL as unknown, neither drifted nor clean', async () => {
    const warehouse = await createReportWarehouse();
    await warehouse.pull(FIRST, { workspaces: [drifting('a', 3), workspace('b'), unknown('c')] });
    const { summary, not_assessed } = await warehouse.data('drift', FIRST, ['not_assessed']);
    expect(summary).toMatchObject({ workspaces: 3, drifted: 1, clean: 1, unknown: 1, resources_drifted: 3 });
    expect(names(not_assessed)).toEqual(['c']);
  });

  it('counts as unknown what does not drift and counts drifted resources, as its rule does', async () => {
    const contradicts = (id: string) => workspace(id, { drifted: false, resources_drifted: 2 });
    const warehouse = await createReportWarehouse();
    await warehouse.pull(FIRST, { workspaces: [drifting('a'), contradicts('c')] });
    await warehouse.pull(SECOND, { workspaces: [contradicts('a'), contradicts('c')] });
    const data = await warehouse.data('drift', SECOND, ['not_assessed', 'drifting', 'resolved', 'by_project', 'trend']);
    expect(data.summary).toMatchObject({
      drifting: 1,
      drifted: 0,
      clean: 0,
      unknown: 2,
      resolved: 0,
      resources_drifted: null,
    });
    expect(data.not_assessed).toMatchObject([
      { workspace_name: 'a', last_known: 'drifting' },
      { workspace_name: 'c', last_known: 'never assessed' },
    ]);
    expect(data.drifting).toMatchObject([
      { workspace_name: 'a', since: FIRST, note: 'not assessed now', resources_drifted: null },
    ]);
    expect(data).toMatchObject({
      resolved: [],
      by_project: [{ drifting: 1, clean: 0, not_assessed: 2, resources_drifted: null }],
    });
    expect(data.trend).toMatchObject([
      { drifting: 1, not_assessed: 2, resolved: 0, resources_drifted: null },
      { drifting: 1, not_assessed: 1, resources_drifted: 1 },
    ]);
  });

  it('asks the macros of this version where another one has written the warehouse', async () => {
    const warehouse = await createReportWarehouse();
    await warehouse.pull(FIRST, { workspaces: [drifting('a')] });
    for (const sql of [
      `create or replace macro workspace_changes(at_time, since_time) as table select error('of another version') as target`,
      `update schema_digest set digest = 'of another version'`,
    ])
      await warehouse.database.run(sql);
    expect(names((await warehouse.data('drift', FIRST, ['drifting'])).drifting)).toEqual(['a']);
  });

  it('counts nothing as new or resolved in the first run, which is the baseline', async () => {
    const warehouse = await createReportWarehouse();
    await warehouse.pull(FIRST, { workspaces: [drifting('a')] });
    const { summary, newly_drifted } = await warehouse.data('drift', FIRST, ['newly_drifted']);
    expect(summary).toMatchObject({ newly_drifted: 0, resolved: 0, baseline: true, drifting_before: null });
    expect(newly_drifted).toEqual([]);
  });

  it('counts as new what was clean, not assessed or absent', async () => {
    const warehouse = await createReportWarehouse();
    await warehouse.pull(FIRST, {
      workspaces: [workspace('was-clean'), unknown('was-unknown'), drifting('was-drifting')],
    });
    await warehouse.pull(SECOND, {
      workspaces: [drifting('was-clean'), drifting('was-unknown'), drifting('was-drifting'), drifting('was-absent')],
    });
    const { summary, newly_drifted } = await warehouse.data('drift', SECOND, ['newly_drifted']);
    expect(summary).toMatchObject({ drifted: 4, newly_drifted: 3, still_drifted: 1, resolved: 0, drifting_before: 1 });
    expect(names(newly_drifted)).toEqual(['was-absent', 'was-clean', 'was-unknown']);
    expect((newly_drifted as { was: string }[]).map(({ was }) => was)).toEqual(['absent', 'clean', 'not assessed']);
  });

  it('counts as resolved only what is assessed and clean: what is unknown still drifts, and what is deleted has its own number', async () => {
    const warehouse = await createReportWarehouse();
    await warehouse.pull(FIRST, { workspaces: [drifting('healed'), drifting('blurred'), drifting('deleted')] });
    await warehouse.pull(SECOND, { workspaces: [workspace('healed'), unknown('blurred')] });
    const data = await warehouse.data('drift', SECOND, ['resolved', 'deleted', 'drifting']);
    expect(data.summary).toMatchObject({
      drifting: 1,
      drifting_not_assessed: 1,
      drifted: 0,
      resolved: 1,
      deleted: 1,
      equation: '1 drifting = 3 before + 0 new + 0 returned − 1 resolved − 1 deleted',
    });
    expect(names(data.resolved)).toEqual(['healed']);
    expect(names(data.deleted)).toEqual(['deleted']);
    expect(data.drifting).toMatchObject([
      { workspace_name: 'blurred', since: FIRST, note: 'not assessed now', resources_drifted: null },
    ]);
  });

  it('compares with the previous complete pull, not with a failed one, after which nothing is known to have changed', async () => {
    const warehouse = await createReportWarehouse();
    await warehouse.pull(FIRST, { workspaces: [workspace('a')] });
    await warehouse.pull(SECOND, { workspaces: [drifting('a')] });
    await warehouse.pull(THIRD, { workspaces: 'failed' });
    const stale = await warehouse.data('drift', THIRD, []);
    expect(stale.summary).toMatchObject({
      drifted: 1,
      baseline: true,
      newly_drifted: null,
      resolved: null,
      returned: null,
      deleted: null,
      drifting_before: null,
      equation: null,
      headline: '1 of 1 workspace drifts',
    });
    expect(stale.sources).toMatchObject([{ source: 'workspaces', status: 'failed', as_of: SECOND, stale: true }]);
    await warehouse.pull(FOURTH, { workspaces: [workspace('a')] });
    expect((await warehouse.data('drift', FOURTH, [])).summary).toMatchObject({
      drifted: 0,
      newly_drifted: 0,
      resolved: 1,
    });
  });

  it('shows a past time as it was then', async () => {
    const warehouse = await createReportWarehouse();
    await warehouse.pull(FIRST, { workspaces: [workspace('a')] });
    await warehouse.pull(SECOND, { workspaces: [drifting('a')] });
    await warehouse.pull(THIRD, { workspaces: [workspace('a')] });
    expect((await warehouse.data('drift', SECOND, [])).summary).toMatchObject({
      drifted: 1,
      newly_drifted: 1,
      resolved: 0,
    });
    expect((await warehouse.data('drift', FIRST, [])).summary).toMatchObject({ drifted: 0, baseline: true });
    expect((await warehouse.data('drift', '2026-10-01T00:00:00Z', [])).summary).toMatchObject({
      workspaces: null,
      baseline: true,
      headline: 'Nothing is known: no source of this report was ever pulled completely',
    });
  });

  it('sums over targets, each compared with its own pulls', async () => {
    const warehouse = await createReportWarehouse();
    await warehouse.pull(FIRST, { workspaces: [workspace('a')] }, 'east');
    await warehouse.pull(FIRST, { workspaces: [drifting('a')] }, 'west');
    await warehouse.pull(SECOND, { workspaces: [drifting('a')] }, 'east');
    await warehouse.pull(SECOND, { workspaces: 'failed' }, 'west');
    await warehouse.pull(SECOND, { workspaces: [drifting('a')] }, 'north');
    const { summary, newly_drifted } = await warehouse.data('drift', SECOND, ['newly_drifted']);
    expect(summary).toMatchObject({
      workspaces: 3,
      drifted: 3,
      newly_drifted: 1,
      drifting_before: null,
      baseline: false,
    });
    expect(newly_drifted).toMatchObject([{ target: 'east' }]);
  });

  it('dates a drift from the pull that first reported it; a run without an assessment does not reset it', async () => {
    const warehouse = await createReportWarehouse();
    const runs = [workspace('a'), drifting('a', 1), unknown('a'), drifting('a', 5), drifting('a', 7)];
    for (const [index, row] of runs.entries()) await warehouse.pull(RUNS[index] ?? '', { workspaces: [row] });
    const { drifting: rows } = await warehouse.data('drift', FIFTH, ['drifting']);
    expect(rows).toMatchObject([{ since: SECOND, days: 3, times_before: 0, resources_drifted: 7 }]);
  });

  it('counts earlier drifts, and lists three starts within thirty days as flapping', async () => {
    const warehouse = await createReportWarehouse();
    for (const [index, at] of RUNS.slice(0, 6).entries()) {
      await warehouse.pull(at, {
        workspaces: [index % 2 === 0 ? drifting('flaps') : workspace('flaps'), drifting('steady')],
      });
    }
    const { flapping } = await warehouse.data('drift', RUNS[5] ?? '', ['flapping']);
    expect(flapping).toMatchObject([{ workspace_name: 'flaps', times_in_30_days: 3, drifts_now: 'no' }]);
    const { drifting: rows } = await warehouse.data('drift', FIFTH, ['drifting']);
    expect(rows).toMatchObject([
      { workspace_name: 'steady', times_before: 0 },
      { workspace_name: 'flaps', times_before: 2, since: FIFTH },
    ]);
  });

  it('marks a drifting workspace whose last run errored or was discarded, canceled or stopped by a policy', async () => {
    const warehouse = await createReportWarehouse();
    const run = (id: string, current_run_status: string) => workspace(id, { drifted: true, current_run_status });
    await warehouse.pull(FIRST, {
      workspaces: [
        run('a', 'errored'),
        run('b', 'discarded'),
        run('c', 'applied'),
        run('d', 'canceled'),
        run('e', 'policy_soft_failed'),
      ],
    });
    const { summary, drifting: rows } = await warehouse.data('drift', FIRST, ['drifting']);
    expect(summary).toMatchObject({ stale_assessments: 4 });
    expect((rows as { note: string | null }[]).map(({ note }) => note)).toEqual([
      'last run errored: the assessment may be outdated',
      'last run discarded: the assessment may be outdated',
      null,
      'last run canceled: the assessment may be outdated',
      'last run policy_soft_failed: the assessment may be outdated',
    ]);
  });

  it('has a trend with the totals, the new and the resolved workspaces of each day', async () => {
    const warehouse = await createReportWarehouse();
    await warehouse.pull(FIRST, { workspaces: [drifting('a', 2), workspace('b'), unknown('c')] });
    await warehouse.pull(SECOND, { workspaces: [workspace('a'), drifting('b', 5), unknown('c')] });
    await warehouse.pull(THIRD, { workspaces: 'failed' });
    await warehouse.pull(FOURTH, { workspaces: [workspace('a'), workspace('c')] });
    const { trend } = await warehouse.data('drift', FOURTH, ['trend']);
    expect(trend).toMatchObject([
      {
        as_of: FOURTH,
        workspaces: 2,
        drifting: 0,
        drifted: 0,
        not_assessed: 0,
        newly_drifted: 0,
        resolved: 0,
        deleted: 1,
      },
      {
        as_of: SECOND,
        workspaces: 3,
        drifting: 1,
        not_assessed: 1,
        resources_drifted: 5,
        newly_drifted: 1,
        resolved: 1,
      },
      { as_of: FIRST, workspaces: 3, drifting: 1, not_assessed: 1, resources_drifted: 2, newly_drifted: 0, still: 1 },
    ]);
  });

  it('counts a workspace that was absent as returned when it drifts again, and not as resolved', async () => {
    const warehouse = await createReportWarehouse();
    await warehouse.pull(FIRST, { workspaces: [drifting('a'), drifting('b')] });
    await warehouse.pull(SECOND, { workspaces: [] });
    await warehouse.pull(THIRD, { workspaces: [workspace('a'), drifting('b')] });
    const { trend } = await warehouse.data('drift', THIRD, ['trend']);
    expect(trend).toMatchObject([
      { as_of: THIRD, drifting: 1, newly_drifted: 0, returned: 1, resolved: 0 },
      { as_of: SECOND, workspaces: 0, drifting: 0, newly_drifted: 0, resolved: 0, deleted: 2 },
      { as_of: FIRST, drifted: 2 },
    ]);
  });

  it('groups by project, including workspaces without one', async () => {
    const warehouse = await createReportWarehouse();
    await warehouse.pull(FIRST, {
      workspaces: [
        workspace('a', { project_name: 'one', project_external_id: 'prj-1', drifted: true, resources_drifted: 4 }),
        workspace('b', { project_name: 'one', project_external_id: 'prj-1', drifted: null }),
        workspace('c', { project_name: null, project_external_id: null }),
      ],
    });
    const { by_project } = await warehouse.data('drift', FIRST, ['by_project']);
    expect(by_project).toMatchObject([
      {
        project_name: 'one',
        workspaces: 2,
        drifting: 1,
        clean: 0,
        not_assessed: 1,
        resources_drifted: 4,
        drifting_of: '1 of 2',
        states: [
          { kind: 'bad', value: 1, text: '1 drifting' },
          { kind: 'soft', value: 1, text: '1 not assessed now' },
        ],
      },
      { project_name: null, workspaces: 1, drifting: 0, clean: 1, not_assessed: 0 },
    ]);
  });
});
