import { execFile } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, onTestFinished } from 'vitest';
import type { Engine } from '../../src/core/choices.ts';
import { PACKAGE_ROOT } from '../../src/core/paths.ts';
import { createLakeReader, listLakeRelations } from '../../src/lake/reader.ts';
import type { LakeStore } from '../../src/lake/store.ts';
import { createLakeViews, renderDdl } from '../../src/lake/views.ts';
import { loadFleetReport } from '../../src/tell/reports/definitions.ts';
import { openDatabase } from '../../src/warehouse/database.ts';
import { createSqlFiles, type SqlFiles } from '../../src/warehouse/sql-files.ts';
import { type LakeProject, lakeProject } from './lake-project.ts';
import { tempFolder } from './temp.ts';

const execute = promisify(execFile);
const PROGRAM = join(PACKAGE_ROOT, 'test', 'clients', 'lake', 'read_lake.py');
/** An engine that hangs would outlive its test. */
export const READ_MS = 1_200_000;

/** Times in the history of the lake: in its first night, between two, and after the last one, in another quarter than the first. */
const MOMENTS = ['2026-09-29 02:15:00', '2026-10-01 12:00:00', '2027-01-01 00:00:00'];

/** The tables that `engineLake` fills, beside those that most tests change. */
const FILLED = [
  'acl_policies_history',
  'key_distributions_history',
  'key_versions_history',
  'tf_versions_members',
  'tf_versions_rows',
];

export interface EngineLakeOptions {
  /** A store to publish to, and not the folder. */
  readonly store?: LakeStore;
  /** Without the tables that have no rows. @default false */
  readonly isFilledOnly?: boolean;
}

