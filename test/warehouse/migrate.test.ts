import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { PACKAGE_ROOT } from '../../src/core/paths.ts';
import { evaluateFindings } from '../../src/tell/findings/evaluate.ts';
import { type Database, openDatabase } from '../../src/warehouse/database.ts';
import { defineMissing, migrate } from '../../src/warehouse/migrate.ts';
import { warehouseFiles } from '../../src/warehouse/publish.ts';
import { withWarehouse } from '../../src/warehouse/session.ts';
import { createSqlFiles } from '../../src/warehouse/sql-files.ts';
import { mailConfig } from '../helpers/mail-warehouse.ts';
import { openCopy } from '../helpers/prepared.ts';
import { QUIET } from '../helpers/report-warehouse.ts';
import { tempFolder } from '../helpers/temp.ts';

const DECLARED = join(PACKAGE_ROOT, 'queries', 'tables', 'volumes.sql');
let folder: string;
let database: Database;

async function open(create = openDatabase): Promise<void> {
  folder = await tempFolder();
  database = await create(join(folder, 'w.duckdb'));
  onTestFinished(() => database.close());
}

/** Opens a warehouse that was migrated to the package's tables. */
const openMigrated = () => open((file) => openCopy(file));

/** Migrates to the declared tables, with files of `folder` over the package's. */
async function migrateAgain(): Promise<void> {
  const files = createSqlFiles([folder, PACKAGE_ROOT]);
  await migrate(database, files);
}

async function declare(volumes: string): Promise<void> {
  await mkdir(join(folder, 'queries', 'tables'), { recursive: true });
  await writeFile(join(folder, 'queries', 'tables', 'volumes.sql'), volumes);
}

const readComment = async (table: string, column: string) => {
  const sql = 'select comment from duckdb_columns() where table_name = $table and column_name = $column';
  return (await database.rows(sql, { table, column }))[0]?.comment;
};

test('a migration that fails changes nothing, and the next one starts over', async () => {
  await openMigrated();
  const declared = await readFile(DECLARED, 'utf8');
  const shaded = declared.replace('  extra json,', '  shade varchar, -- its colour\n  extra json,');
  await database.run(
    "insert into volumes_history (target, namespace, volume_id, valid_from) values ('acme', 'default', 'v1', '2026-11-01')",
  );
  await declare(`${shaded}\nselect no_such_column;\n`);
  await expect(migrateAgain()).rejects.toThrow('no_such_column');
  await expect(database.rows('select shade from volumes_history')).rejects.toThrow('shade');
  expect(await database.rows("select volume_id from volumes_at('2026-11-02')")).toEqual([{ volume_id: 'v1' }]);
  await declare(shaded);
  await migrateAgain();
  expect(await database.rows('select volume_id, shade from volumes')).toEqual([{ volume_id: 'v1', shade: null }]);
});

test.each([
  ['a varchr, -- a text', '', 'Type with name varchr does not exist'],
  [
    'target varchar, -- a target\n  a varchar, -- a text\n  valid_from timestamptz, -- a time\n  valid_to timestamptz, -- a time',
    '\n-- key: b\n-- source: mine',
    'names b, which is no column',
  ],
])('a table of a user that cannot be made is named', async (columns, header, problem) => {
  await openMigrated();
  await mkdir(join(folder, 'queries', 'tables'), { recursive: true });
  const name = header === '' ? 'mine' : 'mine_history';
  const text = `-- grain: one row per thing${header}\ncreate table if not exists ${name} (\n  ${columns}\n);\n`;
  await writeFile(join(folder, 'queries', 'tables', 'mine.sql'), text);
  await expect(migrateAgain()).rejects.toMatchObject({
    code: 'DATA',
    message: expect.stringMatching(new RegExp(`^queries/tables/mine.sql(?::\\d+)?: .*${problem}`)),
  });
});

