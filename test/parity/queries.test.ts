import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { PACKAGE_ROOT } from '../../src/core/paths.ts';
import { operations } from '../../src/services/index.ts';
import { renderRuleMacros } from '../../src/tell/findings/rules.ts';
import { selectSubjects } from '../../src/tell/reports/subjects.ts';
import { type Database, openDatabase } from '../../src/warehouse/database.ts';
import { migrate } from '../../src/warehouse/migrate.ts';
import { createSqlFiles } from '../../src/warehouse/sql-files.ts';
import { loadTables } from '../../src/warehouse/tables.ts';

const ROOT = join(PACKAGE_ROOT, 'queries');
const files = createSqlFiles([PACKAGE_ROOT]);
const tables = await loadTables(files);
const database = await openDatabase(':memory:');
await migrate(database, files);
await database.script(renderRuleMacros(files).join('\n'));
// Every load creates this table; here it lets the statements prepare that drop it.
await database.run('create temp table stage_lists as select 1 as one');
// Views of a lake, and what a publish is about to write.
await database.run('create temp table lake_runs_changes as select 1::bigint as publish, now() as as_of');
await database.run('create temp table lake_pulls as select *, 1::bigint as publish from pulls');
await database.run(
  'create temp table rollup_nights as select null::varchar as target, null::varchar as project, current_date as night, null::varchar as measure, 1.0::double as value',
);
await database.run("create temp table lake_pending as select 'insert' as op, now() as as_of");
await database.run('create temp table lake_seen_runs as select 1::bigint as publish');
await database.run('create temp table difference as select *, {a: 1} as action from changes limit 0');
// A union of the kinds of subjects, which other statements read.
await selectSubjects({ database, files, asOf: new Date(0) }, { limit: 0 });
afterAll(() => database.close());

