import { describe, expect, it } from 'vitest';
import { openEstate, workspace } from '../helpers/report-estate.ts';

const NIGHTS = Array.from({ length: 12 }, (_, index) => `2026-11-${String(index + 1).padStart(2, '0')}T02:15:00Z`);
const [FIRST = '', SECOND = '', THIRD = '', FOURTH = '', FIFTH = ''] = NIGHTS;

const names = (rows: unknown) => (rows as { workspace_name: string }[]).map(({ workspace_name }) => workspace_name);
const drifting = (id: string, resources = 1) => workspace(id, { drifted: true, resources_drifted: resources });
const unknown = (id: string) => workspace(id, { drifted: null, resources_drifted: null });

describe('the drift report', () => {
  it('calls NULL unknown, neither drifted nor clean', async () => {
    const estate = await openEstate();
    await estate.night(FIRST, { workspaces: [drifting('a', 3), workspace('b'), unknown('c')] });
    const { summary, not_assessed } = await estate.data('drift', FIRST);
    expect(summary).toMatchObject({ workspaces: 3, drifted: 1, clean: 1, unknown: 1, resources_drifted: 3 });
    expect(names(not_assessed)).toEqual(['c']);
  });

  it('calls nothing new or resolved on the first night, and says that it is the baseline', async () => {
    const estate = await openEstate();
    await estate.night(FIRST, { workspaces: [drifting('a')] });
    const { summary, newly_drifted } = await estate.data('drift', FIRST);
    expect(summary).toMatchObject({ newly_drifted: 0, resolved: 0, baseline: true, drifted_before: null });
    expect(newly_drifted).toEqual([]);
  });

  it('calls new what was clean, not assessed or not there', async () => {
    const estate = await openEstate();
    await estate.night(FIRST, {
      workspaces: [workspace('was-clean'), unknown('was-unknown'), drifting('was-drifting')],
    });
    await estate.night(SECOND, {
      workspaces: [drifting('was-clean'), drifting('was-unknown'), drifting('was-drifting'), drifting('was-absent')],
    });
    const { summary, newly_drifted } = await estate.data('drift', SECOND);
    expect(summary).toMatchObject({ drifted: 4, newly_drifted: 3, still_drifted: 1, resolved: 0, drifted_before: 1 });
    expect(names(newly_drifted)).toEqual(['was-absent', 'was-clean', 'was-unknown']);
    expect((newly_drifted as { was: string }[]).map(({ was }) => was)).toEqual(['not there', 'clean', 'not assessed']);
  });

  it('calls resolved only what is assessed and clean: neither the unknown nor the gone', async () => {
    const estate = await openEstate();
    await estate.night(FIRST, { workspaces: [drifting('healed'), drifting('blurred'), drifting('deleted')] });
    await estate.night(SECOND, { workspaces: [workspace('healed'), unknown('blurred')] });
    const { summary, resolved, lost_sight } = await estate.data('drift', SECOND);
    expect(summary).toMatchObject({ resolved: 1, lost_sight: 2 });
    expect(names(resolved)).toEqual(['healed']);
    expect(lost_sight).toMatchObject([
      { workspace_name: 'deleted', is_now: 'gone' },
      { workspace_name: 'blurred', is_now: 'not assessed' },
    ]);
  });

  it('compares with the previous complete pull, not with a failed one', async () => {
    const estate = await openEstate();
    await estate.night(FIRST, { workspaces: [workspace('a')] });
    await estate.night(SECOND, { workspaces: [drifting('a')] });
    await estate.night(THIRD, { workspaces: 'failed' });
    const stale = await estate.data('drift', THIRD);
    expect(stale.summary).toMatchObject({ drifted: 1, newly_drifted: 1 });
    expect(stale.sources).toMatchObject([{ source: 'workspaces', status: 'failed', as_of: SECOND, stale: true }]);
    await estate.night(FOURTH, { workspaces: [workspace('a')] });
    expect((await estate.data('drift', FOURTH)).summary).toMatchObject({ drifted: 0, newly_drifted: 0, resolved: 1 });
  });

  it('tells of a past moment as it was then', async () => {
    const estate = await openEstate();
    await estate.night(FIRST, { workspaces: [workspace('a')] });
    await estate.night(SECOND, { workspaces: [drifting('a')] });
    await estate.night(THIRD, { workspaces: [workspace('a')] });
    expect((await estate.data('drift', SECOND)).summary).toMatchObject({ drifted: 1, newly_drifted: 1, resolved: 0 });
    expect((await estate.data('drift', FIRST)).summary).toMatchObject({ drifted: 0, baseline: true });
    expect((await estate.data('drift', '2026-10-01T00:00:00Z')).summary).toMatchObject({
      workspaces: 0,
      baseline: true,
    });
  });

  it('sums over targets, each by its own pulls', async () => {
    const estate = await openEstate();
    await estate.night(FIRST, { workspaces: [workspace('a')] }, 'east');
    await estate.night(FIRST, { workspaces: [drifting('a')] }, 'west');
    await estate.night(SECOND, { workspaces: [drifting('a')] }, 'east');
    await estate.night(SECOND, { workspaces: 'failed' }, 'west');
    await estate.night(SECOND, { workspaces: [drifting('a')] }, 'north');
    const { summary, newly_drifted } = await estate.data('drift', SECOND);
    expect(summary).toMatchObject({
      workspaces: 3,
      drifted: 3,
      newly_drifted: 1,
      drifted_before: null,
      baseline: false,
    });
    expect(newly_drifted).toMatchObject([{ target: 'east' }]);
  });

  it('dates a drift from the pull that first saw it; one that could not be assessed in between did not end it', async () => {
    const estate = await openEstate();
    const nights = [workspace('a'), drifting('a', 1), unknown('a'), drifting('a', 5), drifting('a', 7)];
    for (const [index, row] of nights.entries()) await estate.night(NIGHTS[index] ?? '', { workspaces: [row] });
    const { drifting: rows } = await estate.data('drift', FIFTH);
    expect(rows).toMatchObject([{ since: SECOND, days: 3, times_before: 0, resources_drifted: 7 }]);
  });

  it('counts earlier drifts, and calls three beginnings in thirty days flapping', async () => {
    const estate = await openEstate();
    for (const [index, night] of NIGHTS.slice(0, 6).entries()) {
      await estate.night(night, {
        workspaces: [index % 2 === 0 ? drifting('flaps') : workspace('flaps'), drifting('steady')],
      });
    }
    const { flapping } = await estate.data('drift', NIGHTS[5] ?? '');
    expect(flapping).toMatchObject([{ workspace_name: 'flaps', times_in_30_days: 3, drifts_now: 'no' }]);
    const { drifting: rows } = await estate.data('drift', FIFTH);
    expect(rows).toMatchObject([
      { workspace_name: 'steady', times_before: 0 },
      { workspace_name: 'flaps', times_before: 2, since: FIFTH },
    ]);
  });

  it('marks a drifting workspace whose last run errored or was discarded', async () => {
    const estate = await openEstate();
    const run = (id: string, current_run_status: string) => workspace(id, { drifted: true, current_run_status });
    await estate.night(FIRST, { workspaces: [run('a', 'errored'), run('b', 'discarded'), run('c', 'applied')] });
    const { summary, drifting: rows } = await estate.data('drift', FIRST);
    expect(summary).toMatchObject({ stale_assessments: 2 });
    expect((rows as { note: string | null }[]).map(({ note }) => note)).toEqual([
      'last run errored: the assessment may be stale',
      'last run discarded: the assessment may be stale',
      null,
    ]);
  });

  it('tells each night what stood then, and what came and went', async () => {
    const estate = await openEstate();
    await estate.night(FIRST, { workspaces: [drifting('a', 2), workspace('b'), unknown('c')] });
    await estate.night(SECOND, { workspaces: [workspace('a'), drifting('b', 5), unknown('c')] });
    await estate.night(THIRD, { workspaces: 'failed' });
    await estate.night(FOURTH, { workspaces: [workspace('a'), workspace('c')] });
    const { nights } = await estate.data('drift', FOURTH);
    expect(nights).toEqual([
      {
        night: FOURTH,
        workspaces: 2,
        drifted: 0,
        not_assessed: 0,
        resources_drifted: 0,
        newly_drifted: 0,
        resolved: 0,
      },
      {
        night: SECOND,
        workspaces: 3,
        drifted: 1,
        not_assessed: 1,
        resources_drifted: 5,
        newly_drifted: 1,
        resolved: 1,
      },
      { night: FIRST, workspaces: 3, drifted: 1, not_assessed: 1, resources_drifted: 2, newly_drifted: 0, resolved: 0 },
    ]);
  });

  it('does not call resolved what was gone in between, and calls it new when it comes back drifting', async () => {
    const estate = await openEstate();
    await estate.night(FIRST, { workspaces: [drifting('a'), drifting('b')] });
    await estate.night(SECOND, { workspaces: [] });
    await estate.night(THIRD, { workspaces: [workspace('a'), drifting('b')] });
    const { nights } = await estate.data('drift', THIRD);
    expect(nights).toMatchObject([
      { night: THIRD, drifted: 1, newly_drifted: 1, resolved: 0 },
      { night: SECOND, workspaces: 0, drifted: 0, newly_drifted: 0, resolved: 0 },
      { night: FIRST, drifted: 2 },
    ]);
  });

  it('groups by project, those without one too', async () => {
    const estate = await openEstate();
    await estate.night(FIRST, {
      workspaces: [
        workspace('a', { project_name: 'one', project_external_id: 'prj-1', drifted: true, resources_drifted: 4 }),
        workspace('b', { project_name: 'one', project_external_id: 'prj-1', drifted: null }),
        workspace('c', { project_name: null, project_external_id: null }),
      ],
    });
    const { by_project } = await estate.data('drift', FIRST);
    expect(by_project).toMatchObject([
      {
        project_name: 'one',
        workspaces: 2,
        drifted: 1,
        clean: 0,
        not_assessed: 1,
        resources_drifted: 4,
        drifted_percent: 100,
      },
      { project_name: null, workspaces: 1, drifted: 0, clean: 1, not_assessed: 0, drifted_percent: 0 },
    ]);
  });
});
