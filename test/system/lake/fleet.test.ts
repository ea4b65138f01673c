import { beforeAll, describe, expect, test } from 'vitest';
import { cli } from '../../helpers/cli.ts';
import { type LakeProject, lakeProject } from '../../helpers/lake-project.ts';
import { cleanAtEnd } from '../../helpers/temp.ts';

const FIRST = '2026-09-29T02:15:00Z';
const SECOND = '2026-10-08T02:15:00Z';

const atEnd = cleanAtEnd();
let project: LakeProject;
beforeAll(async () => {
  project = await lakeProject({ tables: 'few', cleanup: atEnd });
  const workspaces = (target: string, count: number, from: string) =>
    `insert into workspaces_history by name select '${target}' as target, 'ws-' || i as external_id, 'web' as project_name, 'name-' || i as workspace_name,
      i % 2 = 0 as drifted, i as checks_failed, timestamptz '${from}' as valid_from from range(${count}) as range(i)`;
  const pull = (target: string, status: string, asOf: string, source = 'workspaces') =>
    `insert into pulls by name select strftime(timestamptz '${asOf}', '%Y%m%dT%H%M%SZ') as run_id, '${target}' as target, '${source}' as source, '${status}' as status, timestamptz '${asOf}' as as_of,
      timestamptz '${asOf}' as started_at, timestamptz '${asOf}' as finished_at`;
  await project.night(
    FIRST,
    workspaces('acme', 10, FIRST),
    workspaces(`it's "beta"`.replaceAll("'", "''"), 4, FIRST),
    workspaces('gone', 5, FIRST),
    pull('acme', 'complete', FIRST),
    pull('gone', 'complete', FIRST),
    pull(`it''s "beta"`, 'complete', FIRST),
  );
  await project.publish();
  await project.night(
    SECOND,
    `update workspaces_history set valid_to = timestamptz '${SECOND}' where target = 'acme' and external_id in ('ws-1', 'ws-3')`,
    workspaces('acme', 0, SECOND),
    `insert into workspaces_history by name select 'acme' as target, 'ws-' || i as external_id, 'db' as project_name, 'name-' || i as workspace_name,
      true as drifted, 0 as checks_failed, timestamptz '${SECOND}' as valid_from from unnest([1, 3]) as one(i)`,
    pull('acme', 'complete', SECOND),
    pull(`it''s "beta"`, 'failed', SECOND),
    pull('gone', 'left-out', SECOND),
    pull('vault', 'complete', SECOND, 'keys'),
    `insert into rule_evaluations values ('vault', 'management-role', timestamptz '${FIRST}', timestamptz '${SECOND}')`,
    `insert into finding_events values ('f', 'vault', 'management-role', timestamptz '${SECOND}', 'new', 'critical', 'found', null)`,
    `insert into findings by name select 'f' || i as finding_id, 'acme' as target, 'outdated-version' as rule, 'info' as severity, 'workspace' as subject_type,
      's' || i as subject_id, 'title' as title, '{}'::json as detail, 'open' as state, timestamptz '${SECOND}' as first_seen,
      timestamptz '${SECOND}' as last_seen, 0 as times_reopened, 0.1 as weight from range(3) as range(i)`,
  );
  await project.publish();
});

describe('the report of a fleet', () => {
  test('reads the lake with DuckDB: an organization without a complete pull is stale, and one that is left out is not counted', async () => {
    const { exit, stdout, stderr } = await cli(['report', 'fleet', '--json', '--now', SECOND], { cwd: project.folder });
    expect([exit, stderr]).toEqual([0, '']);
    const data = JSON.parse(stdout);
    expect(data.summary).toMatchObject({
      organizations: 2,
      services: 1,
      critical: 1,
      stale_targets: 1,
      workspaces: 14,
      drifted: 9,
      workspaces_behind: 3,
    });
    expect(data.organizations).toMatchObject([
      { organization: 'acme', night: '2026-10-08', drifted: 7, critical: null },
      { organization: `it's "beta"`, night: '2026-09-29', drifted: 2, stale: 'stale' },
    ]);
    expect(data.organizations).toHaveLength(2);
    expect(data.services).toMatchObject([{ target: 'vault', state: 'critical', critical: 1, stale: '' }]);
    expect(data.trend.at(-1)).toMatchObject({ organizations: 1, critical: 1 });
    expect(data.worst_movers).toMatchObject([{ target: 'acme', measure: 'workspaces_drifted', increase: 2 }]);
  });

  test('refuses other reports beside it', async () => {
    for (const [words, message] of [[['drift'], /no other report/u]] as const) {
      const { exit, stderr } = await cli(['report', 'fleet', ...words], { cwd: project.folder });
      expect([exit, stderr.includes('secret')]).toEqual([2, false]);
      expect(stderr).toMatch(message);
    }
  });
});
