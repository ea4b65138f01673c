import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { renderReports } from '../../src/tell/reports/index.ts';
import { setEarlierVersion } from '../helpers/change-warehouse.ts';
import { createMailWarehouse, type MailWarehouse, prepareMailWarehouse } from '../helpers/mail-warehouse.ts';
import { createReportWarehouse, recordFinding as finding, workspace } from '../helpers/report-warehouse.ts';

const FIRST = '2026-11-01T02:15:00Z';
const SECOND = '2026-11-02T02:15:00Z';
const THIRD = '2026-11-03T02:15:00Z';

describe('the overview', () => {
  it('shows the metrics of each area that was pulled, with the values and changes of its report', async () => {
    const warehouse = await createReportWarehouse();
    await warehouse.pull(FIRST, { workspaces: [workspace('a'), workspace('b', { drifted: true })] });
    await warehouse.pull(SECOND, {
      workspaces: [workspace('a', { drifted: true }), workspace('b', { drifted: true, checks_failed: 1 })],
    });
    const { areas, summary } = await warehouse.data('overview', SECOND, ['areas']);
    expect(summary).toMatchObject({
      drifting: 2,
      newly_drifted: 1,
      drifting_before: 1,
      failing: 1,
      failing_before: 0,
      assessed: false,
    });
    expect(areas).toMatchObject([
      { area: 'Drift', number: 2, before: 1, newly: 1, resolved: 0, changes: '1 new', report: 'drift' },
      { area: 'Checks', number: 1, before: 0, newly: 1 },
    ]);
  });

  it('shows a number whose source was tried and never pulled as not known, and none of what no target has', async () => {
    const warehouse = await createReportWarehouse();
    await warehouse.pull(FIRST, { workspaces: [workspace('a')], keys: 'failed', mesh_roles: [] });
    const { areas } = await warehouse.data('overview', FIRST, ['areas']);
    expect((areas as Record<string, unknown>[]).map(({ measure, number }) => [measure, number])).toEqual([
      ['keys overdue for rotation', null],
      ['keys with too many versions enabled', null],
    ]);
  });

  it('says that the sources of critical rules are stale which no other report shows', async () => {
    const warehouse = await createReportWarehouse();
    await warehouse.pull(FIRST, { workspaces: [workspace('a')], acl_policies: 'failed', autoscaler_health: 'failed' });
    const { sources } = await warehouse.data('overview', FIRST, []);
    expect(sources.filter(({ stale }) => stale).map(({ source }) => source)).toEqual([
      'acl_policies',
      'autoscaler_health',
    ]);
  });

  it('counts expired and expiring certificates separately', async () => {
    const warehouse = await createReportWarehouse();
    const root = (root_id: string, not_after: string) => ({ root_id, active: true, not_before: FIRST, not_after });
    await warehouse.pull(SECOND, {
      ca_roots: [root('ended', FIRST), root('over', FIRST), root('soon', '2026-11-03T00:00:00Z')],
    });
    const { areas } = await warehouse.data('overview', SECOND, ['areas']);
    expect(areas).toMatchObject([
      { number: 1, measure: 'roots expiring' },
      { number: 2, measure: 'roots expired' },
    ]);
  });

  it('ranks findings by severity, number and age, with one row per cause', async () => {
    const warehouse = await createReportWarehouse();
    const found = [{ at: FIRST, state: 'open', reason: 'found' }];
    await finding(warehouse, 'one', 'drifted-workspace', found);
    await finding(warehouse, 'p1', 'provider-sprawl', found, { group_key: 'aws 4.0.0' });
    await finding(warehouse, 'p2', 'provider-sprawl', found, { group_key: 'aws 4.0.0' });
    await finding(warehouse, 'worst', 'management-role', found, { severity: 'critical' });
    const { open_findings, summary } = await warehouse.data('overview', SECOND, ['open_findings']);
    expect(open_findings).toMatchObject([
      {
        severity: 'critical',
        title: 'Title of worst',
        findings: 1,
        who: [],
        command: 'tidemark playbook plan downgrade-management-roles',
      },
      {
        severity: 'warning',
        title: '2 uses of a provider are outdated: aws 4.0.0',
        findings: 2,
        who: [{ title: 'Title of p1' }, { title: 'Title of p2' }],
        command: 'tidemark findings --rule provider-sprawl',
      },
      { severity: 'warning', title: 'Title of one' },
    ]);
    expect(summary).toMatchObject({ findings_open: 4, critical: 1, warning: 3 });
  });

  it('compares metrics with the previous run where their report has no previous value', async () => {
    const warehouse = await createReportWarehouse();
    const pullSilent = (at: string, hoursSilent: number) =>
      warehouse.pull(at, {
        agent_pools: [{ pool_id: 'p', name: 'p' }],
        agents: [
          {
            agent_id: 'a',
            pool_id: 'p',
            status: 'idle',
            last_ping_at: new Date(Date.parse(at) - hoursSilent * 3_600_000).toISOString(),
          },
        ],
      });
    await pullSilent(FIRST, 0);
    await pullSilent(SECOND, 3);
    expect((await warehouse.data('overview', SECOND, ['areas'])).areas).toContainEqual(
      expect.objectContaining({ measure: 'agents silent at their pull', number: 1, before: 0 }),
    );
  });

  it('lists the actions of the last thirty days', async () => {
    const warehouse = await createReportWarehouse();
    await finding(warehouse, 'f', 'dead-agent', [{ at: FIRST, state: 'open', reason: 'found' }]);
    const act = (id: string, at: string) =>
      warehouse.database.run(
        `insert into actions by name select 'acme' as target, 'plan' as plan_id, $id as action_id, 'reap-dead-agents' as playbook,
         'platform.agents.delete' as operation, 'f' as finding_id, 'applied' as status, 'a person' as approved_by,
         $at::timestamptz as started_at`,
        { id, at },
      );
    await act('later', '2026-11-03T00:00:00Z');
    await act('now', '2026-11-01T09:00:00Z');
    await act('long-ago', '2026-10-01T00:00:00Z');
    const { actions } = await warehouse.data('overview', SECOND, ['actions']);
    expect(actions).toMatchObject([
      { action_id: 'now', subject_name: 'f', status: 'applied', approved_by: 'a person' },
    ]);
  });

  it('shows the findings as of the requested time', async () => {
    const warehouse = await createReportWarehouse();
    await warehouse.pull(FIRST, { workspaces: [] });
    await warehouse.pull(SECOND, { workspaces: [] });
    await finding(warehouse, 'f', 'drifted-workspace', [
      { at: FIRST, state: 'new', reason: 'found' },
      { at: SECOND, state: 'resolved', reason: 'gone' },
    ]);
    const then = await warehouse.data('overview', FIRST, ['changes', 'open_findings']);
    expect(then.summary).toMatchObject({ findings_open: 1, findings_new: 1 });
    expect(then.changes).toEqual([]); // there is nothing to compare with
    expect(then.open_findings).toMatchObject([{ title: 'Title of f', changes: null }]);
    const now = await warehouse.data('overview', SECOND, ['open_findings', 'changes']);
    expect(now.open_findings).toEqual([]);
    expect(now.summary).toMatchObject({ findings_open: 0 });
    expect(now.changes).toMatchObject([{ rule: 'drifted-workspace', found: 0, resolved: 1 }]);
  });

  it('lists the rules that could not be assessed, as of its time', async () => {
    const warehouse = await createReportWarehouse();
    await warehouse.pull(FIRST, { workspaces: [workspace('a')] });
    await warehouse.pull(SECOND, { workspaces: [workspace('a')] });
    await warehouse.database.run(
      `insert into unassessed_rules values
       ('nomad', 'anonymous-write', 'critical', 'the list is partial', $first::timestamptz, null),
       ('other', 'anonymous-write', 'critical', 'the list is partial', $first::timestamptz, null),
       ('nomad', 'lost-volume-claim', 'warning', 'source volumes is failed', $first::timestamptz, $second::timestamptz)`,
      { first: FIRST, second: SECOND },
    );
    const before = await warehouse.data('overview', FIRST, ['unassessed']);
    expect(before.summary).toMatchObject({
      unassessed: 2,
      headline: expect.stringMatching(/^No critical finding or warning is known; 0 info; .*; 2 rules not assessed$/u),
    });
    expect(before.unassessed).toMatchObject([
      { rules: 'anonymous-write' },
      { rules: 'anonymous-write' },
      { rules: 'lost-volume-claim' },
    ]);
    const more = ['unassessed', 'finding_counts', 'state'];
    const { summary, unassessed, finding_counts } = await warehouse.data('overview', SECOND, more);
    expect(summary).toMatchObject({ unassessed: 1, assessed: true });
    expect(finding_counts).toMatchObject([{ unassessed: 1 }]);
    const gap = { severity: 'critical', reason: 'the list is partial', since: FIRST };
    expect(unassessed).toMatchObject([
      { target: 'nomad', ...gap },
      { target: 'other', ...gap },
    ]);
  });
});

