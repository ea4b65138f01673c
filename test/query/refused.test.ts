import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { openQuerySession } from '../../src/ask/query/session.ts';
import { loadConfig } from '../../src/config/config.ts';
import { TidemarkError } from '../../src/core/errors.ts';
import { Redactor } from '../../src/core/redact/redactor.ts';
import { cleanAtEnd } from '../helpers/temp.ts';
import { type TestProject, testProject } from '../helpers/test-project.ts';

const atEnd = cleanAtEnd();
let place: TestProject;
beforeAll(async () => {
  place = await testProject({ workspaces: 5, cleanup: atEnd });
  await place.pull(['--source', 'ca_roots']);
  for (const name of ['secret.csv', 'secret.json', 'secret.txt'])
    await writeFile(join(place.folder, name), 'CANARY\n1\n');
});

const READERS = [
  'glob',
  'parquet_file_metadata',
  'parquet_kv_metadata',
  'parquet_metadata',
  'parquet_scan',
  'parquet_schema',
  'read_blob',
  'read_csv',
  'read_csv_auto',
  'read_duckdb',
  'read_json',
  'read_json_auto',
  'read_json_objects',
  'read_ndjson',
  'read_ndjson_objects',
  'read_parquet',
  'read_text',
  'sniff_csv',
];
const PATHS = [
  'FOLDER/secret.csv',
  '/etc/passwd',
  '/proc/self/environ',
  'http://127.0.0.1:9/x',
  's3://bucket/x.parquet',
];

