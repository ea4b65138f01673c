import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { loadConfig } from '../../src/config/config.ts';
import { TidemarkError } from '../../src/core/errors.ts';
import { Redactor } from '../../src/core/redact/redactor.ts';
import { QuerySession } from '../../src/query/session.ts';
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
    const session = await QuerySession.open({ config, signal: new AbortController().signal });
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

test('at least 150 attempts', () => {
  expect(Object.values(REFUSED).flat().length).toBeGreaterThanOrEqual(150);
});

async function run(session: QuerySession, statement: string): Promise<unknown> {
  const rows: unknown[] = [];
  for await (const part of session.rows(await session.prepare(statement))) rows.push(...part);
  return rows;
}
