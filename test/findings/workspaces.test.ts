import { beforeAll, describe, expect, test } from 'vitest';
import { createFindingsWarehouse, type FindingsWarehouse, type Rows } from '../helpers/findings-warehouse.ts';
import { cleanAtEnd } from '../helpers/temp.ts';

const atEnd = cleanAtEnd();
const NOW = '2026-11-20T02:15:00Z';
const HOSTILE = 'x"\'); drop table findings; --\n<b>{}\u202e%s 漢';

const workspace = (id: string, fields: Rows[number]): Rows[number] => ({
  external_id: id,
  workspace_name: `name of ${id}`,
  project_name: 'Core',
  drifted: false,
  checks_failed: 0,
  checks_errored: 0,
  workspace_iac_version: '1.10.0',
  ...fields,
});

describe('workspaces', () => {
  let warehouse: FindingsWarehouse;

  beforeAll(async () => {
    warehouse = await createFindingsWarehouse({ cleanup: atEnd });
    await warehouse.pull(NOW, 'acme', 'workspaces', {
      workspaces: [
        workspace('clean', {}),
        workspace('drifts', { drifted: true, resources_drifted: 3 }),
        workspace('not-assessed', { drifted: null, resources_drifted: 3 }),
        workspace('contradicts', { drifted: false, resources_drifted: 3 }),
        workspace('hostile', { drifted: true, workspace_name: HOSTILE, project_name: HOSTILE }),
        workspace('nameless', { drifted: true, workspace_name: null }),
        workspace('fails', { checks_failed: 1 }),
        workspace('fails-unreported', { checks_failed: null }),
        workspace('errs', { checks_errored: 2 }),
        workspace('errs-unreported', { checks_errored: null }),
        workspace('unsure', { checks_unknown: 1 }),
        workspace('unsure-unreported', { checks_unknown: null }),
        workspace('patch', { workspace_iac_version: '1.9.9' }),
        workspace('prerelease', { workspace_iac_version: '1.10.0-rc1' }),
        workspace('major', { workspace_iac_version: 'v0.15.5' }),
        workspace('newer-prerelease', { workspace_iac_version: '1.11.0-alpha' }),
        workspace('build', { workspace_iac_version: '1.10.0+ent' }),
        workspace('constraint', { workspace_iac_version: '~> 1.5' }),
        workspace('no-version', { workspace_iac_version: null }),
      ],
    });
    await warehouse.pull(NOW, 'acme', 'tf_versions', {
      tf_versions: ['1.9.9', '1.10.0', '1.2.0', '1.11.0-alpha', '~> 1.5'].map((version) => ({ version })),
    });
    await warehouse.pull(NOW, 'other', 'workspaces', {
      workspaces: [workspace('patch', { workspace_iac_version: '1.9.9' })],
    });
    await warehouse.pull(NOW, 'other', 'tf_versions', { tf_versions: [{ version: '1.9.9' }] });
    await warehouse.pull(NOW, 'beta', 'workspaces', {
      workspaces: [workspace('only-beta', { workspace_iac_version: '2.0.0-beta1' })],
    });
    await warehouse.pull(NOW, 'beta', 'tf_versions', { tf_versions: [{ version: '2.0.0-beta1' }] });
    await warehouse.evaluate(NOW);
  });

  test('drifted-workspace: drifted is true; null is unknown, never clean', async () => {
    expect(await warehouse.seen('drifted-workspace')).toEqual({
      found: ['drifts', 'hostile', 'nameless'],
      unknown: ['contradicts', 'not-assessed'],
    });
    expect((await warehouse.findings('drifted-workspace')).map(({ title }) => title)).toEqual([
      'Workspace name of drifts drifts in 3 resources',
      `Workspace ${HOSTILE.replace('\n', ' ')} drifts`,
      'Workspace nameless drifts',
    ]);
  });

  test('failing-checks and errored-checks: their counts are above 0; a check that could not be assessed may be one', async () => {
    expect(await warehouse.seen('failing-checks')).toEqual({
      found: ['fails'],
      unknown: ['fails-unreported', 'unsure', 'unsure-unreported'],
    });
    expect(await warehouse.seen('errored-checks')).toEqual({
      found: ['errs'],
      unknown: ['errs-unreported', 'unsure', 'unsure-unreported'],
    });
    const [failing] = await warehouse.findings('failing-checks');
    expect(failing).toMatchObject({
      title: '1 check of workspace name of fails failed',
      weight: 1,
      detail: { checks_failed: 1 },
    });
    expect((await warehouse.findings('errored-checks'))[0]?.title).toBe('2 checks of workspace name of errs errored');
  });

  test('outdated-version: lower than the newest release in use, by semantic precedence and in its own target', async () => {
    expect(await warehouse.seen('outdated-version')).toEqual({
      found: ['major', 'patch', 'prerelease'],
      unknown: ['constraint', 'no-version', 'only-beta'],
    });
    const rows = await warehouse.findings('outdated-version');
    expect(
      rows.map(({ subject_id, severity, group_key, detail }) => [subject_id, severity, group_key, detail]),
    ).toEqual([
      ['major', 'warning', 'version v0.15.5', expect.objectContaining({ behind: 'major', newest_version: '1.10.0' })],
      ['patch', 'info', 'version 1.9.9', expect.objectContaining({ behind: 'minor' })],
      ['prerelease', 'info', 'version 1.10.0-rc1', expect.objectContaining({ behind: 'patch' })],
    ]);
  });
});

