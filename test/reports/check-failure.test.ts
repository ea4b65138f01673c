import { describe, expect, it } from 'vitest';
import { openEstate, workspace } from '../helpers/report-estate.ts';

const [FIRST, SECOND, THIRD, FOURTH] = [1, 2, 3, 4].map((day) => `2026-11-0${day}T02:15:00Z`) as [
  string,
  string,
  string,
  string,
];

const failing = (id: string, checks_failed: number | null = 1) => workspace(id, { checks_failed });
const names = (rows: unknown) => (rows as { workspace_name: string }[]).map(({ workspace_name }) => workspace_name);

describe('the check-failure report', () => {
  it('counts failing, errored, unknown and without checks apart', async () => {
    const estate = await openEstate();
    const none = { checks_failed: 0, checks_errored: 0, checks_unknown: 0, checks_passed: 0 };
    await estate.night(FIRST, {
      workspaces: [
        workspace('fails', { checks_failed: 3, checks_errored: 1 }),
        workspace('errs', { checks_errored: 2 }),
        workspace('unsure', { checks_unknown: 1 }),
        workspace('bare', none),
        workspace('untold', { checks_failed: null, checks_errored: null, checks_unknown: null, checks_passed: null }),
        workspace('half-told', { ...none, checks_passed: null }),
        workspace('well'),
      ],
    });
    const data = await estate.data('check-failure', FIRST);
    expect(data.summary).toMatchObject({
      workspaces: 7,
      failing: 1,
      errored: 2,
      unknown: 1,
      checks_failed: 3,
      checks_errored: 3,
      without_checks: 1,
      not_told: 1,
      newly_failing: 0,
      resolved: 0,
      baseline: true,
    });
    expect(names(data.without_checks)).toEqual(['bare']);
    expect(names(data.errored)).toEqual(['errs', 'fails']);
  });

  it('calls new what fails and did not, and resolved only what has no failed check now', async () => {
    const estate = await openEstate();
    await estate.night(FIRST, {
      workspaces: [
        failing('stays'),
        failing('heals'),
        failing('hides'),
        failing('goes'),
        workspace('breaks'),
        failing('untold', null),
      ],
    });
    await estate.night(SECOND, {
      workspaces: [
        failing('stays', 4),
        failing('heals', 0),
        failing('hides', null),
        failing('breaks'),
        failing('untold'),
        failing('born'),
      ],
    });
    const { summary, newly_failing, resolved, lost_sight } = await estate.data('check-failure', SECOND);
    expect(summary).toMatchObject({ failing: 4, newly_failing: 3, resolved: 1, still_failing: 1, failing_before: 4 });
    expect(names(newly_failing)).toEqual(['born', 'breaks', 'untold']);
    expect(names(resolved)).toEqual(['heals']);
    expect(lost_sight).toMatchObject([
      { workspace_name: 'goes', is_now: 'gone' },
      { workspace_name: 'hides', is_now: 'not told' },
    ]);
  });

  it('lists the longest failing first, and each night by what changed', async () => {
    const estate = await openEstate();
    await estate.night(FIRST, { workspaces: [failing('old'), workspace('young')] });
    await estate.night(SECOND, { workspaces: [failing('old', 9), workspace('young')] });
    await estate.night(THIRD, { workspaces: 'quarantined' });
    await estate.night(FOURTH, { workspaces: [failing('old', 9), failing('young')] });
    const { failing: rows, nights, sources } = await estate.data('check-failure', FOURTH);
    expect(rows).toMatchObject([
      { workspace_name: 'old', since: FIRST, days: 3, checks_failed: 9 },
      { workspace_name: 'young', since: FOURTH, days: 0 },
    ]);
    expect(nights).toMatchObject([
      { night: FOURTH, failing: 2, checks_failed: 10, newly_failing: 1, resolved: 0 },
      { night: SECOND, failing: 1, checks_failed: 9, newly_failing: 0 },
      { night: FIRST, failing: 1, checks_failed: 1, newly_failing: 0 },
    ]);
    expect(sources).toMatchObject([{ status: 'complete' }]);
  });
});