const names = readdirSync(ROOT, { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('.sql'))
  .map((path) => path.replaceAll('\\', '/').slice(0, -'.sql'.length))
  .sort();
const readQuery = (name: string) => readFileSync(join(ROOT, `${name}.sql`), 'utf8');
const withoutComments = (sql: string) => sql.replaceAll(/^\s*--.*$/gmu, '').replaceAll(/\s--\s.*$/gmu, '');
const isTemplate = (name: string) => /\{\{\w+\}\}/u.test(withoutComments(readQuery(name)));
const statements = names.filter((name) => !isTemplate(name));

const tableFiles = names.filter((name) => name.startsWith('tables/'));
const tableIn = (file: string) => tables.get(file.slice('tables/'.length))!;

const RELATION_COMMENTS = `
  select table_name as relation, comment from duckdb_tables()
  union all
  select view_name, comment from duckdb_views()`;
const UNCOMMENTED_COLUMNS = `
  select table_name as relation, column_name as "column" from duckdb_columns()
  where comment is null and not internal and column_name not in ('valid_from', 'valid_to')
  order by column_index`;

/** Some queries read temporary tables that other queries create: creates those first, without rows. */
async function createTemporaryTables(database: Database): Promise<void> {
  let waiting = statements.filter((name) => /create or replace temp (?:table|macro)/iu.test(readQuery(name)));
  for (let left = Number.POSITIVE_INFINITY; waiting.length < left; ) {
    left = waiting.length;
    const failed: string[] = [];
    for (const name of waiting) await runWithoutRows(database, readQuery(name)).catch(() => failed.push(name));
    waiting = failed;
  }
}

/** Parameters are timestamps, which may be null, or JSON lists, which may be empty. */
async function runWithoutRows(database: Database, sql: string): Promise<void> {
  const prepared = await database.connection.prepare(sql);
  const run = async (bind: (index: number) => void) => {
    for (let index = 1; index <= prepared.parameterCount; index++) bind(index);
    await prepared.run();
  };
  await run((index) => prepared.bindVarchar(index, '[]')).catch(() => run((index) => prepared.bindNull(index)));
}

await createTemporaryTables(database);

/** The files for which `check` fails, each with its error. */
async function failingFiles(checked: readonly string[], check: (name: string) => unknown): Promise<readonly string[]> {
  const failing: string[] = [];
  for (const name of checked) {
    try {
      await check(name);
    } catch (error) {
      failing.push(`queries/${name}.sql: ${(error as Error).message}`);
    }
  }
  return failing;
}

function assert(condition: boolean, message: string): void {
  if (!condition) throw new Error(message);
}

test('every statement prepares against a migrated warehouse', async () => {
  const failing = await failingFiles(statements, async (name) => {
    const prepared = await database.connection.prepare(readQuery(name));
    prepared.destroySync();
  });
  expect(failing).toEqual([]);
});

test('every file holds one statement', async () => {
  const failing = await failingFiles(names, (name) => {
    const sql = withoutComments(readQuery(name)).replace(/;\s*$/u, '');
    assert(!sql.replaceAll(/'(?:[^']|'')*'/gu, '').includes(';'), 'more than one statement');
  });
  expect(failing).toEqual([]);
});

test('every file begins with a comment that says what it is', async () => {
  const failing = await failingFiles(names, (name) =>
    assert(/^-- \S/u.test(readQuery(name)), 'no comment in the first line'),
  );
  expect(failing).toEqual([]);
});

test('everything that a report shows has an order', async () => {
  const shown = names.filter((name) => /^reports\/|^status\//u.test(name));
  const failing = await failingFiles(shown, (name) => {
    if (/^-- grain: one row$/mu.test(readQuery(name))) return;
    const sql = withoutComments(readQuery(name));
    assert(!/\bfrom\b/iu.test(sql) || /\border by\b/iu.test(sql), 'no `order by`, and no `-- grain: one row`');
  });
  expect(failing).toEqual([]);
});

test('every table declares its grain, and its key where a source fills it', async () => {
  const failing = await failingFiles(tableFiles, (name) => {
    const { grain, key, source, columns } = tableIn(name);
    assert(grain !== '', 'no `-- grain:`');
    assert(source === undefined || key.length > 0, 'no `-- key:`');
    const known = new Set(columns.map((column) => column.name));
    const unknown = key.filter((column) => !known.has(column));
    assert(unknown.length === 0, `the key names ${unknown.join(', ')}, which is not a column`);
  });
  expect(failing).toEqual([]);
});

test('what a table declares about its changes names its columns', async () => {
  const failing = await failingFiles(tableFiles, (file) => {
    const { columns, changes } = tableIn(file);
    const { name, instance, place, renewed, encoded } = changes;
    const known = new Set(['*', ...columns.map((column) => column.name)]);
    const named = [name, instance, ...place, ...renewed, ...encoded].flatMap((column) => column ?? []);
    const unknown = named.filter((column) => !known.has(column.replace(/^extra\..*/u, 'extra')));
    assert(unknown.length === 0, `${unknown.join(', ')} is no column`);
    const wrong = changes.acted.filter(({ operation, params }) => !isOperation(operation, params));
    assert(wrong.length === 0, `no operations with these parameters: ${JSON.stringify(wrong)}`);
  });
  expect(failing).toEqual([]);
});

/** Whether operations begin with the name, and one of them has each parameter. */
function isOperation(name: string, params: readonly string[]): boolean {
  const found = [...operations.values()].filter((operation) => operation.name.startsWith(`${name}.`));
  return found.length > 0 && params.every((param) => found.some((operation) => param in operation.params));
}

test('every column has a type and a comment', async () => {
  const failing = await failingFiles(tableFiles, (name) => {
    const { ddl, source, columns } = tableIn(name);
    const declared = ddl.split('\n').filter((line) => /^ {2}\w/u.test(line)).length - (source === undefined ? 0 : 2);
    assert(columns.length === declared, 'a column without a comment (`  name type, -- comment`)');
    const bare = columns.filter(({ type, comment }) => type === '' || comment === '').map((column) => column.name);
    assert(bare.length === 0, `no type or comment: ${bare.join(', ')}`);
  });
  expect(failing).toEqual([]);
});

test('the warehouse shows the comments of tables, views and columns', async () => {
  const comments = new Map(
    (await database.rows(RELATION_COMMENTS)).map(({ relation, comment }) => [String(relation), String(comment)]),
  );
  const uncommented = new Map<string, string[]>();
  for (const { relation, column } of await database.rows(UNCOMMENTED_COLUMNS)) {
    uncommented.set(String(relation), [...(uncommented.get(String(relation)) ?? []), String(column)]);
  }
  const failing = await failingFiles(tableFiles, (file) => {
    const { name, grain, source } = tableIn(file);
    for (const relation of source === undefined ? [name] : [name, `${name}_history`]) {
      assert(comments.get(relation)?.includes(grain) ?? false, `${relation} does not show the grain`);
      assert(!uncommented.has(relation), `${relation} has no comment on ${uncommented.get(relation)?.join(', ')}`);
    }
  });
  expect(failing).toEqual([]);
});