describe('workspaces over several nights', () => {
  const night = (day: number) => `2026-11-${String(day).padStart(2, '0')}T02:15:00Z`;
  const CREATED = '2026-01-01T00:00:00Z';
  const EARLIER = '2026-04-01T00:00:00Z';
  const FIRST: Rows = [
    workspace('ends', { current_run_external_id: 'run-1', current_run_status: 'planned' }),
    workspace('waits', { current_run_external_id: 'run-2', current_run_status: 'planned' }),
    workspace('goes-on', { current_run_external_id: 'run-3', current_run_status: 'planned' }),
    workspace('errs', { current_run_external_id: 'run-4', current_run_status: 'errored' }),
    workspace('errs-again', { current_run_external_id: 'run-5', current_run_status: 'errored' }),
    workspace('errs-oddly', { current_run_external_id: 'run-8', current_run_status: 'errored' }),
    workspace('errs-late', { current_run_external_id: 'run-7', current_run_status: 'planned' }),
    workspace('no-status', { current_run_external_id: 'run-6', current_run_status: null }),
    workspace('waits-without-run', { current_run_external_id: null, current_run_status: 'planned' }),
    workspace('errs-without-run', { current_run_external_id: null, current_run_status: 'errored' }),
    workspace('applied-without-run', { current_run_external_id: null, current_run_status: 'applied' }),
    workspace('never-ran', { current_run_external_id: null, current_run_status: null }),
    workspace('grows', { current_rum_count: 100, workspace_created_at: CREATED }),
    workspace('grows-undated', { current_rum_count: 100 }),
    workspace('grows-slowly', { current_rum_count: 1000, workspace_created_at: CREATED }),
    workspace('grew-before', { current_rum_count: 100, workspace_created_at: CREATED }),
    workspace('grows-a-little', { current_rum_count: 10, workspace_created_at: CREATED }),
    workspace('counts-no-more', { current_rum_count: 10, workspace_created_at: CREATED }),
    workspace('is-new', { current_rum_count: 1, workspace_created_at: night(9) }),
    workspace('is-idle', { current_rum_count: 3, current_run_applied_at: EARLIER, drifted: true }),
    workspace('drifted-before', { current_rum_count: 3, current_run_applied_at: EARLIER, drifted: true }),
    workspace('drifts-again', { current_rum_count: 3, current_run_applied_at: EARLIER, drifted: true }),
    workspace('drift-unknown', { current_rum_count: 3, current_run_applied_at: EARLIER, drifted: null }),
    workspace('contradicts', { current_rum_count: 3, current_run_applied_at: EARLIER, resources_drifted: 1 }),
    workspace('was-applied', { current_rum_count: 3, current_run_applied_at: night(1), drifted: true }),
    workspace('never-seen-applied', { current_rum_count: 3, workspace_created_at: CREATED, drifted: true }),
    workspace('is-young', { current_rum_count: 3, workspace_created_at: '2026-10-25T00:00:00Z', drifted: true }),
    workspace('is-empty', { current_rum_count: 0, current_run_applied_at: EARLIER, drifted: true }),
  ];
  const change = (id: string, fields: Rows[number]) => ({ ...FIRST.find((row) => row.external_id === id)!, ...fields });
  const THEN = [
    change('ends', { current_run_status: 'applied' }),
    change('waits', { current_run_status: 'policy_checked' }),
    change('goes-on', { current_run_external_id: 'run-33' }),
    change('errs', { project_name: 'Other' }), // neither its run nor its status
    change('errs-oddly', { current_run_status: 'errored_in_policy' }),
    change('errs-late', { current_run_status: 'errored' }),
    change('errs-again', { current_run_external_id: 'run-55' }),
    change('grows', { current_rum_count: 150 }),
    change('grows-undated', { current_rum_count: 150 }),
    change('grows-slowly', { current_rum_count: 1050 }),
    change('grows-a-little', { current_rum_count: 25 }),
    change('counts-no-more', { current_rum_count: null }),
    change('is-new', { current_rum_count: 90 }),
    // The current run is a plan: the apply before it counts. Drift that is not assessed has not ended.
    change('is-idle', { current_run_applied_at: null, drifted: null }),
    change('drifted-before', { drifted: false }),
    change('drifts-again', { drifted: false }),
  ];
  const LAST = [
    ...FIRST.filter(({ external_id }) => !THEN.some((row) => row.external_id === external_id)),
    ...THEN.filter(({ external_id }) => external_id !== 'is-idle' && external_id !== 'drifts-again'),
    change('is-idle', { current_run_applied_at: null, drifted: true }),
    change('drifts-again', { drifted: true }),
  ];
  let warehouse: FindingsWarehouse;

  beforeAll(async () => {
    warehouse = await createFindingsWarehouse({ cleanup: atEnd });
    await warehouse.pull('2026-10-31T02:15:00Z', 'acme', 'workspaces', {
      workspaces: [workspace('grew-before', { current_rum_count: 10, workspace_created_at: CREATED })],
    });
    await warehouse.pull(night(1), 'acme', 'workspaces', { workspaces: FIRST });
    await warehouse.pull(night(9), 'acme', 'workspaces', {
      workspaces: [...FIRST.filter(({ external_id }) => !THEN.some((row) => row.external_id === external_id)), ...THEN],
    });
    await warehouse.pull(night(10), 'acme', 'workspaces', { workspaces: LAST });
    await warehouse.evaluate(night(10), { thresholds: { idleDriftDays: 5 } });
  });

  test('run-waiting: the same run, not final, since waitingRunDays', async () => {
    expect(await warehouse.seen('run-waiting')).toEqual({
      found: ['errs-oddly', 'waits'],
      unknown: ['no-status', 'waits-without-run'],
    });
    expect((await warehouse.findings('run-waiting')).at(-1)?.title).toBe(
      'Run run-2 of workspace name of waits is policy checked, and was first seen on 2026-11-01',
    );
  });

  test('last-run-not-applied: the same run and status, since notAppliedDays; unknown with a status that is not known', async () => {
    expect(await warehouse.seen('last-run-not-applied')).toEqual({
      found: ['errs'],
      unknown: ['errs-oddly', 'errs-without-run', 'no-status'],
    });
    expect((await warehouse.findings('last-run-not-applied'))[0]?.title).toBe(
      'The last run of workspace name of errs errored on 2026-11-01 or before, and nothing was applied since',
    );
  });

  test('resource-jump: by percent and by number, not the first apply of a new workspace', async () => {
    expect(await warehouse.seen('resource-jump')).toEqual({
      found: ['grows', 'grows-undated'],
      unknown: expect.arrayContaining(['counts-no-more']),
    });
    expect((await warehouse.findings('resource-jump'))[0]).toMatchObject({
      title: 'Workspace name of grows grew from 100 to 150 resources within a week',
      weight: 50,
    });
  });

  test('stale-apply: the last apply that the history knows, where there are resources', async () => {
    const { found, unknown } = await warehouse.seen('stale-apply');
    expect(found).toEqual(['contradicts', 'drift-unknown', 'drifted-before', 'drifts-again', 'is-idle']);
    expect(unknown).toEqual(expect.arrayContaining(['counts-no-more', 'never-seen-applied']));
    expect([...found, ...unknown]).not.toContain('is-empty');
    expect([...found, ...unknown]).not.toContain('was-applied');
  });

  test('idle-resources: stale, drifting, and not empty; drift that is not assessed has not ended', async () => {
    const { found, unknown } = await warehouse.seen('idle-resources');
    expect(found).toEqual(['is-idle']);
    expect(unknown).toEqual(expect.arrayContaining(['contradicts', 'drift-unknown', 'never-seen-applied']));
    for (const id of ['drifted-before', 'drifts-again', 'was-applied', 'is-empty', 'is-young', 'grows'])
      expect(unknown).not.toContain(id);
    expect((await warehouse.findings('idle-resources'))[0]?.title).toBe(
      'Workspace name of is-idle has 3 resources, was last applied on 2026-04-01, and drifts since 2026-11-01',
    );
  });
});

