import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import pLimit from 'p-limit';
import { PACKAGE_ROOT } from '../src/core/paths.ts';
import { createDirectoryStore } from '../src/lake/store.ts';
import type { Manifest } from '../src/landing/store.ts';
import type { Database } from '../src/warehouse/database.ts';
import { createSqlFiles, quoteIdent } from '../src/warehouse/sql-files.ts';
import { loadTables } from '../src/warehouse/tables.ts';
import type { Row } from '../src/warehouse/values.ts';
import { openLakeViews } from '../test/helpers/lake-views.ts';
import { manyTargets, prepare, serving, showDay, writeTargets } from './estate.ts';
import { TIDEMARK, timed, type Usage } from './processes.ts';
import { type Bench, mebibytes, type Part, type Result, type Size, seconds, showUsage } from './result.ts';

const TARGETS: Readonly<Record<Size, number>> = { quick: 20, usual: 500, large: 500 };
const WORKSPACES: Readonly<Record<Size, number>> = { quick: 50, usual: 100, large: 2000 };
const SHARDS: Readonly<Record<Size, number>> = { quick: 4, usual: 16, large: 16 };
/** Two nights, and how many shards run at the same time in each: as many as the machine has cores, then all. */
const NIGHTS = [
  { day: 'day1', atOnce: 2, how: 'two at a time' },
  { day: 'day2', atOnce: Number.POSITIVE_INFINITY, how: 'all at once' },
] as const;
type Night = (typeof NIGHTS)[number];

const nightTime = (day: string) => `2026-11-0${day.slice(-1)}T02:15:00Z`;
const JOB = "schedule: '15 2 * * *'\npull: all\nreports: []\n";

export const shards: Part = {
  name: 'shards',
  about:
    'two nights of 500 small targets: shards as processes and `lake close`, beside one process; the lakes are compared row by row',
  async measure(bench) {
    const estate = await prepare(bench, { workspaces: WORKSPACES[bench.size], as: 'csv' });
    return serving(bench, async (server) => {
      const [one, many] = await Promise.all([createProject(bench, 'one'), createProject(bench, 'shards')]);
      const results: Result[] = [];
      for (const night of NIGHTS) {
        const url = `${server}/${estate}`;
        await showDay(url, night.day);
        const alone = await runNight(bench, { project: one, url, night, shards: 1 });
        const divided = await runNight(bench, { project: many, url, night, shards: SHARDS[bench.size] });
        results.push(...compareUsage(SHARDS[bench.size], night, divided, alone));
        const { relations, rows } = await compareLakes(one, many);
        bench.log(`the lakes have the same ${rows} rows in ${relations} relations`);
      }
      return [...results, await measureLandings(one)];
    });
  },
};

async function createProject({ folder }: Bench, name: string): Promise<string> {
  const project = join(folder, name);
  await mkdir(join(project, 'jobs'), { recursive: true });
  await writeFile(join(project, 'jobs', 'bench.yaml'), JOB);
  return project;
}

interface NightRun {
  readonly project: string;
  readonly url: string;
  readonly night: Night;
  /** 1 for a single process. */
  readonly shards: number;
}

/** @returns the time from the first start to the end of `lake close`, the CPU time of all processes, the peak memory of the largest */
async function runNight(bench: Bench, { project, url, night, shards: count }: NightRun): Promise<Usage> {
  const { day, atOnce } = night;
  const config = await writeTargets(project, day, manyTargets(url, TARGETS[bench.size]), { lake: './lake' });
  const usages: Usage[] = [];
  const tidemark = async (cwd: string, words: readonly string[]) => {
    const folder = join(project, cwd);
    await mkdir(folder, { recursive: true });
    usages.push(await timed(folder, [TIDEMARK, '--config', config, '--quiet', '--now', nightTime(day), ...words]));
  };
  const startedMs = performance.now();
  if (count === 1) {
    await tidemark('cwd', ['run', 'bench']);
  } else {
    const numbers = Array.from({ length: count }, (_, index) => index + 1);
    await pLimit(atOnce).map(numbers, (shard) =>
      tidemark(`cwd-${shard}`, ['--shard', `${shard}/${count}`, 'run', 'bench']),
    );
    await tidemark('cwd', ['lake', 'close', '--shards', String(count)]);
  }
  const usage = {
    wallMs: performance.now() - startedMs,
    cpuMs: usages.reduce((sum, { cpuMs }) => sum + cpuMs, 0),
    peakMiB: Math.max(...usages.map(({ peakMiB }) => peakMiB)),
  };
  const who = count === 1 ? 'one process' : `${count} shards, ${night.how}`;
  bench.log(`${day}, ${who}: ${showUsage(usage)}`);
  return usage;
}

