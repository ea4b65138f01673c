import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { PACKAGE_ROOT } from '../src/core/paths.ts';
import { plural } from '../src/core/plural.ts';
import { publishToLake } from '../src/lake/publish.ts';
import { createDirectoryStore, type LakeStore } from '../src/lake/store.ts';
import { loadFleetReport } from '../src/tell/reports/definitions.ts';
import { warehouseFiles } from '../src/warehouse/publish.ts';
import { createSqlFiles } from '../src/warehouse/sql-files.ts';
import { openLakeViews } from '../test/helpers/lake-views.ts';
import {
  type Answer,
  answerWithClickhouse,
  answerWithSpark,
  answerWithTrino,
  type FleetQuery,
  timeRounds,
} from './peers/engines.ts';
import { type Bench, median, type Part, type Result, type Size, Skipped, seconds } from './result.ts';
import { changeWarehouse, createProject } from './warehouse.ts';

const ORGANIZATIONS: Readonly<Record<Size, number>> = { quick: 10, usual: 500, large: 500 };
/** Of each organization. */
const WORKSPACES = 2000;
const NIGHTS: Readonly<Record<Size, number>> = { quick: 12, usual: 92, large: 365 };
/** The last nights are published one by one, the others before them at once. */
const PUBLISHED = 8;
const ROUNDS = 3;

export const fleet: Part = {
  name: 'fleet',
  about:
    'every query of the fleet report over a quarter of nights of 500 organizations with a million workspaces, on each engine',
  async measure(bench) {
    const lake = await createLake(bench);
    const duckdb = await answerWithDuckdb(lake);
    bench.log(`DuckDB: ${showAnswers(duckdb)}`);
    const results: Result[] = [describe(duckdb, bench)];
    for (const [engine, answer] of [
      ['ClickHouse', answerWithClickhouse],
      ['Trino', answerWithTrino],
      ['Spark', answerWithSpark],
    ] as const) {
      try {
        const queries = await readQueries();
        const answers = await answer(lake, queries, ROUNDS, bench.folder);
        bench.log(`${engine}: ${showAnswers(answers)}`);
        results.push(...compare(engine, answers, duckdb));
      } catch (error) {
        if (!(error instanceof Skipped)) throw error;
        bench.log(`no ${engine}: ${error.message}`);
      }
    }
    return results;
  },
};

async function readQueries(): Promise<readonly FleetQuery[]> {
  const { summary, datasets } = loadFleetReport(createSqlFiles([PACKAGE_ROOT]));
  return [summary, ...datasets].map(({ name, sql }) => ({ name, sql: sql.trim().replace(/;$/u, '') }));
}

async function answerWithDuckdb(lake: LakeStore): Promise<readonly Answer[]> {
  const queries = await readQueries();
  const texts = queries.map(({ sql }) => sql);
  const database = await openLakeViews(lake, '1GB', texts);
  try {
    const answers: Answer[] = [];
    for (const { name, sql } of queries) {
      answers.push(await timeRounds(name, ROUNDS, async () => (await database.rows(sql)).length));
    }
    return answers;
  } finally {
    database.close();
  }
}

function showAnswers(answers: readonly Answer[]): string {
  return answers.map((answer) => `${answer.name} ${showTimes(times(answer))}`).join(', ');
}

interface Times {
  /** The first round: engines read the logs of the tables, and compile. */
  readonly firstMs: number;
  /** The median of the other rounds. */
  readonly laterMs: number;
}

function times({ roundsMs }: Answer): Times {
  const [firstMs = Number.NaN, ...later] = roundsMs;
  return { firstMs, laterMs: median(later) };
}

function sumTimes(answers: readonly Answer[]): Times {
  const all = answers.map(times);
  const sum = (what: keyof Times) => all.reduce((total, one) => total + one[what], 0);
  return { firstMs: sum('firstMs'), laterMs: sum('laterMs') };
}

const showTimes = ({ firstMs, laterMs }: Times): string => `${seconds(laterMs)}, the first time ${seconds(firstMs)}`;

function describe(duckdb: readonly Answer[], { size }: Bench): Result {
  const sum = sumTimes(duckdb);
  return {
    what: 'all queries together, DuckDB',
    measured: showTimes(sum),
    against: `${duckdb.length} queries, ${(ORGANIZATIONS[size] * WORKSPACES).toLocaleString('en')} workspaces, ${NIGHTS[size]} nights`,
    ratio: sum.laterMs / 1000 / duckdb.length,
  };
}

/** @throws Error if an engine returns another number of rows */
function compare(engine: string, answers: readonly Answer[], duckdb: readonly Answer[]): readonly Result[] {
  const toResult = (what: string, measured: Times, against: Times): Result => ({
    what: `${what}, ${engine}`,
    measured: showTimes(measured),
    against: `${showTimes(against)} for DuckDB`,
    ratio: measured.laterMs / against.laterMs,
  });
  const each = answers.map((answer) => {
    const { name, rows } = answer;
    const other = duckdb.find((one) => one.name === name);
    if (other?.rows !== rows) throw new Error(`${name}: ${engine} returns ${rows} rows, DuckDB ${other?.rows}`);
    return { ...toResult(`${name}, ${plural(rows, 'row')}`, times(answer), times(other)), isDetail: true };
  });
  if (each.length < duckdb.length) throw new Error(`${engine} answered ${each.length} of ${duckdb.length} queries`);
  return [toResult('all queries together', sumTimes(answers), sumTimes(duckdb)), ...each];
}