/** Statements that must do nothing, by what they would do. */
const REFUSED: Readonly<Record<string, readonly string[]>> = {
  'read files and the network': [
    ...READERS.flatMap((reader) => PATHS.map((path) => `select * from ${reader}('${path}')`)),
    `from 'FOLDER/secret.csv'`,
    `from 'FOLDER/secret.json'`,
    `from "FOLDER/secret.csv"`,
    `from 'https://tidemark.test/x.parquet'`,
    `select (select content from read_text('FOLDER/secret.txt'))`,
    `with t as materialized (from read_text('FOLDER/secret.txt')) from t`,
    `from query_table('FOLDER/secret.csv')`,
    `describe from 'FOLDER/secret.csv'`,
    `summarize 'FOLDER/secret.csv'`,
    `explain analyze from read_text('FOLDER/secret.txt')`,
    `pivot 'FOLDER/secret.csv' on CANARY`,
    `select * from read_csv(['FOLDER/secret.csv', 'FOLDER/secret.json'])`,
    `select getenv('HOME')`,
  ],
  'write files': [
    `copy runs to 'FOLDER/stolen.csv'`,
    `copy (select 1) to 'FOLDER/stolen.parquet' (format parquet)`,
    `copy (select 1) to '/dev/stdout'`,
    `copy runs from 'FOLDER/secret.csv'`,
    `export database 'FOLDER/stolen'`,
    `import database 'FOLDER'`,
    `explain analyze copy (select 1) to 'FOLDER/stolen.csv'`,
    `from (copy (select 1) to 'FOLDER/stolen.csv')`,
  ],
  'change data': [
    'insert into runs (run_id) values (1)',
    'insert or replace into runs (run_id) values (1)',
    'update runs set job = 1',
    'delete from pulls',
    'truncate pulls',
    'merge into runs using (select 1 as run_id) as new using (run_id) when not matched then insert (run_id) values (1)',
    'with gone as (delete from pulls returning *) from gone',
    'explain analyze delete from pulls',
  ],
  'change the schema': [
    'create table x as select 1',
    'create temp table x as select 1',
    'create or replace view workspaces as select 1',
    'create temp view workspaces as select 1',
    'create schema x',
    'create sequence x',
    `create type x as enum ('a')`,
    'create macro x() as 1',
    'create temp macro x() as 1',
    'create index x on runs (run_id)',
    `create secret x (type s3, key_id 'a', secret 'b')`,
    `create persistent secret x (type http, bearer_token 'b')`,
    'alter table runs add column x int',
    'alter view workspaces rename to x',
    'drop table runs',
    'drop view workspaces',
    'drop macro workspaces_at',
    'drop schema main',
    `comment on table runs is 'x'`,
  ],
  'change settings and the instance': [
    'set memory_limit = 1',
    `set global memory_limit = '100GB'`,
    `set session threads = 1`,
    'set enable_external_access = true',
    'set lock_configuration = false',
    `set temp_directory = '/tmp/x'`,
    `set allowed_paths = ['/etc/passwd']`,
    `set allowed_directories = ['/']`,
    `set TimeZone = 'Europe/Berlin'`,
    'set variable x = 1',
    'reset memory_limit',
    'reset all',
    `pragma memory_limit = '100GB'`,
    'pragma enable_profiling',
    'pragma disable_optimizer',
    'pragma enable_verification',
    `pragma import_database('FOLDER')`,
    `pragma add_parquet_key('k', '0123456789112345')`,
    `select * from enable_logging('QueryLog')`,
    `select * from enable_logging('QueryLog', storage = 'file', storage_path = 'FOLDER/log')`,
    `select * from "Enable_Logging"('QueryLog')`,
    `select * from system.main.enable_logging /* x */ ('QueryLog')`,
    `select 1 from (select 1), enable_logging()`,
    'from disable_logging()',
    'from truncate_duckdb_logs()',
    'from enable_profiling()',
    'call enable_logging()',
    `select write_log('x')`,
    'from checkpoint()',
    'from force_checkpoint()',
    'checkpoint',
    'force checkpoint',
    'vacuum',
    'analyze',
  ],
  'tell paths, the host or the user': [
    ...[
      'duckdb_databases',
      'duckdb_settings',
      'duckdb_extensions',
      'duckdb_secrets',
      'duckdb_temporary_files',
      'duckdb_logs',
    ].flatMap((name) => [`from ${name}()`, `select (select count(*) from system.main."${name.toUpperCase()}"())`]),
    'from duckdb_databases',
    'from main.pragma_database_list',
    'from pg_catalog.pg_settings',
    'from "PG_Database"',
    'describe duckdb_databases',
    'summarize pragma_database_list',
    'pragma database_list',
    'pragma user_agent',
    `select current_setting('temp_directory')`,
    `select system.main.current_setting('home_directory')`,
    'explain analyze from duckdb_settings()',
    `from query_table('duckdb_settings')`,
    `from histogram('duckdb_settings', 'value')`,
    `from duckdb_profiling_settings()`,
    `select json_serialize_plan('from duckdb_settings()')`,
  ],
  'hide a function from the check': [
    ...['\u200b', '\u2060', '\ufeff', '\u00a0', '\u3000', '\u180e', ' /* ( */ ', ' -- (\n'].flatMap((space) =>
      ["query('select 1')", 'enable_logging()', 'force_checkpoint()', "json_execute_serialized_sql('{}')"].flatMap(
        (call) => [`from ${call.replace('(', `${space}(`)}`, `from ${space}${call}`, `explain${space} from ${call}`],
      ),
    ),
    `select 1 as 😀$x$, (select count(*) from query('select 1')) as b$x$`,
    `select 1 as 😀$x$, (select count(*) from enable_logging()), 2 as b$x$ --$x$`,
    `select '\\', (select 1 from query('select 1')) --'`,
    `select e'\\', (select 1 from query('select 1')) --'`,
    `/* /* */ */ explain analyze from query('select 1')`,
    `-- x\nexplain analyze from query('select 1')`,
    `explain (analyze) from query('select 1')`,
    `explain (select 1 from query('select 1'))`,
    `explain (format json) from enable_logging()`,
    `select 'x'.write_log()`,
    `select * replace ((select 1 from query('select 1')) as n) from (select 1 as n)`,
    `select sum(1) filter (exists (from query('select 1'))) over (partition by (from query('select 1')))`,
    `with recursive t as (select 1 union all from query('select 1')) from t`,
    `pivot (from query('select 1')) on a in (1)`,
    `unpivot (from query('select 1')) on a`,
    `select 1 order by (from query('select 1')) limit (from query('select 1'))`,
    `from range((from query('select 1')))`,
    `from (select 1), lateral (from query('select 1'))`,
    `select [x for x in (from query('select [1]'))]`,
    `describe from query('select 1')`,
    `summarize from query('select 1')`,
    `show (from query('select 1'))`,
    `select 1; from query('select 1')`,
    `select $1::varchar from query('select 1')`,
  ],
  'load code and other databases': [
    `attach 'FOLDER/other.duckdb'`,
    `attach ':memory:' as m`,
    `attach 'http://127.0.0.1:9/x.duckdb' (read_only)`,
    'detach warehouse',
    'use memory',
    'use system',
    'install httpfs',
    'force install httpfs',
    `install spatial from 'http://127.0.0.1:9'`,
    'load icu',
    `load 'FOLDER/x.duckdb_extension'`,
    'update extensions',
  ],
  'run SQL in a text, and more than one statement': [
    `from query('select 1')`,
    `from query('select * from enable_' || 'logging()')`,
    `select * from json_execute_serialized_sql('{}')`,
    `pragma json_execute_serialized_sql('{}')`,
    'from arrow_scan(1::pointer, 1::pointer, 1::pointer)',
    'from arrow_scan_dumb(1::pointer, 1::pointer, 1::pointer)',
    'prepare x as select 1',
    'execute x',
    'deallocate x',
    'select 1; select 2',
    'select 1;; drop view workspaces',
    `select ';' ; set threads = 1`,
    `select 1 /* ; */ ; select 2`,
    'select 1) t; drop view workspaces; --',
    'pragma database_list; select 1',
    'begin',
    'begin; select 1; commit',
    'commit',
    'rollback',
    'call pragma_version()',
    'kill 1',
    '',
    ';',
    '-- only a comment',
    '/* open',
    `select 'open`,
    'selekt 1',
    'from nowhere',
  ],
};

describe.each(Object.entries(REFUSED))('a query cannot %s', (_, statements) => {
  test(`${statements.length} attempts`, async () => {
    const before = await readdir(place.folder);
    const config = loadConfig(join(place.folder, 'tidemark.yaml'), {}, new Redactor());
    const session = await openQuerySession({ config, signal: new AbortController().signal });
    try {
      for (const statement of statements) {
        await expect(run(session, statement.replaceAll('FOLDER', place.folder)), statement).rejects.toThrow(
          TidemarkError,
        );
      }
      // None of them left anything behind that the next query meets.
      expect(await run(session, 'select count(*) as n from ca_roots')).toEqual([{ n: expect.any(Number) }]);
    } finally {
      await session.close();
    }
    expect(await readdir(place.folder)).toEqual(before);
  });
});

test('what is pure, or is known to be harmless, is allowed, in every form of a statement', async () => {
  const config = loadConfig(join(place.folder, 'tidemark.yaml'), {}, new Redactor());
  const session = await openQuerySession({ config, signal: new AbortController().signal });
  for (const statement of ALLOWED) expect(await run(session, statement), statement).toEqual(expect.any(Array));
  expect(await run(session, `select 'query(' as "query(", 1 /* enable_logging() */ as n; -- ; query('x');`)).toEqual([
    { 'query(': 'query(', n: 1 },
  ]);
  await session.close();
});

const ALLOWED = [
  'from ca_roots',
  'from ca_roots;;',
  'from ca_roots ; /* ; */ -- ;',
  `from ca_roots_at('2999-01-01')`,
  `select ';' as a, e'\\';' as b, $$;$$ as c;`,
  'select query from (select 1 as query)',
  'select histogram(i) as h from range(10) t(i)',
  'select uuid() is not null and random() < 2 as ok, now() > today() as later',
  `select semver_key('1.2.3') as k`,
  'from duckdb_columns()',
  'from duckdb_tables',
  'from information_schema.columns',
  `from json_each('{"a": 1}')`,
  'from generate_series(1, 3) a(i), unnest([1, 2]) b(j)',
  'pivot (select 1 as a, 2 as b) on a in (1) using sum(b)',
  'show tables',
  'describe',
  'describe ca_roots',
  'summarize ca_roots',
  'explain from ca_roots;',
  'EXPLAIN ANALYZE select 1',
  'explain (format json) select 1',
  'explain (select 1) union all (select 2)',
  '-- a comment\nexplain select 1',
];

test('the pure functions whose names sound as if they acted or told something are those that were looked at', async () => {
  const config = loadConfig(join(place.folder, 'tidemark.yaml'), {}, new Redactor());
  const session = await openQuerySession({ config, signal: new AbortController().signal });
  const names = (await run(
    session,
    `select distinct function_name as name from duckdb_functions() where internal
    and function_type in ('scalar', 'macro') and coalesce(stability, '') <> 'VOLATILE'
    and regexp_matches(function_name, 'setting|serialize|query|execute|plan|log|file|path|secret|env|user|role|host|inet|addr|sleep|search')
    order by name`,
  )) as { name: string }[];
  await session.close();
  expect(names.map(({ name }) => name).join(' ')).toBe(LOOKED_AT);
});

const LOOKED_AT =
  'current_catalog current_query current_role current_setting current_user in_search_path inet_client_addr inet_client_port inet_server_addr inet_server_port json_deserialize_sql json_extract_path json_extract_path_text json_serialize_plan json_serialize_sql log log10 log2 parse_dirpath parse_duckdb_log_message parse_filename parse_path pg_has_role pg_sleep session_user user';

test('at least 150 attempts', () => {
  expect(Object.values(REFUSED).flat().length).toBeGreaterThanOrEqual(150);
});

async function run(session: Awaited<ReturnType<typeof openQuerySession>>, statement: string): Promise<unknown> {
  const rows: unknown[] = [];
  const query = await session.prepare(statement);
  for await (const part of query.rows()) rows.push(...part);
  return rows;
}
