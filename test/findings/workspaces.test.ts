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
        workspace('hostile', { drifted: true, workspace_name: HOSTILE, project_name: HOSTILE }),
        workspace('nameless', { drifted: true, workspace_name: null }),
        workspace('fails', { checks_failed: 1 }),
        workspace('fails-unreported', { checks_failed: null }),
        workspace('errs', { checks_errored: 2 }),
        workspace('errs-unreported', { checks_errored: null }),
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
      unknown: ['not-assessed'],
    });
    expect((await warehouse.findings('drifted-workspace')).map(({ title }) => title)).toEqual([
      'Workspace name of drifts drifts in 3 resources',
      `Workspace ${HOSTILE.replace('\n', ' ')} drifts`,
      'Workspace nameless drifts',
    ]);
  });

  test('failing-checks and errored-checks: their counts are above 0', async () => {
    expect(await warehouse.seen('failing-checks')).toEqual({ found: ['fails'], unknown: ['fails-unreported'] });
    expect(await warehouse.seen('errored-checks')).toEqual({ found: ['errs'], unknown: ['errs-unreported'] });
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