test('a new column is added to rows, view and comments', async () => {
  await openMigrated();
  const declared = await readFile(DECLARED, 'utf8');
  await database.run(
    "insert into volumes_history (target, namespace, volume_id, valid_from) values ('acme', 'default', 'v1', '2026-11-01')",
  );
  await declare(declared.replace('  extra json,', '  shade varchar, -- its colour\n  extra json,'));
  await migrateAgain();
  expect(await database.rows('select volume_id, shade from volumes')).toEqual([{ volume_id: 'v1', shade: null }]);
  expect(await readComment('volumes', 'shade')).toBe('its colour');
});

test('unchanged definitions change nothing', async () => {
  await openMigrated();
  await database.run(`comment on column volumes.volume_id is 'mine'`);
  await migrateAgain();
  expect(await readComment('volumes', 'volume_id')).toBe('mine');
});

test('a warehouse of an earlier version keeps its rows, and gets the tables and columns that it lacks', async () => {
  const config = mailConfig(await tempFolder());
  const { work, published } = warehouseFiles(config.data);
  await mkdir(dirname(work), { recursive: true });
  const old = await openDatabase(work);
  await old.connection.run(await readFile(join(import.meta.dirname, 'fixtures', 'warehouse-0.1.0.sql'), 'utf8'));
  await old.connection.run(`
    insert into leaf_certificates_history (target, service, service_uri, valid_from)
    values ('consul', 'api', 'spiffe://x.consul/ns/team/dc/dc1/svc/api', '2026-11-19'), ('consul', 'web', null, '2026-11-19')
  `);
  old.close();

  const asOf = new Date('2026-11-20T02:15:00Z');
  const session = { config, purpose: 'test', now: asOf, log: QUIET };
  const summary = await withWarehouse(session, ({ database: current, files }) =>
    evaluateFindings({ database: current, files, asOf, thresholds: config.thresholds }),
  );
  expect(summary).toMatchObject({ accepted: 1, failed: [] });

  database = await openDatabase(published, { readOnly: true });
  onTestFinished(() => database.close());
  const pulls = 'select distinct run_id, throttle_wait_ms, extracted_at, throttled from pulls order by run_id';
  expect(await database.rows(pulls)).toEqual([
    { run_id: '20261119T021500Z', throttle_wait_ms: 1500, extracted_at: '2026-11-19T02:15:00Z', throttled: 2 },
    { run_id: '20261120T021500Z', throttle_wait_ms: 0, extracted_at: '2026-11-19T23:00:00Z', throttled: 0 },
  ]);
  const evaluations = "select first_assessed_at from rule_evaluations where rule = 'drifted-workspace'";
  expect(await database.rows(evaluations)).toEqual([{ first_assessed_at: '2026-11-19T02:15:00Z' }]);
  const added = "table_name = 'acl_policies_history' and column_name = 'grants'";
  expect(await database.rows(`from duckdb_columns() where ${added}`)).toHaveLength(1);
  expect(await database.rows('select external_id from workspaces order by all')).toHaveLength(2);
  expect(await database.rows("select external_id from workspaces_before('2026-11-21')")).toHaveLength(1);
  expect(await database.rows('select workspaces from tf_versions')).toEqual([{ workspaces: 'ws-1, ws-2' }]);
  expect(await database.rows('select service, namespace from leaf_certificates order by all')).toEqual([
    { service: 'api', namespace: 'team' },
    { service: 'web', namespace: 'default' },
  ]);
});

test('a reader of a warehouse of an earlier version has every macro that it calls', async () => {
  await openMigrated();
  const list = `
    select distinct function_name as name, function_type as type
    from duckdb_functions()
    where not internal
    order by all`;
  const declared = await database.rows(list);
  for (const { name, type } of declared) {
    await database.run(`drop ${type === 'table_macro' ? 'macro table' : 'macro'} ${name}`);
  }
  await database.run('delete from schema_digest');
  await defineMissing([database], createSqlFiles([PACKAGE_ROOT]));
  const defined = new Set((await database.rows(list)).map(({ name }) => name));
  const missing = declared.map(({ name }) => name).filter((name) => !defined.has(name));
  // Of a build that lacks these, a reader says that it is of an earlier version.
  expect(missing).toEqual(['assessed_targets', 'full_source', 'history_reaches', 'read_time']);
});
