import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { PACKAGE_ROOT } from '../../src/core/paths.ts';
import { renderFleetReport } from '../../src/run/fleet.ts';
import { type Database, openDatabase } from '../../src/warehouse/database.ts';
import { createSqlFiles } from '../../src/warehouse/sql-files.ts';
import { tempFolder } from '../helpers/temp.ts';

/** A week of two organizations and a secrets server; `beta` was not pulled in the newest night, and one of its sources failed; `gone` is left out. */
const TABLES = `
  create table rollup_nights (target varchar, project varchar, night date, measure varchar, value double);
  insert into rollup_nights values
    ('acme', 'web', '2026-11-12', 'workspaces', 30), ('acme', 'web', '2026-11-12', 'workspaces_drifted', 1),
    ('acme', null, '2026-11-19', 'agents', 3), ('acme', null, '2026-11-19', 'findings_critical', 0),
    ('acme', 'web', '2026-11-20', 'workspaces', 20), ('acme', 'web', '2026-11-20', 'workspaces_drifted', 4),
    ('acme', 'db', '2026-11-20', 'workspaces', 10), ('acme', 'db', '2026-11-20', 'workspaces_drifted', 2),
    ('acme', null, '2026-11-20', 'findings_critical', 0), ('acme', null, '2026-11-20', 'agents', 3),
    ('beta', 'x', '2026-11-18', 'workspaces', 5), ('beta', 'x', '2026-11-18', 'workspaces_drifted', 0),
    ('beta', null, '2026-11-20', 'agents', 2), ('beta', null, '2026-11-20', 'agents_live', 1),
    ('vault', null, '2026-11-20', 'findings_critical', 2), ('vault', null, '2026-11-20', 'findings_warning', 1),
    ('gone', 'x', '2026-11-02', 'workspaces', 100), ('gone', 'x', '2026-11-12', 'workspaces', 100),
    ('gone', 'x', '2026-11-02', 'workspaces_drifted', 1), ('gone', 'x', '2026-11-12', 'workspaces_drifted', 9),
    ('gone vault', null, '2026-11-02', 'findings_critical', 7);
  create table source_state (target varchar, source varchar, status varchar, as_of timestamptz);
  insert into source_state values
    ('acme', 'workspaces', 'complete', '2026-11-20 02:15:00+00'), ('vault', 'keys', 'complete', '2026-11-20 02:15:00+00'),
    ('beta', 'workspaces', 'failed', '2026-11-18 02:15:00+00');
  create table findings (target varchar, rule varchar, severity varchar, state varchar);
  insert into findings values
    ('acme', 'outdated-version', 'info', 'open'), ('acme', 'outdated-version', 'info', 'new'),
    ('acme', 'outdated-version', 'info', 'resolved'), ('<b>beta', 'drifted-workspace', 'warning', 'open');
`;

async function openTables(tables: string): Promise<Database> {
  const database = await openDatabase(':memory:');
  onTestFinished(() => database.close());
  await database.connection.run(tables);
  return database;
}

const files = createSqlFiles([PACKAGE_ROOT]);