describe('what workspaces say of themselves', () => {
  let warehouse: FindingsWarehouse;
  const all = { all_checks_succeeded: true, checks_unknown: 0, checks_passed: 2 };

  beforeAll(async () => {
    warehouse = await createFindingsWarehouse({ cleanup: atEnd });
    await warehouse.pull(NOW, 'acme', 'workspaces', {
      workspaces: [
        workspace('agrees', { ...all, state_version_iac_version: 'v1.10.0', vcs_repo_identifier: 'acme/core' }),
        workspace('one-failed', {
          ...all,
          checks_failed: 1,
          state_version_iac_version: '1.9.0',
          vcs_repo_identifier: null,
        }),
        workspace('not-told', { ...all, workspace_iac_version: null, state_version_iac_version: '1.9.0' }),
        workspace('none-failed', { ...all, all_checks_succeeded: false, vcs_repo_identifier: 'acme/core' }),
        workspace('no-checks', { ...all, all_checks_succeeded: false, checks_passed: 0, vcs_repo_identifier: 'a/b' }),
        workspace('no-counts', {
          ...all,
          checks_unknown: null,
          vcs_repo_identifier: 'a/b',
          state_version_iac_version: '~> 1.5',
        }),
      ],
    });
    await warehouse.evaluate(NOW);
  });

  test('checks-contradict: all succeeded and one did not, or the other way round', async () => {
    expect(await warehouse.seen('checks-contradict')).toEqual({
      found: ['none-failed', 'one-failed'],
      unknown: ['no-counts'],
    });
  });

  test('version-not-applied: both versions are known and differ, however they are written', async () => {
    expect(await warehouse.seen('version-not-applied')).toEqual({
      found: ['one-failed'],
      unknown: ['no-counts', 'not-told'],
    });
    expect((await warehouse.findings('version-not-applied'))[0]).toMatchObject({
      title: 'Workspace name of one-failed is set to version 1.10.0, and its state was written by 1.9.0',
      group_key: 'version 1.10.0, state 1.9.0',
    });
  });

  test('workspace-without-vcs: no repository, grouped by project', async () => {
    expect(await warehouse.seen('workspace-without-vcs')).toEqual({ found: ['one-failed'], unknown: [] });
    expect((await warehouse.findings('workspace-without-vcs'))[0]?.group_key).toBe('project Core');
  });
});