describe('the bars of findings per night', () => {
  const day = (number: number) => `2026-11-0${number}T02:15:00Z`;

  /** A night with a drifting workspace, which may not have been pulled. */
  const addNight = async (warehouse: MailWarehouse, number: number, isFailed = false) => {
    const rows = [workspace('api', { drifted: true, resources_drifted: 1 })];
    await warehouse.pull(day(number), { workspaces: isFailed ? 'failed' : rows, modules: [] } as never);
    await warehouse.evaluate(day(number));
  };

  /** Three nights, of which the last one failed. */
  const threeNights = async () => {
    const from = await prepareMailWarehouse('overview-nights', async (warehouse) => {
      await addNight(warehouse, 1);
      await addNight(warehouse, 2);
      await addNight(warehouse, 3, true);
    });
    return createMailWarehouse(undefined, from);
  };

  const bars = async (warehouse: MailWarehouse, at: number) => {
    await renderReports(warehouse.options(day(at), { names: ['overview'] }));
    const out = warehouse.options(day(at), {}).out;
    const { findings_trend } = JSON.parse(await readFile(join(out, 'overview.json'), 'utf8'));
    const page = await readFile(join(out, 'overview.html'), 'utf8');
    const gaps = new Set([...page.matchAll(/<title>([^<:]+): not assessed<\/title>/gu)].map(([, name]) => name));
    return {
      warnings: (findings_trend as { warning: number | null }[]).map(({ warning }) => warning).reverse(),
      gaps: [...gaps],
    };
  };

  it('have a gap in a night in which most findings could not be assessed, also where it is the last one', async () => {
    const warehouse = await threeNights();
    await addNight(warehouse, 4);
    await addNight(warehouse, 5, true);
    expect(await bars(warehouse, 5)).toEqual({ warnings: [1, 1, null, 1, null], gaps: ['3 Nov', '5 Nov'] });
    expect(await bars(warehouse, 3)).toEqual({ warnings: [1, 1, null], gaps: ['3 Nov'] });
    await warehouse.database.run('drop table partial_periods');
    await setEarlierVersion(warehouse.database);
    expect((await bars(warehouse, 5)).warnings).toEqual([1, 1, null, 1, null]);
  });

  it('have none where only some parts could not be assessed', async () => {
    const warehouse = await threeNights();
    await warehouse.database.run('insert into partial_periods select target, rule, since from unassessed_rules');
    expect((await bars(warehouse, 3)).warnings).toEqual([1, 1, 1]);
  });
});