/** A lake with lists, JSON, large numbers, hostile names, changes over the start of a quarter, and a column that was added. */
export async function engineLake({ store: other, isFilledOnly = false }: EngineLakeOptions = {}): Promise<LakeProject> {
  const project = await lakeProject(isFilledOnly ? { tables: FILLED } : {});
  const store = other ?? project.store;
  const insert = (asOf: string, names: readonly string[], purpose: string) => ({
    sql: `insert into key_distributions_history by name select unnest($names) as target, 'p' as provider_name, 'k' as key_name, 'd' as distributed_name,
      ${purpose} as purpose, '{"1": "a\\"b"}'::json as versions, '{"deep": [1, {"x": null}]}'::json as extra, timestamptz '${asOf}' as valid_from`,
    params: { names },
  });
  const list = (name: string, members: readonly string[], asOf: string) => ({
    sql: `insert into tf_versions_members select 'acme', $name, null, unnest($members), 1, unnest(range(len($members))) * 1.5, timestamptz '${asOf}', null`,
    params: { name, members },
  });
  const pull = (target: string, status: string, asOf: string) =>
    `insert into pulls by name select 'run' as run_id, '${target}' as target, 'workspaces' as source, '${status}' as status, timestamptz '${asOf}' as as_of,
      timestamptz '${asOf}' as started_at, timestamptz '${asOf}' as finished_at`;
  await project.night(
    '2026-09-29T02:15:00Z',
    `insert into workspaces_history by name select target, 'ws-' || i as external_id, 'web' as project_name, 'name-' || i as workspace_name, i % 2 = 0 as drifted,
      i as checks_failed, timestamptz '2026-09-29 02:15:00Z' as valid_from from unnest(['acme', 'beta']) as targets(target), range(3) as range(i)`,
    pull('acme', 'complete', '2026-09-29 02:15:00Z'),
    pull('beta', 'complete', '2026-09-29 02:15:00Z'),
    insert(
      '2026-09-29T02:15:00Z',
      ['001', '2026-10-01', '1e3', `it's "quoted"`, 'a/b', 'ü\u{1f600}', 'true'],
      `['encrypt', null]`,
    ),
    `insert into key_versions_history by name select '001' as target, 'k' as key_name, 9223372036854775807 as version, timestamptz '2026-01-01 00:00:00.123456Z' as creation_time, timestamptz '2026-09-29 02:15:00Z' as valid_from`,
    `insert into tf_versions_rows by name select 'acme' as target, '1.9.8' as version, 3 as workspace_count, 'digest' as workspaces, timestamptz '2026-09-29 02:15:00Z' as valid_from`,
    list('1.9.8', ['zeta', 'alpha', 'it, is'], '2026-09-29T02:15:00Z'),
    `insert into acl_policies_history by name select '001' as target, 'p' as name, 18446744073709551615::ubigint as create_index, timestamptz '2026-09-29 02:15:00Z' as valid_from`,
  );
  await project.publish(store);
  await project.night(
    '2026-10-01T02:15:00Z',
    `update key_distributions_history set valid_to = timestamptz '2026-10-01 02:15:00Z' where target in ('001', 'a/b')`,
    insert('2026-10-01T02:15:00Z', ['001'], 'null'),
    `update tf_versions_members set valid_to = timestamptz '2026-10-01 02:15:00Z' where member = 'alpha'`,
    `update tf_versions_rows set valid_to = timestamptz '2026-10-01 02:15:00Z'`,
    `insert into tf_versions_rows by name select 'acme' as target, '1.9.8' as version, 2 as workspace_count, 'other' as workspaces, timestamptz '2026-10-01 02:15:00Z' as valid_from`,
    `insert into findings by name select 'f' as finding_id, '001' as target, 'r' as rule, 'warning' as severity, 's' as subject_type, 's' as subject_id,
      E'line\\nbreak' as title, '{}'::json as detail, 'new' as state, timestamptz '2026-10-01 02:15:00Z' as first_seen, timestamptz '2026-10-01 02:15:00Z' as last_seen, 0 as times_reopened, 0.1 as weight`,
    `insert into findings by name select 'g' as finding_id, 'acme' as target, 'outdated-version' as rule, 'info' as severity, 'workspace' as subject_type,
      'ws-1' as subject_id, 'title' as title, '{}'::json as detail, 'new' as state, timestamptz '2026-10-01 02:15:00Z' as first_seen,
      timestamptz '2026-10-01 02:15:00Z' as last_seen, 0 as times_reopened, 0.1 as weight`,
    `update workspaces_history set valid_to = timestamptz '2026-10-01 02:15:00Z' where target = 'acme' and external_id = 'ws-1'`,
    `insert into workspaces_history by name select 'acme' as target, 'ws-1' as external_id, 'db' as project_name, 'name-1' as workspace_name, true as drifted,
      0 as checks_failed, timestamptz '2026-10-01 02:15:00Z' as valid_from`,
    pull('acme', 'complete', '2026-10-01 02:15:00Z'),
    pull('beta', 'failed', '2026-10-01 02:15:00Z'),
    'alter table key_versions_history add column added varchar[]',
    `update key_versions_history set added = ['x']`,
  );
  await project.publish(store);
  await project.night(
    '2026-10-02T02:15:00Z',
    `update findings set state = 'resolved', last_seen = timestamptz '2026-10-02 02:15:00Z'`,
  );
  await project.publish(store);
  // Files are put together, and those of the past are apart.
  for (const day of ['03', '04', '05']) {
    const night = `2026-10-${day}T02:15:00Z`;
    await project.night(
      night,
      `update findings set weight = ${day}`,
      pull('beta', 'failed', `2026-10-${day} 02:15:00Z`),
    );
    await project.publish(store);
  }
  return { ...project, store };
}

interface Compared {
  readonly name: string;
  readonly rows: number;
  readonly differing: readonly unknown[];
}

/** Relations whose views every engine reads; the tables of all relations are read as well. */
const VIEWED = [
  'key_distributions',
  'key_versions',
  'tf_versions',
  'acl_policies',
  'findings',
  'runs',
  'workspaces',
  'pulls',
  'rollup_nights',
];

export interface CompareOptions {
  /** For the engine. */
  readonly env?: Readonly<Record<string, string>>;
  /** Each view at every moment, and not at one of them. @default true */
  readonly isComplete?: boolean;
}

/** Reads the lake with an engine of Python, and fails unless it returns the cells that DuckDB returns. */
export async function expectSameCells(
  project: LakeProject,
  python: string,
  engine: string,
  { env = {}, isComplete = true }: CompareOptions = {},
): Promise<void> {
  const folder = await tempFolder(onTestFinished);
  const expected = join(folder, 'expected');
  await mkdir(expected);
  const ddl = join(folder, 'ddl.json');
  const dialect: Engine = engine === 'spark' || engine === 'trino' ? engine : 'clickhouse';
  const options = { engine: dialect, readsTables: engine !== 'chdb', isComplete };
  await writeFile(ddl, JSON.stringify(await prepareExpected(project, expected, options)));
  const words = [PROGRAM, engine, project.store.name, expected, ddl];
  // ClickHouse reads local files only below its working directory.
  const { stdout } = await execute(python, words, {
    cwd: project.folder,
    timeout: READ_MS,
    maxBuffer: 100_000_000,
    env: { ...process.env, ...env },
  });
  const compared = stdout
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as Compared);
  expect(compared.filter(({ differing }) => differing.length > 0)).toEqual([]);
  expect(compared.length).toBeGreaterThan(VIEWED.length);
  expect(compared.reduce((sum, { rows }) => sum + rows, 0)).toBeGreaterThan(20);
}

