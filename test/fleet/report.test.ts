import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { PACKAGE_ROOT } from '../../src/core/paths.ts';
import type { FleetEngine } from '../../src/fleet/engine.ts';
import { renderFleetReport } from '../../src/fleet/report.ts';
import { openDatabase } from '../../src/warehouse/database.ts';
import { createSqlFiles } from '../../src/warehouse/sql-files.ts';
import { tempFolder } from '../helpers/temp.ts';

/** A week of two organizations; `beta` was not pulled in the newest night, and one of its sources failed. */
const TABLES = `
  create table rollup_nights (target varchar, project varchar, night date, measure varchar, value double);
  insert into rollup_nights values
    ('acme', 'web', '2026-11-12', 'workspaces', 30), ('acme', 'web', '2026-11-12', 'workspaces_drifted', 1),
    ('acme', 'web', '2026-11-20', 'workspaces', 20), ('acme', 'web', '2026-11-20', 'workspaces_drifted', 4),
    ('acme', 'db', '2026-11-20', 'workspaces', 10), ('acme', 'db', '2026-11-20', 'workspaces_drifted', 2),
    ('acme', null, '2026-11-20', 'findings_critical', 0), ('acme', null, '2026-11-20', 'agents', 3),
    ('beta', 'x', '2026-11-18', 'workspaces', 5), ('beta', 'x', '2026-11-18', 'workspaces_drifted', 0),
    ('beta', null, '2026-11-20', 'agents', 2), ('beta', null, '2026-11-20', 'agents_live', 1);
  create table source_state (target varchar, source varchar, status varchar, as_of timestamptz);
  insert into source_state values
    ('acme', 'workspaces', 'complete', '2026-11-20 02:15:00+00'), ('beta', 'workspaces', 'failed', '2026-11-18 02:15:00+00');
  create table findings (target varchar, rule varchar, severity varchar, state varchar);
  insert into findings values
    ('acme', 'outdated-version', 'info', 'open'), ('acme', 'outdated-version', 'info', 'new'),
    ('acme', 'outdated-version', 'info', 'resolved'), ('<b>beta', 'drifted-workspace', 'warning', 'open');
`;

async function openTables(tables: string): Promise<FleetEngine> {
  const database = await openDatabase(':memory:');
  onTestFinished(() => database.close());
  await database.connection.run("set TimeZone = 'UTC'");
  await database.connection.run(tables);
  return { dialect: 'duckdb', rows: (sql) => database.rows(sql), close: async () => {} };
}

const files = createSqlFiles([PACKAGE_ROOT]);

describe('the report of a fleet', () => {
  test('counts each measure as of its last complete pull, and calls an organization without the newest night stale', async () => {
    const out = await tempFolder();
    const engine = await openTables(TABLES);
    const report = await renderFleetReport({ engine, files, out, generatedAt: new Date('2026-11-20T06:00:00Z') });
    expect(report.files).toEqual(['fleet.html', 'fleet.txt', 'fleet.json']);
    expect(report.data.state).toBe('unknown');
    expect(report.data.summary).toMatchObject({
      night: '2026-11-20',
      organizations: 2,
      stale_organizations: 1,
      incomplete_organizations: 1,
      workspaces: 35,
      drifted: 6,
      agents: 5,
      live_agents: 1,
      behind: 2,
      headline: '2 organizations, 0 critical findings, drift in 6 of 35 workspaces, 1 organization stale',
    });
    expect(report.data.organizations).toMatchObject([
      { organization: 'acme', night: '2026-11-20', workspaces: 30, drifted: 6, live_agents: null, stale: '' },
      { organization: 'beta', night: '2026-11-18', workspaces: 5, drifted: 0, agents: 2, stale: 'stale' },
    ]);
    expect(report.data.worst_movers).toEqual([
      {
        organization: 'acme',
        measure: 'workspaces_drifted',
        night: '2026-11-20',
        compared_with: '2026-11-12',
        value_before: 1,
        value_now: 6,
        increase: 5,
      },
    ]);
    expect(report.data.stale).toMatchObject([{ organization: 'beta', source: 'workspaces', status: 'failed' }]);
    expect(report.data.rules).toMatchObject([
      { rule: 'drifted-workspace', findings: 1, organizations: 1 },
      { rule: 'outdated-version', findings: 2, organizations: 1 },
    ]);
    expect(report.data.trend).toMatchObject([
      { night: '2026-11-12', organizations: 1, drifted: 1 },
      { night: '2026-11-18', organizations: 1, drifted: 0 },
      { night: '2026-11-20', organizations: 2, drifted: 6 },
    ]);
    const page = await readFile(join(out, 'fleet.html'), 'utf8');
    expect(page).toContain('1 organization stale');
    expect(page).not.toContain('<b>beta');
    expect(page.match(/Organization<|<td[^>]*>acme</gu)?.length).toBeGreaterThan(2);
  });

  test('knows no findings where no organization has evaluated any', async () => {
    const engine = await openTables(TABLES.replace("('acme', null, '2026-11-20', 'findings_critical', 0), ", ''));
    const { data } = await renderFleetReport({ engine, files, out: await tempFolder(), generatedAt: new Date() });
    expect(data.summary).toMatchObject({ critical: null });
    expect(data.summary.headline).toContain('findings are not known');
  });

  test('of a lake without a night is an error', async () => {
    const engine = await openTables(TABLES.replaceAll(/insert into rollup_nights[^;]*;/gu, ''));
    await expect(
      renderFleetReport({ engine, files, out: await tempFolder(), generatedAt: new Date() }),
    ).rejects.toMatchObject({ code: 'DATA', message: 'the lake has no night' });
  });

  test('names the query that an engine refuses', async () => {
    const engine = await openTables(TABLES.replaceAll('value double', 'amount double'));
    await expect(
      renderFleetReport({ engine, files, out: await tempFolder(), generatedAt: new Date() }),
    ).rejects.toThrow(/^queries\/fleet\/summary\.sql: duckdb: .*"value"/u);
  });
});
