import { join } from 'node:path';
import { publishToLake } from '../src/lake/publish.ts';
import { restoreFromLake } from '../src/lake/restore.ts';
import { createDirectoryStore } from '../src/lake/store.ts';
import { type Database, openDatabase } from '../src/warehouse/database.ts';
import { warehouseFiles } from '../src/warehouse/publish.ts';
import { quoteIdent } from '../src/warehouse/sql-files.ts';
import { median, type Part, type Result, seconds } from './result.ts';
import { changeWarehouse, createProject } from './warehouse.ts';

const NIGHTS = 365;
const QUICK_NIGHTS = 10;
const WORKSPACES = 10_000;
/** 2 % of the workspaces change in a night. */
const CHANGED = 50;
const LAST = 9;
const SILENT = { debug() {}, info() {}, warn() {}, error() {} };

/** CPU time of this process in milliseconds: on a busy machine, time says little. */
const cpuMs = (): number => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
};

export const lake: Part = {
  name: 'lake',
  about: `a year of nights of ${WORKSPACES.toLocaleString('en')} workspaces, 2 % changing, published night by night`,
  async measure({ folder, log, size }) {
    const nights = size === 'quick' ? QUICK_NIGHTS : NIGHTS;
    const config = await createProject(folder, 'original');
    const store = createDirectoryStore(join(folder, 'lake'));
    const { published } = warehouseFiles(config.data);
    const taken: number[] = [];
    for (let night = 0; night < nights; night++) {
      await addNight(published, night);
      const begunMs = cpuMs();
      await publishToLake({ config, store, now: nightTime(night) });
      taken.push(cpuMs() - begunMs);
      if (night % 73 === 0) log(`night ${night}: ${seconds(taken.at(-1) ?? 0)} of CPU time`);
    }
    const restored = await createProject(folder, 'restored', { hasWarehouse: false });
    await restoreFromLake({ config: restored, store, now: nightTime(nights), log: SILENT });
    const differing = await countDifferences(published, warehouseFiles(restored.data).published);
    if (differing > 0) throw new Error(`the restored warehouse differs in ${differing} rows`);
    const files = (await store.list('')).filter(({ path }) => !path.startsWith('_'));
    return results(taken, nights, files);
  },
};

function results(
  taken: readonly number[],
  nights: number,
  files: readonly { readonly bytes: number; readonly path: string }[],
): readonly Result[] {
  const last = median(taken.slice(-LAST));
  const first = taken[0] ?? Number.NaN;
  const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
  const data = files.filter(({ path }) => !path.includes('/_delta_log/'));
  return [
    {
      what: `the last of ${nights} publishes, CPU time; the restored warehouse equals the original`,
      measured: seconds(last),
      against: `${seconds(first)} for the first`,
      ratio: last / first,
      aim: 1.2,
    },
    {
      what: 'the lake after them',
      measured: `${(bytes / 1_000_000).toFixed(1)} MB in ${files.length} files, ${data.length} of them data`,
      against: `${nights} nights`,
      ratio: files.length / nights,
    },
  ];
}

const nightTime = (night: number): Date => new Date(Date.UTC(2025, 9, 1 + night, 2, 15));

/** A run that changes each fiftieth workspace, with its pull, its findings and their events. */
async function addNight(file: string, night: number): Promise<void> {
  const params = {
    now: nightTime(night).toISOString(),
    night,
    workspaces: WORKSPACES,
    changed: CHANGED,
    part: night % CHANGED,
  };
  await changeWarehouse(file, night === 0 ? [RUN, PULL, FIRST, FINDINGS] : [RUN, PULL, END, CHANGE, SEEN], params);
}

const RUN = `insert into runs by name
  select strftime($now::timestamptz, '%Y%m%dT%H%M%SZ') as run_id, 'acme' as target, 'nightly' as job, 'complete' as status, $now::timestamptz as started_at`;
const PULL = `insert into pulls by name
  select strftime($now::timestamptz, '%Y%m%dT%H%M%SZ') as run_id, 'acme' as target, 'workspaces' as source, 'complete' as status,
    $now::timestamptz as started_at, $now::timestamptz as as_of`;
const ROW = `'acme' as target, 'ws-' || n as external_id, 'workspace-' || n as workspace_name, 'project-' || n % 100 as project_name,
  n % 10 = 0 as drifted, n + $night::bigint as current_rum_count, 'aws:5.0, random:3.1' as providers, 'run-' || n * 1000 + $night::bigint as current_run_external_id,
  $now::timestamptz as valid_from`;
const FIRST = `insert into workspaces_history by name select ${ROW} from range($workspaces::bigint) as t(n)`;
const END = `update workspaces_history set valid_to = $now::timestamptz
  where valid_to is null and substr(external_id, 4)::bigint % $changed::bigint = $part::bigint`;
const CHANGE = `insert into workspaces_history by name
  select ${ROW} from range($workspaces::bigint) as t(n) where n % $changed::bigint = $part::bigint`;
const FINDINGS = `insert into findings by name
  select 'f' || n as finding_id, 'acme' as target, 'drifted-workspace' as rule, 'warning' as severity, 'workspace' as subject_type, 'ws-' || n as subject_id,
    'drifts' as title, 'new' as state, $now::timestamptz as first_seen, $now::timestamptz as last_seen, 0 as times_reopened
  from range($workspaces::bigint) as t(n) where n % 10 = 0`;
const SEEN = `update findings set last_seen = $now::timestamptz, state = 'open'`;

async function countDifferences(one: string, other: string): Promise<number> {
  const database = await openDatabase(':memory:');
  try {
    await database.run(`attach '${one}' as one (read_only)`);
    await database.run(`attach '${other}' as other (read_only)`);
    const tables = await database.rows(
      "select table_name as name from duckdb_tables() where database_name = 'one' and schema_name = 'main'",
    );
    let differing = 0;
    for (const { name } of tables) differing += await compareTable(database, quoteIdent(String(name)));
    return differing;
  } finally {
    database.close();
  }
}

async function compareTable(database: Database, table: string): Promise<number> {
  const [row] = await database.rows(`select
    (select count(*) from (from one.main.${table} except all from other.main.${table}))
    + (select count(*) from (from other.main.${table} except all from one.main.${table})) as rows`);
  return Number(row?.rows);
}