/** Shared by the parts of a run, as recorded estates are. */
async function createLake({ estates, size, log }: Bench): Promise<LakeStore> {
  const name = `fleet-${size}`;
  const store = createDirectoryStore(join(estates, name, 'lake'));
  if (existsSync(join(estates, name))) return store;
  // The first publish computes the rollups of many nights at once.
  const config = await createProject(estates, name, { memoryLimit: '4GB' });
  const { published } = warehouseFiles(config.data);
  const last = NIGHTS[size];
  for (let night = last - PUBLISHED; night <= last; night++) {
    const isFirst = night === last - PUBLISHED;
    const params = {
      organizations: ORGANIZATIONS[size],
      workspaces: ORGANIZATIONS[size] * WORKSPACES,
      size: WORKSPACES,
      first: nightTime(0).toISOString(),
      from: isFirst ? 0 : night,
      to: night,
      now: nightTime(night).toISOString(),
    };
    const startedMs = performance.now();
    await changeWarehouse(published, isFirst ? [...FIRST, ...EACH] : [...EACH, ...CHANGE], params);
    await publishToLake({ config, store, now: nightTime(night) });
    if (isFirst || night === last) log(`published up to night ${night}: ${seconds(performance.now() - startedMs)}`);
  }
  return store;
}

const nightTime = (night: number): Date => new Date(Date.UTC(2025, 10, 1 + night, 2, 15));

/** The nights from $from to $to: a run, and a pull of each organization. Each fiftieth is not complete in the last night. */
const EACH = [
  `create or replace temp table nights as
  select $first::timestamptz + to_days(n::integer) as night from range($from::bigint, $to::bigint + 1) as t(n)`,
  `insert into runs by name
  select strftime(night, '%Y%m%dT%H%M%SZ') as run_id, 'all' as target, 'nightly' as job, 'complete' as status, night as started_at from nights`,
  `insert into pulls by name
  select strftime(night, '%Y%m%dT%H%M%SZ') as run_id, 'org-' || n as target, source, if(n % 50 = 7 and night = $now::timestamptz, 'failed', 'complete') as status,
    night as started_at, night as as_of
  from nights, range($organizations::bigint) as t(n), unnest(['workspaces', 'agents']) as s(source)`,
];
const WORKSPACE = `'org-' || n // $size::bigint as target, 'ws-' || n as external_id, 'workspace-' || n as workspace_name,
  'project-' || n % 20 as project_name, n % 5 as checks_failed, n % 7 as checks_errored, n % 100 as current_rum_count`;
const FIRST = [
  `insert into workspaces_history by name
  select ${WORKSPACE}, if(n % 11 = 0, null, n % 10 = 0) as drifted, $first::timestamptz as valid_from from range($workspaces::bigint) as t(n)`,
  `insert into agents_history by name
  select 'org-' || n // 10 as target, 'agent-' || n as agent_id, 'pool' as pool_id, if(n % 3 = 0, 'unknown', 'idle') as status, $first::timestamptz as valid_from
  from range($organizations::bigint * 10) as t(n)`,
  `insert into rule_evaluations by name
  select 'org-' || n as target, rule, $first::timestamptz as first_assessed_at, $first::timestamptz as last_assessed_at
  from range($organizations::bigint) as t(n), unnest(['outdated-version', 'drifted-workspace']) as r(rule)`,
  `insert into findings by name
  select 'f' || n as finding_id, 'org-' || n // $size::bigint as target, if(n % 4 = 0, 'drifted-workspace', 'outdated-version') as rule,
    case when n % 4 = 0 then 'critical' when n % 3 = 0 then 'info' else 'warning' end as severity, 'workspace' as subject_type, 'ws-' || n as subject_id,
    'title' as title, if(n % 6 = 0, 'resolved', 'open') as state, $first::timestamptz as first_seen, $first::timestamptz as last_seen, 0 as times_reopened
  from range(0, $workspaces::bigint, 10) as t(n)`,
  `insert into finding_events by name
  select finding_id, target, rule, first_seen as changed_at, state, severity, 'found' as reason from findings`,
];
/** Each fiftieth workspace drifts. */
const CHANGE = [
  `update workspaces_history set valid_to = $now::timestamptz
  where valid_to is null and substr(external_id, 4)::bigint % 50 = $to::bigint % 50`,
  `insert into workspaces_history by name
  select ${WORKSPACE}, true as drifted, $now::timestamptz as valid_from from range($workspaces::bigint) as t(n) where n % 50 = $to::bigint % 50`,
];
