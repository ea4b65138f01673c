import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { PACKAGE_ROOT } from '../../src/core/paths.ts';
import type { RunResult } from '../../src/run/run.ts';
import { EXPLORER_FIELDS } from '../../src/services/platform/explorer.ts';
import { migrate } from '../../src/warehouse/migrate.ts';
import { createSqlFiles } from '../../src/warehouse/sql-files.ts';
import { loadTables, type Table } from '../../src/warehouse/tables.ts';
import { openCopy } from '../helpers/prepared.ts';
import { createStage, mergeFilledStage } from '../helpers/stage.ts';
import { tempFolder } from '../helpers/temp.ts';
import { testProject } from '../helpers/test-project.ts';

/** How rows are identified, and what counts as a change of a row. */

const HEADER = 'name,source,version,workspace_count,workspaces,registry_type\n';
const TEXT_CSV = { 'content-type': 'text/csv; charset=utf-8' };

/** The response to the question how many rows a view has. */
const reportTotal = (count: number) => {
  const body = JSON.stringify({ data: [], meta: { pagination: { 'total-count': count } } });
  return { status: 200, headers: { 'content-type': 'application/vnd.api+json' }, body };
};

/** A platform whose `providers` are these lines. */
async function providersProject(rows: { lines: readonly string[] }) {
  return testProject({
    workspaces: 2,
    faultHook: ({ path, query }, service) => {
      if (!path.includes('/explorer') || query.get('type') !== 'providers') return undefined;
      if (path.endsWith('/export/csv')) {
        return { status: 200, headers: TEXT_CSV, body: `${HEADER}${rows.lines.join('\n')}\n` };
      }
      return query.get('page[size]') === '1' ? reportTotal(rows.lines.length) : service.error(422, 'no pages today');
    },
  });
}

const PRIVATE = 'aws,hashicorp/aws,5.0.0,1,"a",private';
const PUBLIC = 'aws,hashicorp/aws,5.0.0,2,"b, c",public';
const OTHER = 'azurerm,hashicorp/azurerm,4.0.0,1,"a",public';
const pull = ['--source', 'providers'];
const ROWS =
  "select name, ordinal, workspaces, extra ->> 'registry_type' as type from providers order by 1, 2 nulls first";

test('rows with the same key and other values are kept apart, with a note in `pulls`', async () => {
  const project = await providersProject({ lines: [PUBLIC, OTHER, PRIVATE] });
  const result = (await project.pull(pull)).json<RunResult>();
  expect(await project.rows(ROWS)).toEqual([
    { name: 'aws', ordinal: null, workspaces: 'a', type: 'private' },
    { name: 'aws', ordinal: 2, workspaces: 'b, c', type: 'public' },
    { name: 'azurerm', ordinal: null, workspaces: 'a', type: 'public' },
  ]);
  const note =
    'providers: 2 rows have the key name "aws", source "hashicorp/aws", version "5.0.0" and other values: the column ordinal keeps them apart';
  expect(await project.rows('select status, note from pulls')).toEqual([{ status: 'complete', note }]);
  expect(result.pulls.map((outcome) => outcome.note)).toEqual([note]);
});

test('their ordinals do not depend on the order of the listing, and only what changed has a new version', async () => {
  const rows = { lines: [PUBLIC, OTHER, PRIVATE] };
  const project = await providersProject(rows);
  await project.pull(pull);
  rows.lines = [PRIVATE, PUBLIC, OTHER];
  const [same] = (await project.pull(pull)).json<RunResult>().pulls;
  expect(same).toMatchObject({ inserted: 0, changed: 0, deleted: 0 });
  rows.lines = [PRIVATE, PUBLIC.replace('b, c', 'b, c, d'), OTHER];
  const [grown] = (await project.pull(pull)).json<RunResult>().pulls;
  expect(grown).toMatchObject({ inserted: 0, changed: 1, deleted: 0 });
  expect((await project.rows(ROWS)).map(({ workspaces }) => workspaces)).toEqual(['a', 'b, c, d', 'a']);
});

test('a row that is listed twice with the same values is refused', async () => {
  const project = await providersProject({ lines: [PRIVATE, OTHER, PRIVATE] });
  const { stderr } = await project.pull(pull, 3);
  expect(stderr).toContain('2 rows have the key name "aws", source "hashicorp/aws", version "5.0.0"');
});

