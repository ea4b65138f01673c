import { describe, expect, it } from 'vitest';
import { createReportWarehouse, workspace } from '../helpers/report-warehouse.ts';

const FIRST = '2026-11-01T02:15:00Z';
const SECOND = '2026-11-02T02:15:00Z';

const on = (id: string, version: string | null) => workspace(id, { workspace_iac_version: version });
const tool = (version: string, count = 1) => ({ version, workspace_count: count, workspaces: 'a' });
const pick = (rows: unknown, field: string) => (rows as Record<string, unknown>[]).map((row) => row[field]);

describe('the version-sprawl report', () => {
  it('uses the highest release by semantic precedence as the newest, never a prerelease', async () => {
    const warehouse = await createReportWarehouse();
    await warehouse.pull(FIRST, {
      tf_versions: ['1.9.8', '1.10.2', '1.11.0-rc1', 'v1.10.1', 'latest'].map((version) => tool(version)),
      workspaces: [on('a', '1.10.2')],
    });
    const { summary, versions } = await warehouse.data('version-sprawl', FIRST, ['versions']);
    expect(summary).toMatchObject({ versions: 5, newest_version: '1.10.2', prereleases: 1 });
    expect(pick(versions, 'version')).toEqual(['1.11.0-rc1', '1.10.2', 'v1.10.1', '1.9.8', 'latest']);
    expect(pick(versions, 'behind')).toEqual(['ahead', 'newest', 'patch', 'minor', null]);
  });

  it('counts lower versions as behind: also prereleases of the newest, but not build metadata or invalid versions', async () => {
    const warehouse = await createReportWarehouse();
    await warehouse.pull(FIRST, {
      tf_versions: [tool('1.10.2')],
      workspaces: [
        on('same', '1.10.2'),
        on('build', '1.10.2+ent'),
        on('v', 'v1.10.2'),
        on('rc', '1.10.2-rc1'),
        on('patch', '1.10.1'),
        on('minor', '1.9.9'),
        on('major', '0.15.5'),
        on('ahead', '1.11.0-alpha'),
        on('constraint', '~> 1.9.0'),
        on('none', null),
      ],
    });
    const data = await warehouse.data('version-sprawl', FIRST, ['behind', 'not_comparable']);
    expect(data.summary).toMatchObject({
      workspaces_behind: 4,
      behind_major: 1,
      behind_minor: 1,
      behind_patch: 2,
      workspaces_on_prereleases: 2,
      not_comparable: 2,
    });
    expect(data.behind).toMatchObject([
      { workspace_name: 'major', behind: 'major', by: 1 },
      { workspace_name: 'minor', behind: 'minor', by: 1 },
      { workspace_name: 'patch', behind: 'patch', by: 1 },
      { workspace_name: 'rc', behind: 'prerelease', by: null },
    ]);
    expect(pick(data.not_comparable, 'workspace_name')).toEqual(['none', 'constraint']);
  });

  it.each([
    [
      { tf_versions: [], workspaces: [on('a', null)] },
      'No version of Terraform or OpenTofu is known to be in use; the version of 1 workspace is not known',
    ],
    [{ tf_versions: [tool('1.11.0-rc1')], workspaces: [on('a', '1.11.0-rc1')] }, '1 version in use'],
    [{ tf_versions: [tool('1.10.2')], workspaces: [] }, '1 version in use'],
    [
      { tf_versions: [tool('1.10.2')], workspaces: [on('a', '1.10.2')] },
      '0 of 1 workspace is older than 1.10.2; 1 version in use',
    ],
  ])('says how many workspaces are older only where there is a release to compare with', async (rows, said) => {
    const warehouse = await createReportWarehouse();
    await warehouse.pull(FIRST, rows);
    expect((await warehouse.data('version-sprawl', FIRST, [])).summary.headline).toBe(said);
  });

  it('finds the newest version of all targets', async () => {
    const warehouse = await createReportWarehouse();
    await warehouse.pull(FIRST, { tf_versions: [tool('1.9.0')], workspaces: [on('a', '1.9.0')] }, 'east');
    await warehouse.pull(
      FIRST,
      { tf_versions: [tool('1.9.0'), tool('1.10.0')], workspaces: [on('a', '1.10.0')] },
      'west',
    );
    const { summary } = await warehouse.data('version-sprawl', FIRST, []);
    expect(summary).toMatchObject({ versions: 2, newest_version: '1.10.0', workspaces: 2, workspaces_behind: 1 });
  });

  it('lists providers in several versions with the oldest, the newest, and the workspaces on the oldest', async () => {
    const warehouse = await createReportWarehouse();
    const provider = (name: string, version: string, workspaces: string) => ({
      name,
      source: `registry.example/acme/${name}`,
      version,
      workspace_count: workspaces.split(',').length,
      workspaces,
    });
    await warehouse.pull(FIRST, {
      providers: [
        provider('aws', '5.10.0', 'a, b'),
        provider('aws', '5.9.0', 'e, d, c, f'),
        provider('aws', '5.10.0-beta1', 'g'),
        provider('null', '3.2.0', 'a'),
      ],
      modules: [provider('vpc', '1.0.0', 'a')],
    });
    const { summary, providers_spread, modules_spread } = await warehouse.data('version-sprawl', FIRST, [
      'providers_spread',
      'modules_spread',
    ]);
    expect(summary).toMatchObject({
      providers: 2,
      provider_versions: 4,
      modules: 1,
      module_versions: 1,
      providers_spread: 1,
    });
    expect(providers_spread).toMatchObject([
      {
        name: 'aws',
        versions: 3,
        oldest: '5.9.0',
        newest: '5.10.0',
        workspaces: 7,
        on_oldest: 4,
        held_by: 'c, d, e and 1 more',
      },
    ]);
    expect(modules_spread).toEqual([]);
  });

  it('has shares that are no more than 100 percent together, so that their chart ends there', async () => {
    const warehouse = await createReportWarehouse();
    const versions = ['1.8.0', '1.9.0', '1.10.0', '1.10.0', '1.10.0', '1.10.0'];
    await warehouse.pull(FIRST, {
      tf_versions: [],
      workspaces: versions.map((version, index) => on(`w${index}`, version)),
    });
    const { version_trend } = await warehouse.data('version-sprawl', FIRST, ['version_trend']);
    expect(pick(version_trend, 'share_percent')).toEqual([16.6, 16.6, 66.6]);
  });

  it('has a trend of workspaces per version', async () => {
    const warehouse = await createReportWarehouse();
    await warehouse.pull(FIRST, { tf_versions: [tool('1.9.0')], workspaces: [on('a', '1.9.0'), on('b', '1.9.0')] });
    await warehouse.pull(SECOND, {
      tf_versions: [tool('1.9.0'), tool('1.10.0')],
      workspaces: [on('a', '1.9.0'), on('b', '1.10.0')],
    });
    const data = await warehouse.data('version-sprawl', SECOND, ['version_trend', 'behind']);
    expect(data.version_trend).toEqual([
      { as_of: SECOND, version: '1.9.0', workspaces: 1, share_percent: 50 },
      { as_of: SECOND, version: '1.10.0', workspaces: 1, share_percent: 50 },
      { as_of: FIRST, version: '1.9.0', workspaces: 2, share_percent: 100 },
      { as_of: FIRST, version: '1.10.0', workspaces: 0, share_percent: 0 },
    ]);
    expect(data.behind).toMatchObject([{ workspace_name: 'a', since: FIRST }]);
    expect(data.summary).toMatchObject({
      versions_before: 1,
      newest_version_before: '1.9.0',
      workspaces_behind_before: 0,
    });
  });

  it('has no newest version where there is no release', async () => {
    const warehouse = await createReportWarehouse();
    await warehouse.pull(FIRST, { tf_versions: [tool('1.0.0-rc1')], workspaces: [on('a', '1.0.0-rc1')] });
    expect((await warehouse.data('version-sprawl', FIRST, [])).summary).toMatchObject({
      newest_version: null,
      workspaces_behind: null,
    });
  });
});