function compareUsage(count: number, { how }: Night, divided: Usage, alone: Usage): readonly Result[] {
  const compare = (what: string, field: keyof Usage, show: (value: number) => string) => ({
    what: `${count} shards ${how}, ${what}`,
    measured: show(divided[field]),
    against: `${show(alone[field])} for one process`,
    ratio: divided[field] / alone[field],
  });
  return [
    compare('time', 'wallMs', seconds),
    compare('CPU time', 'cpuMs', seconds),
    compare('peak memory of a process', 'peakMiB', mebibytes),
  ];
}

/** What differs by design: a shard has a run of its own, and times, waits and requests are those of its process. */
const OWN_COLUMNS: ReadonlySet<string> = new Set([
  'run_id',
  'job',
  'started_at',
  'finished_at',
  'requests',
  'retries',
  'throttled',
  'throttle_wait_ms',
]);
/** Each shard has its own. */
const OWN_RELATIONS: ReadonlySet<string> = new Set(['runs', 'warehouse_identity']);

/** Compares every relation that the lakes show. @throws Error if one differs */
async function compareLakes(
  one: string,
  other: string,
): Promise<{ readonly relations: number; readonly rows: number }> {
  const digests = [await digestLake(one), await digestLake(other)] as const;
  const names = [...new Set(digests.flatMap((digest) => [...digest.keys()]))];
  const differing = names.flatMap((name) => findDifferences(name, digests[0].get(name), digests[1].get(name)));
  if (differing.length > 0) throw new Error(`the lakes differ in ${differing.join(', ')}`);
  const rows = [...digests[0].values()].reduce((sum, digest) => sum + Number(digest.row_count), 0);
  return { relations: names.length, rows };
}

/** The number of rows, a digest of all of them in any order, and one of each column. */
type RelationDigest = Row;

function findDifferences(name: string, one: RelationDigest = {}, other: RelationDigest = {}): readonly string[] {
  const differing = [...new Set([...Object.keys(one), ...Object.keys(other)])].filter((key) => one[key] !== other[key]);
  return differing.map((key) => `${name}.${key} (${one[key]} and ${other[key]})`);
}

async function digestLake(project: string): Promise<ReadonlyMap<string, RelationDigest>> {
  const store = createDirectoryStore(join(project, 'lake'));
  const files = createSqlFiles([PACKAGE_ROOT]);
  const engine = await openLakeViews(store, '2GB');
  try {
    const tables = await loadTables(files);
    const folders = (await store.folders()).filter((name) => name.endsWith('_changes'));
    const relations = folders
      .map((name) => name.slice(0, -'_changes'.length))
      .filter((name) => !OWN_RELATIONS.has(name));
    const names = relations.flatMap((name) => (tables.has(name) ? [name, `${name}_history`] : [name]));
    const digests = new Map<string, RelationDigest>();
    for (const name of [...names, 'source_state']) digests.set(name, await digestRelation(engine, name));
    return digests;
  } finally {
    engine.close();
  }
}

async function digestRelation(engine: Database, name: string): Promise<RelationDigest> {
  const described = await engine.rows(`describe select * from ${quoteIdent(name)}`);
  const columns = described
    .map(({ column_name }) => String(column_name))
    .filter((column) => !OWN_COLUMNS.has(column))
    .map(quoteIdent);
  const digests = [
    `sum(hash(row(${columns.join(', ')}))::hugeint)::varchar as all_columns`,
    ...columns.map((column) => `sum(hash(${column})::hugeint)::varchar as ${column}`),
  ];
  const [digest] = await engine.rows(`select ${digests.join(', ')}, count(*) as row_count from ${quoteIdent(name)}`);
  return { ...digest };
}

/** Files and bytes that the nights leave, beside their content. */
async function measureLandings(project: string): Promise<Result> {
  const root = join(project, 'data', 'landing');
  const entries = await readdir(root, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name));
  const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);
  const stored = sum(await Promise.all(files.map(async (file) => (await stat(file)).size)));
  const texts = await Promise.all(
    files
      .filter((file) => /\/data\/landing\/[^/]+\/[^/]+\/[^/]+\.json$/u.test(file))
      .map((file) => readFile(file, 'utf8')),
  );
  const content = sum(texts.flatMap((text) => (JSON.parse(text) as Manifest).files.map(({ bytes }) => bytes)));
  const megabytes = (bytes: number) => `${(bytes / 1_000_000).toFixed(1)} MB`;
  return {
    what: 'the landings of two nights',
    measured: `${megabytes(stored)} in ${files.length} files`,
    against: `${megabytes(content)} of content`,
    ratio: stored / content,
  };
}