test('a workspace that is listed twice with contradictory values is refused', async () => {
  const project = await testProject({
    workspaces: 2,
    faultHook: ({ path, query }, service) => {
      if (!path.includes('/explorer') || query.get('type') !== 'workspaces') return undefined;
      if (!path.endsWith('/export/csv')) {
        return query.get('page[size]') === '1' ? reportTotal(2) : service.error(422, 'no pages today');
      }
      const names = Object.keys(EXPLORER_FIELDS.workspaces);
      const line = (drifted: string) => {
        const cells = new Map(Object.entries({ external_id: 'ws-1', drifted }));
        return names.map((name) => cells.get(name) ?? '').join(',');
      };
      const body = `${names.join(',')}\n${line('true')}\n${line('false')}\n`;
      return { status: 200, headers: TEXT_CSV, body };
    },
  });
  const { stderr } = await project.pull(['--source', 'workspaces'], 3);
  expect(stderr).toContain('2 rows have the key external_id "ws-1"');
});

test('a field that the service computes from the clock is kept up to date and makes no version', async () => {
  let days = 90;
  let name = 'root';
  const project = await testProject({
    workspaces: 2,
    faultHook: ({ path }) =>
      path === '/v1/agent/connect/ca/roots'
        ? {
            status: 200,
            headers: { 'content-type': 'application/json' },
            body: JSON.stringify({
              Roots: [
                { ID: 'r1', Name: name, RootCert: 'PEM', IntermediateCerts: null, DaysRemaining: days, Color: 'red' },
              ],
            }),
          }
        : undefined,
  });
  const pullRoots = async () => (await project.pull(['--source', 'ca_roots'])).json<RunResult>().pulls[0];
  const versions = () =>
    project.rows(
      "select name, (extra ->> 'DaysRemaining')::int as days, extra ->> 'Color' as color from ca_roots_history",
    );
  await pullRoots();
  days = 89;
  expect(await pullRoots()).toMatchObject({ inserted: 0, changed: 0, deleted: 0 });
  expect(await versions()).toEqual([{ name: 'root', days: 89, color: 'red' }]);
  days = 88;
  name = 'renamed';
  expect(await pullRoots()).toMatchObject({ inserted: 0, changed: 1, deleted: 0 });
  expect(await versions()).toEqual([
    { name: 'root', days: 89, color: 'red' },
    { name: 'renamed', days: 88, color: 'red' },
  ]);
});

test('one more row of a saved view is one new version: the rows after it only move', async () => {
  let ids = ['ws-1', 'ws-2', 'ws-3'];
  const project = await testProject({
    workspaces: 2,
    faultHook: ({ path }) => {
      const data = path.endsWith('/views')
        ? [{ id: 'sq-1', type: 'explorer-views', attributes: { name: 'v' } }]
        : ids.map((id) => ({ id, type: 'visibility-workspace', attributes: { 'workspace-name': id } }));
      const isOurs = path.endsWith('/views') || path.endsWith('/views/sq-1/results');
      return isOurs
        ? { status: 200, headers: { 'content-type': 'application/vnd.api+json' }, body: JSON.stringify({ data }) }
        : undefined;
    },
  });
  const pullRows = async () => (await project.pull(['--source', 'saved_view_rows'])).json<RunResult>().pulls[0];
  await pullRows();
  ids = ['ws-0', 'ws-1', 'ws-2', 'ws-3'];
  expect(await pullRows()).toMatchObject({ inserted: 1, changed: 0, deleted: 0 });
  expect(await project.rows('select row_id, position from saved_view_rows order by position')).toEqual(
    ids.map((row_id, index) => ({ row_id, position: index + 1 })),
  );
  expect(await project.rows('select count(*)::int as n from saved_view_rows_history')).toEqual([{ n: 4 }]);
});

test('an existing warehouse gets the ordinal without a new version of any row', async () => {
  const database = await openCopy(join(await tempFolder(), 'w.duckdb'));
  onTestFinished(() => database.close());
  const files = createSqlFiles([PACKAGE_ROOT]);
  const tables = await loadTables(files);
  const open = () => migrate(database, files);
  const table = tables.get('providers') as Table;
  const load = async (asOf: string) => {
    await createStage(database, table);
    const row = "'acme' as target, 'aws' as name, 'a/aws' as source, '5.0.0' as version, 'w1, w2' as workspaces";
    await database.run(`insert into stage_providers by name select ${row}`);
    return mergeFilledStage(database, files, table, { target: 'acme', asOf });
  };
  await load('2026-11-01T00:00:00Z');
  // As earlier versions left it.
  await database.run('alter table providers_rows drop column ordinal');
  await database.run('alter table providers_members drop column ordinal');
  await database.run('delete from schema_digest');
  await open();
  expect(await load('2026-11-02T00:00:00Z')).toMatchObject({ inserted: 0, changed: 0, deleted: 0 });
  expect(await database.rows('select workspaces, ordinal from providers')).toEqual([
    { workspaces: 'w1, w2', ordinal: null },
  ]);
});