describe('the report of a fleet', () => {
  test('counts each measure as of its last complete pull, and calls a target without the newest night stale', async () => {
    const out = await tempFolder();
    const database = await openTables(TABLES);
    const report = await renderFleetReport({ database, files }, out, new Date('2026-11-20T06:00:00Z'));
    expect(report.files).toEqual(['fleet.html', 'fleet.txt', 'fleet.json']);
    expect(report.data.state).toBe('critical');
    expect(report.data.summary).toMatchObject({
      night: '2026-11-20',
      organizations: 2,
      services: 1,
      stale_targets: 1,
      incomplete_targets: 1,
      workspaces: 35,
      drifted: 6,
      agents: 5,
      live_agents: 1,
      critical: 2,
      workspaces_behind: 2,
      headline: '2 organizations and 1 other service, 2 critical findings, drift in 6 of 35 workspaces, 1 target stale',
    });
    expect(report.data.organizations).toMatchObject([
      {
        organization: 'acme',
        state: 'ok',
        night: '2026-11-20',
        workspaces: 30,
        drifted: 6,
        workspaces_behind: 2,
        live_agents: null,
        stale: '',
      },
      {
        organization: 'beta',
        state: 'unknown',
        night: '2026-11-18',
        workspaces: 5,
        drifted: 0,
        workspaces_behind: null,
        agents: 2,
        stale: 'stale',
      },
    ]);
    expect(report.data.organizations).toHaveLength(2);
    expect(report.data.services).toEqual([
      { target: 'vault', state: 'critical', night: '2026-11-20', critical: 2, warning: 1, stale: '' },
    ]);
    expect(report.data.worst_movers).toEqual([
      {
        target: 'acme',
        measure: 'workspaces_drifted',
        night: '2026-11-20',
        compared_with: '2026-11-12',
        value_before: 1,
        value_now: 6,
        increase: 5,
      },
    ]);
    expect(report.data.stale).toMatchObject([{ target: 'beta', source: 'workspaces', status: 'failed' }]);
    expect(report.data.rules).toMatchObject([
      { rule: 'drifted-workspace', findings: 1, targets: 1 },
      { rule: 'outdated-version', findings: 2, targets: 1 },
    ]);
    expect(report.data.trend).toMatchObject([
      { night: '2026-11-02', organizations: 1, drifted: 1, critical: 7 },
      { night: '2026-11-12', organizations: 2, drifted: 10, critical: null },
      { night: '2026-11-18', organizations: 1, drifted: 0 },
      { night: '2026-11-19', organizations: 1, drifted: null, critical: 0 },
      { night: '2026-11-20', organizations: 2, drifted: 6, critical: 2 },
    ]);
    const page = await readFile(join(out, 'fleet.html'), 'utf8');
    expect(page).toContain('1 target stale');
    expect(page).toContain('<span class="state" data-value="critical">critical</span>');
    expect(page).toMatch(/<li class="figure" data-state="critical">.*<b>2 *<\/b> <span>critical findings/u);
    expect(page).toContain('<span class="tag" data-value="unknown">unknown</span>');
    expect(await readFile(join(out, 'fleet.txt'), 'utf8')).toContain('CRITICAL: 2 organizations and 1 other service');
    expect(page).not.toMatch(/<b>beta|<h2>Sources/u);
    expect(page.match(/Organization<|<td[^>]*>(?:acme|vault)</gu)?.length).toBeGreaterThan(3);
  });

  test('knows no findings where no organization has evaluated any', async () => {
    const database = await openTables(TABLES.replaceAll('findings_', 'unlisted_'));
    const { data } = await renderFleetReport({ database, files }, await tempFolder(), new Date());
    const headline = expect.stringContaining('findings are not known');
    expect(data.summary).toMatchObject({ headline, critical: null, workspaces_behind: 2 }); // that are known all the same
    await database.run('delete from findings');
    const { data: empty } = await renderFleetReport({ database, files }, await tempFolder(), new Date());
    expect(empty.summary).toMatchObject({ critical: null, workspaces_behind: null });
  });

  test('does not know how many workspaces are behind in an organization whose agents alone were pulled', async () => {
    const database = await openTables(TABLES);
    await database.run("delete from rollup_nights where target <> 'acme' or measure like 'workspaces%'");
    await database.run('delete from findings');
    const { data } = await renderFleetReport({ database, files }, await tempFolder(), new Date());
    expect(data.organizations).toMatchObject([{ organization: 'acme', critical: 0, workspaces_behind: null }]);
    expect(data.summary).toMatchObject({ critical: 0, workspaces_behind: null });
  });

  test('calls no target ok of which rules could not be assessed', async () => {
    const database = await openTables(TABLES);
    await database.run("update rollup_nights set value = 0 where target = 'vault'");
    const readStates = async () => {
      const { data } = await renderFleetReport({ database, files }, await tempFolder(), new Date());
      return [data.organizations, data.services].map((rows) => (rows as { state: string }[])[0]?.state);
    };
    expect(await readStates()).toEqual(['ok', 'ok']);
    await database.run(`insert into rollup_nights
      values ('acme', null, '2026-11-20', 'rules_unassessed', 1), ('vault', null, '2026-11-20', 'rules_unassessed', 2)`);
    expect(await readStates()).toEqual(['unknown', 'unknown']);
  });

  test('of a lake without a night is an error', async () => {
    const database = await openTables(TABLES.replaceAll(/insert into rollup_nights[^;]*;/gu, ''));
    await expect(renderFleetReport({ database, files }, await tempFolder(), new Date())).rejects.toMatchObject({
      code: 'DATA',
      message: 'the lake has no night',
    });
  });

  test('names the query that fails', async () => {
    const database = await openTables(TABLES.replaceAll('value double', 'amount double'));
    await expect(renderFleetReport({ database, files }, await tempFolder(), new Date())).rejects.toThrow(
      /^queries\/fleet\/summary\.sql:10: .*"value"/u,
    );
    const own = await tempFolder();
    await mkdir(join(own, 'queries/fleet'), { recursive: true });
    await writeFile(join(own, 'queries/fleet/own.sql'), '-- label: a=A\nselect 1 as a');
    const lake = { database: await openTables(TABLES), files: createSqlFiles([own, PACKAGE_ROOT]) };
    await expect(renderFleetReport(lake, await tempFolder(), new Date())).rejects.toThrow('did you mean labels?');
    await writeFile(join(own, 'queries/fleet/own.sql'), '-- counted: orgnizations\nselect 1 as a');
    const counted = { ...lake, files: createSqlFiles([own, PACKAGE_ROOT]) };
    await expect(renderFleetReport(counted, await tempFolder(), new Date())).rejects.toThrow(
      'did you mean organizations?',
    );
  });
});
