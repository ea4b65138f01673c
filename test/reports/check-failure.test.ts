import { describe, expect, it } from 'vitest';
import { createReportWarehouse, workspace } from '../helpers/report-warehouse.ts';

const [FIRST, SECOND, THIRD, FOURTH] = [1, 2, 3, 4].map((day) => `2026-11-0${day}T02:15:00Z`) as [
  string,
  string,
  string,
  string,
];

const failing = (id: string, checks_failed: number | null = 1) => workspace(id, { checks_failed });
const names = (rows: unknown) => (rows as { workspace_name: string }[]).map(({ workspace_name }) => workspace_name);

describe('the check-failure report', () => {
  it('marks a failing workspace whose last run was canceled or stopped by a policy', async () => {
    const warehouse = await createReportWarehouse();
    const run = (id: string, current_run_status: string) => workspace(id, { checks_failed: 1, current_run_status });
    await warehouse.pull(FIRST, {
      workspaces: [run('a', 'canceled'), run('b', 'policy_soft_failed'), run('c', 'applied')],
    });
    const { summary, failing: rows } = await warehouse.data('check-failure', FIRST, ['failing']);
    expect(summary).toMatchObject({ stale_assessments: 2 });
    expect((rows as { note: string | null }[]).map(({ note }) => note)).toEqual([
      'last run canceled: the assessment may be outdated',
      'last run policy_soft_failed: the assessment may be outdated',
      null,
    ]);
  });

  it('counts failing, errored, unknown and without checks separately', async () => {
    const warehouse = await createReportWarehouse();
    const none = { checks_failed: 0, checks_errored: 0, checks_unknown: 0, checks_passed: 0 };
    await warehouse.pull(FIRST, {
      workspaces: [
        workspace('fails', { checks_failed: 3, checks_errored: 1 }),
        workspace('errs', { checks_errored: 2 }),
        workspace('unsure', { checks_unknown: 1 }),
        workspace('bare', none),
        workspace('untold', { checks_failed: null, checks_errored: null, checks_unknown: null, checks_passed: null }),
        workspace('half-reported', { ...none, checks_passed: null }),
        workspace('well'),
      ],
    });
    const data = await warehouse.data('check-failure', FIRST, ['without_checks', 'errored']);
    expect(data.summary).toMatchObject({
      workspaces: 7,
      failing: 1,
      errored: 2,
      unknown: 1,
      checks_failed: 3,
      checks_errored: 3,
      without_checks: 1,
      not_reported: 1,
      newly_failing: 0,
      resolved: 0,
      baseline: true,
    });
    expect(names(data.without_checks)).toEqual(['bare']);
    expect(names(data.errored)).toEqual(['errs', 'fails']);
  });

  it('counts as new what did not fail before, and as resolved only what has no failed check now', async () => {
    const warehouse = await createReportWarehouse();
    await warehouse.pull(FIRST, {
      workspaces: [
        failing('stays'),
        failing('heals'),
        failing('hides'),
        failing('unsure'),
        failing('goes'),
        workspace('breaks'),
        failing('untold', null),
      ],
    });
    await warehouse.pull(SECOND, {
      workspaces: [
        failing('stays', 4),
        failing('heals', 0),
        failing('hides', null),
        workspace('unsure', { checks_unknown: 2 }),
        failing('breaks'),
        failing('untold'),
        failing('born'),
      ],
    });
    const data = await warehouse.data('check-failure', SECOND, ['newly_failing', 'resolved', 'deleted', 'failing']);
    expect(data.summary).toMatchObject({ failing: 6, newly_failing: 3, resolved: 1, deleted: 1, still_failing: 3 });
    expect(data.summary.equation).toBe('6 failing = 5 before + 3 new + 0 returned − 1 resolved − 1 deleted');
    expect(names(data.newly_failing)).toEqual(['born', 'breaks', 'untold']);
    expect(names(data.resolved)).toEqual(['heals']);
    expect(names(data.deleted)).toEqual(['goes']);
    expect(data.failing).toContainEqual(
      expect.objectContaining({ workspace_name: 'hides', checks: expect.stringContaining('not reported now') }),
    );
    expect(data.failing).toContainEqual(
      expect.objectContaining({ workspace_name: 'unsure', checks: expect.stringContaining('2 not assessed now') }),
    );
  });

  it('counts no failed check where checks are not assessed', async () => {
    const warehouse = await createReportWarehouse();
    const unsure = { project_name: 'other', checks_unknown: 2 };
    const untold = { project_name: 'untold', checks_failed: null, checks_errored: null, checks_unknown: null };
    for (let day = 1; day <= 6; day++) {
      const last = day === 6 ? { checks_unknown: 1 } : { checks_failed: day % 2 };
      const workspaces = [workspace('flaps', last), workspace('unsure', unsure), workspace('untold', untold)];
      await warehouse.pull(`2026-11-0${day}T02:15:00Z`, { workspaces });
    }
    const data = await warehouse.data('check-failure', '2026-11-06T02:15:00Z', ['flapping', 'by_project']);
    expect(data.flapping).toMatchObject([{ workspace_name: 'flaps', checks_failed_now: null }]);
    expect(data.by_project).toMatchObject(
      ['core', 'other', 'untold'].map((project_name) => ({ project_name, not_assessed: 1, checks_failed: null })),
    );
  });

  it('lists the longest failing first, and computes the trend from the changes', async () => {
    const warehouse = await createReportWarehouse();
    await warehouse.pull(FIRST, { workspaces: [failing('old'), workspace('young')] });
    await warehouse.pull(SECOND, { workspaces: [failing('old', 9), workspace('young')] });
    await warehouse.pull(THIRD, { workspaces: 'quarantined' });
    await warehouse.pull(FOURTH, { workspaces: [failing('old', 9), failing('young')] });
    const { failing: rows, trend, sources } = await warehouse.data('check-failure', FOURTH, ['failing', 'trend']);
    expect(rows).toMatchObject([
      { workspace_name: 'old', since: FIRST, days: 3, checks_failed: 9 },
      { workspace_name: 'young', since: FOURTH, days: 0 },
    ]);
    expect(trend).toMatchObject([
      { as_of: FOURTH, failing: 2, checks_failed: 10, newly_failing: 1, resolved: 0 },
      { as_of: SECOND, failing: 1, checks_failed: 9, newly_failing: 0 },
      { as_of: FIRST, failing: 1, checks_failed: 1, newly_failing: 0 },
    ]);
    expect(sources).toMatchObject([{ status: 'complete' }]);
  });
});
