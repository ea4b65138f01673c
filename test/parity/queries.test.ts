import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { PACKAGE_ROOT } from '../../src/core/paths.ts';
import { type Database, openDatabase } from '../../src/warehouse/database.ts';
import { migrate } from '../../src/warehouse/migrate.ts';
import { sqlFiles } from '../../src/warehouse/sql-files.ts';
import { loadTables } from '../../src/warehouse/tables.ts';

const ROOT = join(PACKAGE_ROOT, 'queries');
const files = sqlFiles([PACKAGE_ROOT]);
const tables = await loadTables(files);
const database = await openDatabase(':memory:');
await (await migrate(database, files, tables))();
for (const macro of ['semver_key', 'iso_time']) {
  await database.run(await files.filled(`warehouse/${macro}`, { kind: 'temp macro' }));
}
// Filled and run by every load; here so that what drops it can be prepared.
await database.run('create temp table stage_lists as select 1 as one');
afterAll(() => database.close());

const names = readdirSync(ROOT, { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('.sql'))
  .map((path) => path.replaceAll('\\', '/').slice(0, -'.sql'.length))
  .sort();
const textOf = (name: string) => readFileSync(join(ROOT, `${name}.sql`), 'utf8');
const withoutComments = (sql: string) => sql.replaceAll(/^\s*--.*$/gmu, '').replaceAll(/\s--\s.*$/gmu, '');
const isTemplate = (name: string) => /\{\{\w+\}\}/u.test(withoutComments(textOf(name)));
const whole = names.filter((name) => !isTemplate(name));

/** Some queries start from temporary tables that others make: those are made first, over nothing. */
async function makeTemporaryTables(database: Database): Promise<void> {
  let waiting = whole.filter((name) => /create or replace temp table/iu.test(textOf(name)));
  for (let left = Number.POSITIVE_INFINITY; waiting.length < left; ) {
    left = waiting.length;
    const failed: string[] = [];
    for (const name of waiting) await runOverNothing(database, textOf(name)).catch(() => failed.push(name));
    waiting = failed;
  }
}

/** Parameters are moments, which may be null, or JSON lists, which may be empty. */
async function runOverNothing(database: Database, sql: string): Promise<void> {
  const prepared = await database.connection.prepare(sql);
  const run = async (bind: (index: number) => void) => {
    for (let index = 1; index <= prepared.parameterCount; index++) bind(index);
    await prepared.run();
  };
  await run((index) => prepared.bindVarchar(index, '[]')).catch(() => run((index) => prepared.bindNull(index)));
}

await makeTemporaryTables(database);

test.each(whole)('queries/%s.sql prepares against a migrated warehouse', async (name) => {
  const prepared = await database.connection.prepare(textOf(name));
  expect(prepared.parameterCount).toBeGreaterThanOrEqual(0);
  prepared.destroySync();
});

test.each(names)('queries/%s.sql is one statement', async (name) => {
  const sql = withoutComments(textOf(name)).replace(/;\s*$/u, '');
  expect(sql.replaceAll(/'(?:[^']|'')*'/gu, '')).not.toContain(';');
});

const RECORDS = /^warehouse\/|^tables\//u;

test.each(whole.filter((name) => !RECORDS.test(name)))(
  'queries/%s.sql begins with a comment that says what it yields',
  (name) => {
    expect(textOf(name)).toMatch(/^-- \S/u);
  },
);

test.each(names.filter((name) => /^reports\/|^status\//u.test(name)))(
  'queries/%s.sql shows its rows in an order',
  (name) => {
    const sql = withoutComments(textOf(name));
    const oneRow = !/\bfrom\b/iu.test(sql) || name.endsWith('/summary');
    expect(oneRow || /\border by\b/iu.test(sql)).toBe(true);
  },
);

describe.each([...tables.values()])('the table $name', ({ name, grain, key, source, columns, ddl }) => {
  test('says its grain, and its key where a source fills it', () => {
    expect(grain).not.toBe('');
    if (source !== undefined) expect(key.length).toBeGreaterThan(0);
    const known = columns.map((column) => column.name);
    for (const column of key) expect(known).toContain(column);
  });

  test('declares every column of the DDL, each with a type and a meaning', async () => {
    const declared = ddl.split('\n').filter((line) => /^ {2}\w/u.test(line));
    const history = source === undefined ? 0 : 2;
    expect(columns.length).toBe(declared.length - history);
    for (const { type, comment } of columns) expect([type, comment]).not.toContain('');
  });

  test('has its comments in the warehouse, on the present and on the history', async () => {
    const shown = source === undefined ? [name] : [name, `${name}_history`];
    for (const relation of shown) {
      const rows = await database.rows(
        'select column_name, comment from duckdb_columns() where table_name = $relation order by column_index',
        { relation },
      );
      const bare = rows.filter(({ comment }) => comment === null).map(({ column_name }) => column_name);
      expect(bare.filter((column) => column !== 'valid_from' && column !== 'valid_to')).toEqual([]);
      const [about] = await database.rows(
        `select comment from duckdb_tables() where table_name = $relation
         union all select comment from duckdb_views() where view_name = $relation`,
        { relation },
      );
      expect(about?.comment).toContain(grain);
    }
  });
});