interface ExpectedOptions {
  readonly engine: Engine;
  /** Also the tables of every relation, which ClickHouse reads through its views only. */
  readonly readsTables: boolean;
  readonly isComplete: boolean;
}

/** Writes what DuckDB reads. @returns the statements for the engine */
async function prepareExpected(
  project: LakeProject,
  folder: string,
  { engine, readsTables, isComplete }: ExpectedOptions,
): Promise<readonly string[]> {
  const database = await openDatabase(':memory:');
  try {
    const reader = createLakeReader({
      store: project.store,
      database,
      files: createSqlFiles([PACKAGE_ROOT]),
      nowMs: 0,
    });
    await createLakeViews(reader, readsTables ? undefined : VIEWED);
    const relations = readsTables ? await listLakeRelations(reader) : [];
    const queries = [
      ...VIEWED.flatMap((relation, place) =>
        viewQueries(relation, (moment) => isComplete || moment === place % MOMENTS.length),
      ),
      ...relations.flatMap(({ name }) => tableQueries(name)),
      ...(await fleetQueries(reader.files)),
    ];
    for (const { name, duckdb } of queries) {
      await database.run(`copy (select columns(c -> c <> 'month') from (${duckdb})) to '${folder}/${name}.parquet'`);
    }
    await writeFile(join(folder, 'queries.json'), JSON.stringify(queries));
    const location = engine === 'trino' ? `file://${project.store.name}` : project.store.name;
    const { statements } = await renderDdl(reader, { engine, location, schema: 'tidemark' });
    const isShort = engine !== 'trino'; // Spark takes seconds for a statement
    const wanted = statements.filter((statement) => !isShort || isWanted(statement.split('\n', 1)[0] ?? ''));
    return wanted.map((statement) => statement.replace(/;$/u, ''));
  } finally {
    database.close();
  }
}

/** Whether a statement is of a relation that is read as a view. */
function isWanted(statement: string): boolean {
  if (/^create (?:schema|database)/u.test(statement)) return true;
  const [, name = ''] = /[`"]([^`"]+)[`"]/u.exec(statement.replace(/[`"]tidemark_internal[`"]\./u, '')) ?? [];
  return isViewed(name.replace(/_(?:changes|history|at)$/u, '')) || name === 'source_state';
}

/** A relation that is read as a view, or the lists of one. */
function isViewed(relation: string): boolean {
  return VIEWED.includes(relation.replace(/_members$/u, ''));
}

/** The queries of `tidemark report fleet`, which every engine takes. */
async function fleetQueries(files: SqlFiles) {
  const { summary, datasets } = loadFleetReport(files);
  return [summary, ...datasets].map(({ name, sql }) => {
    const query = sql.trim().replace(/;$/u, '');
    return { name: `fleet_${name}`, duckdb: query, clickhouse: query, spark: query, trino: query };
  });
}

function viewQueries(relation: string, isRead: (moment: number) => boolean) {
  const all = (from: string) => `select * from ${from}`;
  const every = (name: string, from: string) => ({
    name,
    duckdb: all(from),
    clickhouse: all(from),
    spark: all(from),
    trino: all(from),
  });
  return [
    every(relation, relation),
    every(`${relation}_history`, `${relation}_history`),
    ...[...MOMENTS.entries()]
      .filter(([moment]) => isRead(moment))
      .map(([moment, time]) => ({
        name: `${relation}_at_${moment}`,
        duckdb: all(`${relation}_at('${time}')`),
        clickhouse: all(`${relation}_at(at_time = '${time}')`),
        spark: all(`${relation}_at(timestamp'${time}Z')`),
        trino: `${all(`${relation}_history`)} where valid_from <= timestamp '${time} UTC' and (valid_to is null or valid_to > timestamp '${time} UTC')`,
      })),
  ];
}

function tableQueries(relation: string) {
  const table = `${relation}_changes`;
  return [
    { name: table, table, duckdb: `select * from ${table}` },
    ...MOMENTS.map((time, index) => ({
      name: `${table}_until_${index}`,
      table,
      until: `${time}+00:00`,
      duckdb: `select * from ${table} where as_of <= timestamptz '${time}+00'`,
    })),
  ];
}