it('what a part that is not known hides is neither better nor worse than before', async () => {
  const warehouse = await createReportWarehouse();
  const listing = { plugin_id: 'csi', supported: true };
  const snapshot = {
    plugin_id: 'csi',
    snapshot_id: 's',
    external_source_volume_id: 'gone',
    created_at: FIRST,
    is_ready: true,
  };
  const old = { ...snapshot, snapshot_id: 'old', external_source_volume_id: null, created_at: '2020-01-01T00:00:00Z' };
  const tables = {
    volumes: [],
    external_volumes: [],
    external_volume_listings: [listing],
    volume_snapshots: [snapshot, old],
    volume_snapshot_listings: [listing],
  };
  await warehouse.pull(FIRST, tables);
  await warehouse.pull(SECOND, { ...tables, external_volume_listings: [{ ...listing, supported: null }] });
  await warehouse.pull(THIRD, tables);
  const part = JSON.stringify([{ column: 'plugin_id', value: 'csi', reason: 'down' }]);
  await warehouse.database.run(
    "update pulls set status = 'partial', unknown_parts = $part::json where source = 'external_volumes' and as_of = $second::timestamptz",
    { part, second: SECOND },
  );
  const stale = async (night: string) => {
    const { areas } = await warehouse.data('overview', night, ['areas']);
    return (areas as Record<string, unknown>[]).find(({ measure }) => measure === 'stale snapshots');
  };
  expect(await stale(SECOND)).toMatchObject({ number: 1, before: null, changes: null });
  expect(await stale(THIRD)).toMatchObject({ number: 2, before: null, changes: null });
});