describe.each(['provider', 'module'])('%s-sprawl', (kind) => {
  const row = (
    name: string,
    version: string | null,
    workspaces: string | null,
    source = `registry/${name}`,
  ): Rows[number] => ({
    name,
    source,
    version,
    workspaces,
  });

  test('names each workspace on an older version, grouped by it', async () => {
    const warehouse = await createFindingsWarehouse();
    const table = `${kind}s`;
    await warehouse.pull(NOW, 'acme', table, {
      [table]: [
        row('aws', '5.10.0', 'a, b'),
        row('aws', '5.9.0', 'c, d'),
        row('aws', '5.2.0', 'd'),
        row('aws', '6.0.0-beta1', 'e'),
        row('aws', '1.0.0', 'z', 'elsewhere/aws'),
        row('random', '3.0.0', 'a, c'),
        row('null', '1.0.0', null),
        { ...row('plain', '1.0.0', 'p,q'), workspace_count: 2 },
        { ...row('comma', '1.0.0', 'r,s, t'), workspace_count: 2 },
        row('plain', '1.1.0', 'a'),
        row('comma', '1.1.0', 'a'),
        row('null', '2.0.0', 'a'),
        row('odd', 'trunk', 'b'),
        row('odd', '0.1.0', 'c'),
        row('unversioned', null, 'a'),
        row('unversioned', '1.0.0', 'b'),
      ],
    });
    await warehouse.pull(NOW, 'other', table, { [table]: [row('random', '2.0.0', 'a')] });
    await warehouse.evaluate(NOW);
    const rows = await warehouse.findings(`${kind}-sprawl`);
    expect(rows.map(({ subject_id, group_key }) => [subject_id, group_key])).toEqual([
      ['b odd registry/odd', 'odd (registry/odd) trunk'],
      ['c aws registry/aws', 'aws (registry/aws) 5.9.0'],
      ['d aws registry/aws', 'aws (registry/aws) 5.2.0'],
      ['p plain registry/plain', 'plain (registry/plain) 1.0.0'],
      ['q plain registry/plain', 'plain (registry/plain) 1.0.0'],
      ['r,s comma registry/comma', 'comma (registry/comma) 1.0.0'],
      ['t comma registry/comma', 'comma (registry/comma) 1.0.0'],
    ]);
    expect(rows[2]).toMatchObject({
      title: `Workspace d uses ${kind} aws 5.2.0, 5.9.0; the newest in use is 5.10.0`,
      detail: { workspace_name: 'd', versions: ['5.2.0', '5.9.0'], newest_version: '5.10.0', versions_in_use: 4 },
      severity: 'info',
    });
  });
});
